import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { RunningExec } from '../../../agent/ports/boxes/runtime.ts'
import { newId } from '../../../shared/ids.ts'
import { boxCgroupFile, execute, leftoversOf, type OciLab, openOciLab, untilTrue } from '../../helpers/boxes/oci-lab.ts'
import { buildSyscallProgram } from '../../helpers/boxes/syscall-program.ts'

const BOX = 'box_frozen'

describe('a box that stands still', () => {
  let lab: OciLab

  beforeAll(async () => {
    lab = await openOciLab()
    await lab.runtime.start(lab.spec(BOX))
  })

  afterAll(async () => {
    await lab.close()
    await untilTrue(() => leftoversOf(lab).length === 0)
  })

  const path = (name: string, boxId = BOX): string => `${lab.home}/roots/${boxId}/tmp/${name}`
  const counted = (name: string, boxId = BOX): number =>
    existsSync(path(name, boxId)) ? readFileSync(path(name, boxId)).length : 0
  const goesOn = (name: string, boxId = BOX): Promise<void> => {
    const before = counted(name, boxId)
    return untilTrue(() => counted(name, boxId) > before)
  }
  const counting = (name: string): string[] => ['/bin/sh', '-c', `while :; do printf x >>/tmp/${name}; done`]
  const request = { cwd: '/', environment: {}, user: null }
  const count = async (name: string, boxId = BOX): Promise<RunningExec> => {
    const running = await lab.runtime.exec(boxId, { command: counting(name), ...request })
    await goesOn(name, boxId)
    return running
  }
  const end = async (running: RunningExec): Promise<void> => {
    for (const stream of [running.stdin, running.stdout, running.stderr]) stream.destroy()
    await running.signal('SIGKILL')
    await running.exited
  }

  test('has none of its processes run: commands, those that are held, consoles and what they left behind', async () => {
    const names = ['command', 'held', 'console', 'orphan']
    const command = await count('command')
    const execId = newId('exe', Date.now())
    const held = { command: counting('held'), ...request, stdin: Buffer.alloc(0), timeoutMs: null }
    const { detached: kept } = await lab.runtime.execDetached(BOX, execId, held)
    const session = await lab.runtime.openSession(BOX, {
      ...{ sessionId: newId('ses', Date.now()), name: 'main', command: counting('console'), ...request },
      terminal: { cols: 80, rows: 24 },
    })
    const left = `setsid sh -c '${counting('orphan')[2]}' >/dev/null 2>&1 </dev/null &`
    await execute(lab.runtime, BOX, left)
    for (const name of names) await goesOn(name)
    const seen = await lab.runtime.frozen(BOX, async () => {
      const first = names.map((name) => counted(name))
      await sleep(150)
      return { first, last: names.map((name) => counted(name)) }
    })
    expect(seen.last).toEqual(seen.first)
    for (const name of names) await goesOn(name)
    await end(command)
    await kept.signal('SIGKILL')
    await kept.ended
    await kept.forget()
    await session.signal('SIGKILL')
    await session.ended
    await execute(lab.runtime, BOX, 'pkill -9 -f orphan; true')
  })

  test('gives back what the work gave, or threw, and goes on', async () => {
    const running = await count('outcome')
    expect(await lab.runtime.frozen(BOX, async () => 7)).toBe(7)
    const failed = lab.runtime.frozen(BOX, async () => {
      throw new Error('the work failed')
    })
    await expect(failed).rejects.toThrow('the work failed')
    await goesOn('outcome')
    await end(running)
  })

  test('goes on after 5 s, whatever the work still does', async () => {
    const running = await count('bound')
    const begun = performance.now()
    const late = lab.runtime.frozen(BOX, () => new Promise(() => undefined))
    await expect(late).rejects.toMatchObject({ code: 'runtime_unavailable' })
    expect(performance.now() - begun).toBeGreaterThan(4_900)
    await goesOn('bound')
    await end(running)
  })

  test('that does not run only has the work done', async () => {
    expect(await lab.runtime.frozen('box_absent', async () => 'done')).toBe('done')
    const spec = lab.spec('box_over')
    await lab.runtime.start(spec)
    await lab.runtime.stop(spec.id, { graceMs: 0 })
    expect(await lab.runtime.frozen(spec.id, async () => 'done')).toBe('done')
  })

  test('has its commands killed, and begun, as soon as it goes on', async () => {
    const running = await count('killed')
    const printed = await lab.runtime.frozen(BOX, async () => {
      await running.signal('SIGKILL')
      const begun = execute(lab.runtime, BOX, 'echo begun >/tmp/begun; cat /tmp/begun')
      await sleep(200)
      expect(existsSync(path('begun'))).toBe(false)
      return { begun }
    })
    expect(await running.exited).toMatchObject({ signal: 'SIGKILL' })
    expect(await printed.begun).toMatchObject({ exitCode: 0, stdout: 'begun\n' })
    for (const stream of [running.stdin, running.stdout, running.stderr]) stream.destroy()
  })

  test('is stopped once the work is done', async () => {
    const spec = lab.spec('box_ending')
    await lab.runtime.start(spec)
    const running = await count('ending', spec.id)
    let stopped: Promise<void> | undefined
    await lab.runtime.frozen(spec.id, async () => {
      stopped = lab.runtime.stop(spec.id, { graceMs: 5_000 })
      await sleep(50)
      expect(await lab.runtime.list()).toContainEqual(expect.objectContaining({ id: spec.id, isRunning: true }))
    })
    await stopped
    await end(running)
    expect((await lab.runtime.list()).map(({ id }) => id)).not.toContain(spec.id)
  })

  test('goes on with the next agent if its own was killed meanwhile', async () => {
    const left = `setsid sh -c '${counting('adopted')[2]}' >/dev/null 2>&1 </dev/null &`
    await execute(lab.runtime, BOX, left)
    await goesOn('adopted')
    const begun = performance.now()
    const cut = lab.runtime.frozen(BOX, () => new Promise(() => undefined)).catch(() => undefined)
    await sleep(100)
    const before = counted('adopted')
    await sleep(100)
    expect(counted('adopted')).toBe(before)
    await lab.reopen()
    await goesOn('adopted')
    // Not by the first one, which lives on here.
    expect(performance.now() - begun).toBeLessThan(4_900)
    await cut
    await execute(lab.runtime, BOX, 'pkill -9 -f adopted; true')
  })

  test('is stopped by who finds it so', async () => {
    const spec = lab.spec('box_left')
    await lab.runtime.start(spec)
    freezeByHand(lab, spec.id)
    await lab.runtime.stop(spec.id, { graceMs: 0 })
    expect((await lab.runtime.list()).map(({ id }) => id)).not.toContain(spec.id)
  })

  test('cannot keep itself from it: by limits it has used up, by children it waits for, or by forks', async () => {
    const spec = lab.spec('box_hostile', { cpus: 0.05 })
    await lab.runtime.start(spec)
    // clone(CLONE_VFORK | CLONE_VM | SIGCHLD), after which parent and child go on alike: the child stops, the parent waits.
    const waiting = buildSyscallProgram([{ name: 'clone', args: [0x4111, 0, 0, 0, 0] }, ...HANG])
    writeFileSync(path('waiting', spec.id), waiting, { mode: 0o755 })
    const loops = [
      'while :; do :; done &',
      'while :; do /bin/true; done &',
      '/tmp/waiting &',
      'sleep 900 & kill -STOP $!;',
    ]
    const running = await lab.runtime.exec(spec.id, {
      command: ['/bin/sh', '-c', `${loops.join(' ')} wait`],
      ...request,
    })
    await count('hostile', spec.id).then(async (counter) => {
      const seen = await lab.runtime.frozen(spec.id, async () => {
        const first = counted('hostile', spec.id)
        await sleep(250)
        return [first, counted('hostile', spec.id)]
      })
      expect(seen[1]).toBe(seen[0])
      await end(counter)
    })
    await lab.runtime.stop(spec.id, { graceMs: 0 })
    await end(running)
  })

  test('cannot reach what stops it', async () => {
    const tries =
      'find / -xdev -name "freezer*" -o -name "cgroup.freeze" 2>/dev/null; ls /sys/fs/cgroup; mount | grep cgroup'
    expect((await execute(lab.runtime, BOX, tries)).stdout.trim()).toBe('')
  })
})

/** As whatever ran the box may leave it. */
function freezeByHand(lab: OciLab, boxId: string): void {
  const first = boxCgroupFile(lab, boxId, 'freezer', 'freezer.state')
  if (existsSync(first)) writeFileSync(first, 'FROZEN')
  else writeFileSync(boxCgroupFile(lab, boxId, 'freezer', 'cgroup.freeze'), '1')
}

const HANG = [{ name: 'ppoll', args: [0, 0, 0, 0, 0] }]
