import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { shimPaths } from '../../../agent/drivers/exec/shim-protocol.ts'
import { readRingFile } from '../../../agent/lib/output/ring.ts'
import type { DetachedExec, DetachedExecRequest } from '../../../agent/ports/boxes/runtime.ts'
import { newId } from '../../../shared/ids.ts'
import {
  execCgroups,
  execute,
  type OciLab,
  openOciLab,
  shimOf,
  untilGone,
  untilTrue,
} from '../../helpers/boxes/oci-lab.ts'

const BOX = 'box_held'

describe('a detached command', () => {
  let lab: OciLab

  beforeAll(async () => {
    lab = await openOciLab()
    await lab.runtime.start(lab.spec(BOX))
  })

  afterAll(async () => {
    await lab.close()
    await untilGone(lab)
  })

  const hold = async (
    shell: string,
    changes: Partial<DetachedExecRequest> = {},
    boxId = BOX,
  ): Promise<DetachedExec> => {
    const request = { command: ['/bin/sh', '-c', shell], cwd: '/', environment: {}, user: null }
    const given = { ...request, stdin: Buffer.alloc(0), timeoutMs: null, ...changes }
    return (await lab.runtime.execDetached(boxId, newId('exe', Date.now()), given)).detached
  }
  const read = ({ boxId, execId }: DetachedExec, stream = 'stdout', offset = 0) => {
    const path = `${lab.home}/run/execs/${boxId}/${execId}.${stream}`
    return readRingFile(path, { capacity: 8 * 1024 ** 2, offset, maxBytes: 16 * 1024 ** 2 })
  }
  const printed = (held: DetachedExec, stream = 'stdout'): string => read(held, stream).bytes.toString()
  const said = (held: DetachedExec, text: string): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (printed(held).includes(text)) resolve()
      }
      held.onOutput(look)
      look()
    })
  const again = async ({ execId }: DetachedExec): Promise<DetachedExec> => {
    const found = (await lab.runtime.listDetached()).find((each) => each.execId === execId)
    if (found === undefined) throw new Error('it is not held any more')
    return found
  }
  const shim = (): number => shimOf(lab)

  test('gets its input, environment, directory and user, and its output and end are kept', async () => {
    const held = await hold('cat; pwd; echo "$A $(id -u) $$"; echo bad >&2; exit 7', {
      stdin: Buffer.from('in\n'),
      environment: { A: 'b' },
      cwd: '/tmp',
      user: 'app',
    })
    const before = Date.now()
    expect(await held.ended).toMatchObject({ exitCode: 7, signal: null, outOfMemory: false, timedOut: false })
    expect((await held.ended)?.endedAt).toBeLessThanOrEqual(Date.now())
    expect((await held.ended)?.endedAt).toBeGreaterThan(before - 5000)
    expect(printed(held)).toBe(`in\n/tmp\nb 1000 ${held.process}\n`)
    expect(printed(held, 'stderr')).toBe('bad\n')
    expect(statSync(`${lab.home}/run/execs/${BOX}`).mode & 0o777).toBe(0o700)
    await held.forget()
    expect(readdirSync(`${lab.home}/run/execs/${BOX}`).filter((name) => name.endsWith('.exit'))).toEqual([])
    expect(await lab.runtime.listDetached()).toEqual([])
  })

  test('unread input is bounded, and is freed once its command ended', async () => {
    const stdin = Buffer.alloc(6_000_000, 'x')
    const helds: DetachedExec[] = []
    // A box may use half of the shared 64 MiB.
    for (let count = 0; count < 5; count++) helds.push(await hold('sleep 600', { stdin }))
    await expect(hold('sleep 600', { stdin })).rejects.toMatchObject({
      code: 'rate_limited',
      headers: { 'Retry-After': '1' },
    })
    // Input that the command reads at once needs no space.
    const small = await hold('cat', { stdin: Buffer.from('small') })
    expect(await small.ended).toMatchObject({ exitCode: 0 })
    for (const held of helds) await held.signal('SIGKILL')
    for (const held of helds) expect(await held.ended).toMatchObject({ signal: 'SIGKILL' })
    const whole = await hold('wc -c', { stdin })
    expect(await whole.ended).toMatchObject({ exitCode: 0 })
    expect(printed(whole).trim()).toBe('6000000')
    for (const each of await lab.runtime.listDetached()) await each.forget()
  })

  test('one that cannot be started ends as in a shell, and a missing user or box is an error', async () => {
    const missing = await hold('', { command: ['no-such-program'] })
    expect(await missing.ended).toMatchObject({ exitCode: 127, signal: null })
    expect(printed(missing, 'stderr')).toBe('boxyard: no-such-program: not found\n')
    await missing.forget()
    await expect(hold('true', { user: 'nobody-here' })).rejects.toMatchObject({ code: 'invalid_request' })
    await expect(hold('true', {}, 'box_absent')).rejects.toMatchObject({ code: 'box_not_running' })
    expect(await lab.runtime.listDetached()).toEqual([])
  })

  test('goes on, and is found again, when the agent closes; attached commands end', async () => {
    const held = await hold('echo begun; while [ ! -e /tmp/go ]; do sleep 0.02; done; echo done; exit 3')
    const other = await lab.runtime.exec(BOX, { command: ['sleep', '600'], cwd: '/', environment: {}, user: null })
    await said(held, 'begun')
    const pid = shim()
    await lab.reopen()
    expect(execCgroups(lab, BOX)).toEqual([`held-${held.execId}`])
    const found = await again(held)
    expect([found.process, found.boxId]).toEqual([held.process, BOX])
    await execute(lab.runtime, BOX, 'touch /tmp/go')
    expect(await found.ended).toMatchObject({ exitCode: 3, signal: null })
    expect(printed(found)).toBe('begun\ndone\n')
    expect(shim()).toBe(pid)
    await found.forget()
    await execute(lab.runtime, BOX, 'rm /tmp/go')
    for (const stream of [other.stdin, other.stdout, other.stderr]) stream.destroy()
  })

  test('is bound by the filter of system calls as any other, also in an adopted box', async () => {
    const filtered = (text: string): boolean => /^Seccomp:\t2$/m.test(text)
    const held = await hold('cat /proc/self/status')
    await held.ended
    expect(filtered(printed(held))).toBe(true)
    await held.forget()
    await lab.reopen()
    expect(filtered((await execute(lab.runtime, BOX, 'cat /proc/self/status')).stdout)).toBe(true)
    const later = await hold('cat /proc/self/status')
    await later.ended
    expect(filtered(printed(later))).toBe(true)
    await later.forget()
  })

  test('its end without an agent is reported to the next, once, also when the shim is gone', async () => {
    const held = await hold('sleep 0.2; exit 9')
    const pid = shim()
    await lab.runtime.close()
    await untilTrue(() => existsSync(`${lab.home}/run/execs/${BOX}/${held.execId}.exit`))
    await untilTrue(() => !existsSync(`/proc/${pid}`))
    await lab.reopen()
    const found = await again(held)
    expect(await found.ended).toMatchObject({ exitCode: 9 })
    await found.signal('SIGTERM')
    await found.forget()
    await lab.reopen()
    expect(await lab.runtime.listDetached()).toEqual([])
  })

  test('a time-out kills all its processes, also without an agent', async () => {
    const held = await hold('setsid sleep 611 & sleep 612', { timeoutMs: 300 })
    await lab.runtime.close()
    await untilTrue(() => existsSync(`${lab.home}/run/execs/${BOX}/${held.execId}.exit`))
    await lab.reopen()
    const found = await again(held)
    expect(await found.ended).toMatchObject({ exitCode: null, signal: 'SIGKILL', timedOut: true })
    expect((await execute(lab.runtime, BOX, "ps | grep -c 'sleep 61[12]'")).stdout).toBe('0\n')
    await found.forget()
  })

  test('a signal reaches all its processes, and an out-of-memory kill is recognized', async () => {
    const held = await hold('trap "echo caught; exit 5" TERM; echo up; while :; do sleep 0.02; done')
    await said(held, 'up')
    await held.signal('SIGTERM')
    expect(await held.ended).toMatchObject({ exitCode: 5, signal: null })
    const killed = await hold('sleep 600')
    await killed.signal('SIGKILL')
    expect(await killed.ended).toMatchObject({ signal: 'SIGKILL', outOfMemory: false, timedOut: false })
    await lab.runtime.start(lab.spec('box_small', { ramMb: 32 }))
    const hog = await hold('exec tail -c 100m /dev/zero', {}, 'box_small')
    expect(await hog.ended).toMatchObject({ outOfMemory: true })
    await lab.runtime.stop('box_small', { graceMs: 0 })
    for (const each of [held, killed, hog]) await each.forget()
  })

  test('the end of long output is kept, byte for byte', async () => {
    const held = await hold(
      'i=0; while [ $i -lt 20 ]; do head -c 1000000 /dev/zero | tr "\\0" $((i % 10)); i=$((i+1)); done',
    )
    expect(await held.ended).toMatchObject({ exitCode: 0 })
    const { offset, bytes, totalBytes } = read(held)
    expect([totalBytes, offset, bytes.length]).toEqual([20_000_000, 20_000_000 - 8 * 1024 ** 2, 8 * 1024 ** 2])
    for (let at = offset; at < totalBytes; at += 333_333)
      expect(bytes[at - offset]).toBe(48 + (Math.floor(at / 1_000_000) % 10))
    await held.forget()
  })

  test('its background processes go on and can still write', async () => {
    const held = await hold('(sleep 0.5; echo late; echo late; touch /tmp/wrote) & echo now')
    expect(await held.ended).toMatchObject({ exitCode: 0 })
    expect(printed(held)).toBe('now\n')
    await held.forget()
    await untilTrue(() => existsSync(`${lab.home}/roots/${BOX}/tmp/wrote`))
  })

  test('stop of its box ends it, with or without an agent between', async () => {
    await lab.runtime.start(lab.spec('box_stopped'))
    const held = await hold('sleep 600', {}, 'box_stopped')
    await lab.reopen()
    await lab.runtime.stop('box_stopped', { graceMs: 0 })
    const found = await again(held)
    expect(await found.ended).toMatchObject({ exitCode: null, signal: expect.stringMatching(/SIG(TERM|KILL)/) })
    await found.forget()
  })

  test('when the shim is killed, its commands end without an exit code; another shim takes its place', async () => {
    const [held, other] = [await hold('echo seen; sleep 600'), await hold('exit 4')]
    await said(held, 'seen')
    await other.ended
    const pid = shim()
    process.kill(pid, 'SIGKILL')
    expect(await held.ended).toBeNull()
    expect(await other.ended).toMatchObject({ exitCode: 4 })
    expect(printed(held)).toBe('seen\n')
    expect(execCgroups(lab, BOX)).toEqual([])
    const next = await hold('exit 6')
    expect(await next.ended).toMatchObject({ exitCode: 6 })
    expect(shim()).not.toBe(pid)
    for (const each of [held, other, next]) await each.forget()
  })

  test('a shim killed without an agent leaves nothing running, and keeps recorded ends', async () => {
    const [held, other] = [await hold('sleep 600'), await hold('exit 4')]
    await other.ended
    const pid = shim()
    await lab.runtime.close()
    process.kill(pid, 'SIGKILL')
    await lab.reopen()
    expect((await lab.runtime.listDetached()).map(({ execId }) => execId)).toEqual([other.execId])
    expect(execCgroups(lab, BOX)).toEqual([])
    await untilTrue(async () => (await execute(lab.runtime, BOX, 'ps | grep "sleep 60[0]"')).exitCode === 1)
    await (await again(other)).forget()
    expect(held.execId).not.toBe(other.execId)
  })

  test('the shim sees nothing of the mounts of the agent, and hands no /dev/null to a box', async () => {
    const held = await hold('sleep 600')
    const mounts = readFileSync(`/proc/${shim()}/mountinfo`, 'utf8').split('\n')
    const below = mounts.map((line) => line.split(' ')[4] ?? '').filter((path) => path.startsWith(lab.home))
    const { work, socket } = shimPaths(`${lab.home}/run`)
    expect(below.sort()).toEqual([`${lab.home}/run/${work}`, `${lab.home}/run/${work}/crun-program`])
    const { uid, gid, mode } = statSync('/dev/null')
    expect([uid, gid, mode & 0o777]).toEqual([0, 0, 0o666])
    expect(statSync(socket).mode & 0o777).toBe(0o600)
    await held.signal('SIGKILL')
    await held.ended
    await held.forget()
  })
})
