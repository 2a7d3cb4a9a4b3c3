import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { RunningExec } from '../../../agent/ports/boxes/runtime.ts'
import { newId } from '../../../shared/ids.ts'
import { boxCgroupFile, execute, type OciLab, openOciLab, untilGone, untilTrue } from '../../helpers/boxes/oci-lab.ts'
import { buildSyscallProgram } from '../../helpers/boxes/syscall-program.ts'

const BOX = 'box_frozen'

describe('a frozen box', () => {
  let lab: OciLab

  beforeAll(async () => {
    lab = await openOciLab()
    await lab.runtime.start(lab.spec(BOX))
  })

  afterAll(async () => {
    await lab.close()
    await untilGone(lab)
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

  test('has no running process: commands, detached commands, consoles and their background processes', async () => {
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

  test('returns the result or error of the work, and goes on', async () => {
    const running = await count('outcome')
    expect(await lab.runtime.frozen(BOX, async () => 7)).toBe(7)
    const failed = lab.runtime.frozen(BOX, async () => {
      throw new Error('the work failed')
    })
    await expect(failed).rejects.toThrow('the work failed')
    await goesOn('outcome')
    await end(running)
  })

  test('goes on after 5 s, even while the work goes on', async () => {
    const running = await count('bound')
    const begun = performance.now()
    const late = lab.runtime.frozen(BOX, () => new Promise(() => undefined))
    await expect(late).rejects.toMatchObject({ code: 'runtime_unavailable' })
    expect(performance.now() - begun).toBeGreaterThan(4_900)
    await goesOn('bound')
    await end(running)
  })

  test('that is stopped has the work done without a freeze', async () => {
    expect(await lab.runtime.frozen('box_absent', async () => 'done')).toBe('done')
    const spec = lab.spec('box_over')
    await lab.runtime.start(spec)
    await lab.runtime.stop(spec.id, { graceMs: 0 })
    expect(await lab.runtime.frozen(spec.id, async () => 'done')).toBe('done')
  })

  test('has commands killed and started as soon as it goes on', async () => {
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

  test('is thawed by the next agent if its own was killed meanwhile', async () => {
    const left = `setsid sh -c '${counting('adopted')[2]}' >/dev/null 2>&1 </dev/null &`
    await execute(lab.runtime, BOX, left)
    await goesOn('adopted')
    await freezeByHand(lab, BOX)
    const before = counted('adopted')
    await sleep(100)
    expect(counted('adopted')).toBe(before)
    await lab.reopen()
    await goesOn('adopted')
    await execute(lab.runtime, BOX, 'pkill -9 -f adopted; true')
  })

  test('is stopped by an agent that finds it frozen', async () => {
    const spec = lab.spec('box_left')
    await lab.runtime.start(spec)
    await freezeByHand(lab, spec.id)
    await lab.runtime.stop(spec.id, { graceMs: 0 })
    expect((await lab.runtime.list()).map(({ id }) => id)).not.toContain(spec.id)
  })

  test('cannot prevent a freeze by exhausted limits, by vfork or by forks', async () => {
    const spec = lab.spec('box_hostile', { cpus: 0.05 })
    await lab.runtime.start(spec)
    // After clone(CLONE_VFORK | CLONE_VM | SIGCHLD), both processes run the same code. The child stops, so the parent waits in vfork.
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

  test('cannot reach its freezer', async () => {
    const thaw =
      'for file in $(find / -name "freezer*" -o -name cgroup.freeze 2>/dev/null); do echo 0 >$file && echo $file; done'
    const tries = `${thaw} 2>/dev/null; mount | grep freezer`
    expect((await execute(lab.runtime, BOX, tries)).stdout.trim()).toBe('')
  })
})

/** Freezes the box without the runtime, with either cgroup version. */
async function freezeByHand(lab: OciLab, boxId: string): Promise<void> {
  const file = (name: string): string => boxCgroupFile(lab, boxId, 'freezer', name)
  const isFirst = existsSync(file('freezer.state'))
  if (isFirst) writeFileSync(file('freezer.state'), 'FROZEN')
  else writeFileSync(file('cgroup.freeze'), '1')
  const [state, frozen] = isFirst ? ['freezer.state', 'FROZEN'] : ['cgroup.events', 'frozen 1']
  await untilTrue(() => readFileSync(file(state), 'utf8').includes(frozen))
}

const HANG = [{ name: 'ppoll', args: [0, 0, 0, 0, 0] }]
