import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import type { SessionFacts, SessionRequest, TerminalSession } from '../../../agent/ports/boxes/runtime.ts'
import { newId } from '../../../shared/ids.ts'
import { execCgroups, type OciLab, shimOf, untilTrue } from '../../helpers/boxes/oci-lab.ts'
import { openShimLab, type ShimLab } from '../../helpers/exec/shim-lab.ts'

const BOX = 'box_sessions'

describe('a session', () => {
  let at: ShimLab
  let lab: OciLab

  beforeAll(async () => {
    at = await openShimLab(BOX)
    lab = at.lab
  })

  afterEach(() => at.endAll())

  afterAll(() => at.close())

  const open = (name = 'main', changes: Partial<SessionRequest> = {}, boxId = BOX): Promise<TerminalSession> =>
    lab.runtime.openSession(boxId, {
      ...{ sessionId: newId('ses', Date.now()), name, command: ['/bin/sh'], cwd: '/', user: null },
      ...{ environment: { PS1: '> ', TERM: 'dumb' }, terminal: { cols: 80, rows: 24 } },
      ...changes,
    })
  const run = (shell: string, name?: string): Promise<TerminalSession> =>
    open(name, { command: ['/bin/sh', '-c', shell] })
  const find = (name = 'main'): TerminalSession => {
    const session = lab.runtime.session(BOX, name)
    if (session === null) throw new Error('there is no such session')
    return session
  }
  const facts = async (name = 'main'): Promise<SessionFacts | undefined> =>
    (await lab.runtime.sessions(BOX)).find((each) => each.name === name)

  test('runs a shell in a terminal, and is listed until that ends', async () => {
    const before = Date.now()
    const command = ['/bin/sh', '-i']
    const session = await open('main', { command, user: 'app', cwd: '/tmp', terminal: { cols: 101, rows: 33 } })
    const told = await facts()
    expect(told).toEqual({
      ...{ sessionId: session.sessionId, boxId: BOX, name: 'main', command, user: 'app', viewers: 0 },
      ...{ size: { cols: 101, rows: 33 }, process: expect.any(Number), startedAt: expect.any(Number) },
    })
    expect(told?.startedAt).toBeGreaterThanOrEqual(before)
    const viewer = await at.attach(session)
    viewer.stdin.write('tty; stty size; pwd; id -u; echo $$; exit 3\n')
    await viewer.seen.until(`33 101\r\n/tmp\r\n1000\r\n${told?.process}\r\n`)
    expect(await session.ended).toMatchObject({ exitCode: 3, signal: null })
    await Promise.all([viewer.seen.end, viewer.errors.end])
    expect(viewer.seen.text()).toMatch(/\/dev\/pts\/\d/)
    expect(lab.runtime.session(BOX, 'main')).toBeNull()
    expect(await lab.runtime.sessions(BOX)).toEqual([])
    await session.signal('SIGKILL')
  })

  test('speaks UTF-8, in the program and in the line that is typed', async () => {
    const session = await open('utf', { command: ['/bin/sh'], environment: { PS1: '> ' } })
    const viewer = await at.attach(session)
    viewer.stdin.write('echo "$LANG $COLORTERM"; stty -a | grep -o "[-]*iutf8"; read -r line; echo "<$line>"\n')
    await viewer.seen.until('\r\nC.UTF-8 truecolor\r\niutf8\r\n')
    viewer.stdin.write('aü\x7fb\n')
    await viewer.seen.until('<ab>')
    await session.signal('SIGKILL')
  })

  test('goes on without viewers and without the agent, and replays its screen', async () => {
    const session = await open()
    const first = await at.attach(session)
    first.stdin.write('A=kept; echo one\n')
    await first.seen.until('\r\none\r\n')
    first.close()
    await untilTrue(async () => (await facts())?.viewers === 0)
    const told = await facts()
    const pid = shimOf(lab)
    await lab.runtime.close()
    // A shim without commands would have exited by then.
    await sleep(2500)
    await lab.reopen()
    expect([shimOf(lab), execCgroups(lab, BOX)]).toEqual([pid, [`held-${session.sessionId}`]])
    expect(await facts()).toEqual(told)
    const found = find()
    const second = await at.attach(found)
    await second.seen.until('\r\none\r\n')
    second.stdin.write('echo $A two\n')
    await second.seen.until('kept two')
    second.stdin.write('exit\n')
    await second.seen.end
    expect(await found.ended).toMatchObject({ exitCode: 0 })
  })

  test('has a unique name in its box, also where two begin at once', async () => {
    await lab.runtime.start(lab.spec('box_second'))
    const outcomes = await Promise.allSettled([
      open('same'),
      open('same'),
      open('other'),
      open('same', {}, 'box_second'),
    ])
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled'])
    expect(outcomes[1]).toMatchObject({ reason: { code: 'name_taken' } })
    // A refused caller finds the session with this name.
    expect(find('same').sessionId).toBe(outcomes[0]?.status === 'fulfilled' ? outcomes[0].value.sessionId : '')
    await expect(open('same')).rejects.toMatchObject({ code: 'name_taken' })
    expect((await lab.runtime.sessions(BOX)).map(({ name }) => name).sort()).toEqual(['other', 'same'])
    const session = find('same')
    await session.signal('SIGHUP')
    expect(await session.ended).toMatchObject({ signal: 'SIGHUP', exitCode: null })
    const next = await open('same')
    expect(next.sessionId).not.toBe(session.sessionId)
    await lab.runtime.stop('box_second', { graceMs: 0 })
  })

  test('fails with a reason if it cannot begin, and leaves nothing', async () => {
    await expect(open('main', { user: 'nobody-here' })).rejects.toMatchObject({ code: 'invalid_request' })
    await expect(open('main', {}, 'box_absent')).rejects.toMatchObject({ code: 'box_not_running' })
    const missing = await open('main', { command: ['/bin/no-such-shell'] })
    const viewer = await at.attach(missing)
    await viewer.seen.end
    expect(viewer.seen.text()).toBe('boxyard: /bin/no-such-shell: not found\r\n')
    expect(await missing.ended).toMatchObject({ exitCode: 127 })
    expect([await lab.runtime.sessions(BOX), execCgroups(lab, BOX)]).toEqual([[], []])
  })

  test('a box has 16 at most, and each of them 64 viewers', async () => {
    const sessions = await Promise.all(Array.from({ length: 16 }, (_, index) => run('sleep 600', `s${index}`)))
    await expect(open('more')).rejects.toMatchObject({ code: 'rate_limited', headers: { 'Retry-After': '1' } })
    const [session] = sessions
    if (session === undefined) throw new Error('none')
    const [first] = await Promise.all(Array.from({ length: 64 }, () => at.attach(session, 'none')))
    await expect(session.attach('all')).rejects.toMatchObject({ code: 'rate_limited' })
    expect((await facts('s0'))?.viewers).toBe(64)
    first?.close()
    await untilTrue(async () => (await facts('s0'))?.viewers === 63)
    await at.attach(session)
  })

  test('many see the same screen; each may type by its mode', async () => {
    const session = await run('stty -echo; echo ready; cat')
    const [first, second, watcher] = [
      await at.attach(session),
      await at.attach(session),
      await at.attach(session, 'none'),
    ]
    await watcher.seen.until('ready')
    first.stdin.write('first\n')
    await watcher.seen.until('first')
    second.stdin.write('second\n')
    await watcher.seen.until('second')
    watcher.stdin.write('watcher\n')
    const taker = await at.attach(session, 'one')
    await taker.seen.until('second')
    taker.stdin.write('taker\n')
    await watcher.seen.until('taker')
    first.stdin.write('unheard\n')
    const later = await at.attach(session, 'one')
    later.stdin.write('later\n')
    taker.stdin.write('unheard\n')
    await watcher.seen.until('later')
    later.close()
    await untilTrue(async () => (await facts())?.viewers === 4)
    taker.stdin.write('again\n')
    await watcher.seen.until('again')
    taker.close()
    await untilTrue(async () => (await facts())?.viewers === 3)
    first.stdin.write('all\n')
    await watcher.seen.until('all')
    const text = 'ready\r\nfirst\r\nsecond\r\ntaker\r\nlater\r\nagain\r\nall\r\n'
    for (const each of [first, second, watcher]) {
      await each.seen.until('all')
      expect(each.seen.text()).toBe(text)
    }
  })

  test('has the size set last by a viewer that may type', async () => {
    const session = await run('trap "stty size" WINCH; echo ready; while :; do sleep 0.05; done')
    const [first, watcher] = [await at.attach(session), await at.attach(session, 'none')]
    await first.seen.until('ready')
    first.terminal?.resize({ cols: 111, rows: 11 })
    await first.seen.until('11 111')
    watcher.terminal?.resize({ cols: 122, rows: 12 })
    const taker = await at.attach(session, 'one')
    taker.terminal?.resize({ cols: 133, rows: 13 })
    await first.seen.until('13 133')
    expect((await facts())?.size).toEqual({ cols: 133, rows: 13 })
    taker.close()
    await untilTrue(async () => (await facts())?.size.cols === 111)
    expect(first.seen.text()).not.toContain('12 122')
  })

  test('the end of a viewer’s input is no end of the shell’s', async () => {
    const session = await open()
    const [first, second] = [await at.attach(session), await at.attach(session)]
    first.stdin.end('echo bye\n')
    await second.seen.until('\r\nbye')
    second.stdin.write('echo still here\n')
    await first.seen.until('\r\nstill here')
  })

  test('ends with its shell in spite of background processes, and all get the rest and the end', async () => {
    const session = await run('(trap "" HUP; sleep 0.4; touch /tmp/outlived) & read A; seq 1 20000; exit 4')
    const many = await Promise.all(Array.from({ length: 10 }, () => at.attach(session)))
    many[0]?.stdin.write('\n')
    expect(await session.ended).toMatchObject({ exitCode: 4 })
    for (const each of many) {
      await each.seen.end
      expect(each.seen.text()).toMatch(/\r\n1\r\n2\r\n(\d+\r\n)*20000\r\n$/)
    }
    await untilTrue(() => at.exists('/tmp/outlived'))
  })

  test('ends with its box, and its viewers get the end', async () => {
    await lab.runtime.start(lab.spec('box_stopped'))
    const session = await open('main', {}, 'box_stopped')
    const viewer = await at.attach(session)
    viewer.stdin.write('echo up\n')
    await viewer.seen.until('\r\nup')
    await lab.runtime.stop('box_stopped', { graceMs: 0 })
    await viewer.seen.end
    expect(await session.ended).toMatchObject({ exitCode: null, signal: expect.stringMatching(/SIG(TERM|KILL|HUP)/) })
    expect(await lab.runtime.sessions('box_stopped')).toEqual([])
    expect(lab.runtime.session('box_stopped', 'main')).toBeNull()
  })

  test('is lost with its shim, and no process of it runs on', async () => {
    const session = await run('echo up; sleep 600')
    const viewer = await at.attach(session)
    await viewer.seen.until('up')
    process.kill(shimOf(lab), 'SIGKILL')
    await expect(viewer.seen.end).rejects.toMatchObject({ code: 'runtime_unavailable' })
    expect(await session.ended).toBeNull()
    expect([execCgroups(lab, BOX), lab.runtime.session(BOX, 'main')]).toEqual([[], null])
    await expect(session.attach('all')).rejects.toMatchObject({ code: 'session_not_found' })
    const next = await open()
    const again = await at.attach(next)
    again.stdin.write('echo well\n')
    await again.seen.until('\r\nwell')
  })

  test('is lost with a shim that is killed without an agent', async () => {
    await run('echo up; sleep 600')
    const pid = shimOf(lab)
    await lab.runtime.close()
    process.kill(pid, 'SIGKILL')
    await lab.reopen()
    expect([execCgroups(lab, BOX), await lab.runtime.sessions(BOX)]).toEqual([[], []])
  })
})
