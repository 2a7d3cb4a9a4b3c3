import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import type { DetachedExec, DetachedExecRequest } from '../../../agent/ports/boxes/runtime.ts'
import { newId } from '../../../shared/ids.ts'
import { execute, type OciLab, shimOf, untilTrue } from '../../helpers/boxes/oci-lab.ts'
import { openShimLab, type ShimLab } from '../../helpers/exec/shim-lab.ts'
import { listen } from '../../helpers/network/listener.ts'

const BOX = 'box_attach'

describe('a client that attaches to a detached command', () => {
  let at: ShimLab
  let lab: OciLab

  beforeAll(async () => {
    at = await openShimLab(BOX)
    lab = at.lab
  })

  afterEach(() => at.endAll())

  afterAll(() => at.close())

  const hold = async (shell: string, changes: Partial<DetachedExecRequest> = {}): Promise<DetachedExec> => {
    const request = { command: ['/bin/sh', '-c', shell], cwd: '/', environment: {}, user: null }
    const given = { ...request, stdin: Buffer.alloc(0), timeoutMs: null, ...changes }
    return (await lab.runtime.execDetached(BOX, newId('exe', Date.now()), given)).detached
  }
  const again = async ({ execId }: DetachedExec): Promise<DetachedExec> => {
    const found = (await lab.runtime.listDetached()).find((each) => each.execId === execId)
    if (found === undefined) throw new Error('it is not held any more')
    return found
  }

  test('gets earlier output of both streams, then new output, and both ends', async () => {
    const held = await hold('echo one; echo bad >&2; until [ -e /tmp/go1 ]; do sleep 0.02; done; echo two; exit 5')
    const viewer = await at.attach(held)
    await viewer.seen.until('one\n')
    await viewer.errors.until('bad\n')
    await execute(lab.runtime, BOX, 'touch /tmp/go1')
    await Promise.all([viewer.seen.end, viewer.errors.end])
    expect([viewer.seen.text(), viewer.errors.text(), viewer.terminal]).toEqual(['one\ntwo\n', 'bad\n', null])
    expect(await held.ended).toMatchObject({ exitCode: 5 })
  })

  test('sends input after the first input, until the input ends', async () => {
    const held = await hold('cat; echo over', { stdin: Buffer.from('first '), keepsInput: true })
    const viewer = await at.attach(held)
    viewer.stdin.write('second ')
    await viewer.seen.until('first second ')
    viewer.stdin.end('third ')
    await viewer.seen.end
    expect(viewer.seen.text()).toBe('first second third over\n')
    expect(await held.ended).toMatchObject({ exitCode: 0 })
  })

  test('neither sends nor ends input of a command that has its whole input already', async () => {
    const held = await hold('cat; until [ -e /tmp/go2 ]; do sleep 0.02; done', { stdin: Buffer.from('all') })
    const viewer = await at.attach(held)
    viewer.stdin.end('more')
    await viewer.seen.until('all')
    await execute(lab.runtime, BOX, 'touch /tmp/go2')
    await viewer.seen.end
    expect(viewer.seen.text()).toBe('all')
  })

  test('sends and ends nothing as a viewer', async () => {
    const held = await hold('cat', { keepsInput: true })
    const [typist, watcher] = [await at.attach(held), await at.attach(held, 'none')]
    watcher.stdin.end('nothing')
    typist.stdin.write('something')
    await watcher.seen.until('something')
    expect(watcher.seen.text()).toBe('something')
    typist.stdin.end()
    await watcher.seen.end
  })

  test('gets all output of a command that ended at once', async () => {
    for (let count = 0; count < 5; count++) {
      const held = await hold('echo out; echo err >&2')
      const viewer = await at.attach(held)
      await Promise.all([viewer.seen.end, viewer.errors.end])
      expect([viewer.seen.text(), viewer.errors.text()]).toEqual(['out\n', 'err\n'])
    }
  })

  test('gets the kept output of a command that ended long ago, also from another agent', async () => {
    const held = await hold('head -c 300000 /dev/zero | tr "\\0" z; echo err >&2')
    await held.ended
    await lab.reopen()
    const viewer = await at.attach(await again(held))
    viewer.stdin.end('nobody reads it')
    await Promise.all([viewer.seen.end, viewer.errors.end])
    expect([viewer.seen.text(), viewer.errors.text()]).toEqual(['z'.repeat(300_000), 'err\n'])
  })

  test('attaches again after a reopen, and gets all kept output once more', async () => {
    const held = await hold('echo begun; cat; echo done', { keepsInput: true })
    const first = await at.attach(held)
    first.stdin.write('typed ')
    await first.seen.until('begun\ntyped ')
    await lab.reopen()
    await first.seen.end.catch(() => undefined)
    const second = await at.attach(await again(held))
    await second.seen.until('begun\ntyped ')
    second.stdin.end('later ')
    await second.seen.end
    expect(second.seen.text()).toBe('begun\ntyped later done\n')
  })

  test('makes the output wait while it does not read; without a client it flows', async () => {
    const held = await hold('cat >/dev/null; seq 1 400000; touch /tmp/written; echo end', { keepsInput: true })
    const slow = await held.attach('all')
    slow.stdin.end()
    await sleep(500)
    expect(at.exists('/tmp/written')).toBe(false)
    const [text, errors] = [listen(slow.stdout), listen(slow.stderr)]
    await Promise.all([text.end, errors.end])
    const lines = text.text().split('\n')
    expect(lines.slice(0, 400_000).every((line, index) => line === String(index + 1))).toBe(true)
    expect(lines.slice(400_000)).toEqual(['end', ''])
    const alone = await hold('seq 1 2000000; touch /tmp/alone')
    expect(await alone.ended).toMatchObject({ exitCode: 0 })
    expect(at.exists('/tmp/alone')).toBe(true)
  })

  test('lets a waiting command go on by leaving', async () => {
    const held = await hold('cat >/dev/null; head -c 20000000 /dev/zero; touch /tmp/left', { keepsInput: true })
    const slow = await held.attach('all')
    slow.stdin.end()
    await sleep(300)
    expect(at.exists('/tmp/left')).toBe(false)
    slow.close()
    expect(await held.ended).toMatchObject({ exitCode: 0 })
    expect(at.exists('/tmp/left')).toBe(true)
  })

  test('gets the output of a command killed while all clients are behind', async () => {
    const many = 'i=0; while [ $((i+=1)) -le 20500 ]; do echo line; done; touch /tmp/many'
    const held = await hold(`cat >/dev/null; ${many}; while :; do echo line; done`, { keepsInput: true })
    const slow = await held.attach('all')
    slow.stdin.end()
    await untilTrue(() => at.exists('/tmp/many'))
    await held.signal('SIGKILL')
    expect(await held.ended).toMatchObject({ signal: 'SIGKILL' })
    const seen = listen(slow.stdout)
    slow.stderr.resume()
    await seen.end
    expect(seen.text()).toMatch(/^(line\n)+(l|li|lin|line)?$/)
    expect(seen.bytes().length).toBeGreaterThan(100_000)
  })

  test('gets one stream of a terminal, its size, and its last 256 KiB', async () => {
    const terminal = { cols: 90, rows: 30 }
    const script = 'stty size; tty; read A; stty size; echo "got $A"; head -c 400000 /dev/zero | tr "\\0" q; read B'
    const held = await hold(script, { terminal, keepsInput: true })
    const viewer = await at.attach(held)
    await viewer.errors.end
    await viewer.seen.until('30 90\r\n/dev/pts/')
    viewer.terminal?.resize({ cols: 100, rows: 40 })
    viewer.stdin.write('words\n')
    await viewer.seen.until('40 100\r\ngot words\r\n')
    await untilTrue(() => viewer.seen.bytes().length > 400_000)
    const late = await at.attach(held)
    await untilTrue(() => late.seen.bytes().length >= 256 * 1024)
    expect(late.seen.text()).toBe('q'.repeat(256 * 1024))
    viewer.stdin.write('\n')
    await Promise.all([viewer.seen.end, late.seen.end])
    expect(await held.ended).toMatchObject({ exitCode: 0 })
  })

  test('has its streams broken when the shim is killed, and gets no exit code', async () => {
    const held = await hold('echo said; sleep 600')
    const viewer = await at.attach(held)
    await viewer.seen.until('said')
    process.kill(shimOf(lab), 'SIGKILL')
    await expect(viewer.seen.end).rejects.toMatchObject({ code: 'runtime_unavailable' })
    expect(await held.ended).toBeNull()
    const late = await at.attach(held)
    await late.seen.end
    expect(late.seen.text()).toBe('said\n')
  })
})
