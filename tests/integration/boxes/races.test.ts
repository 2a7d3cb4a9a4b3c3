import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createExitWatcher } from '../../../agent/drivers/host/exit-watcher.ts'
import { startProgram } from '../../../agent/lib/syscalls/spawn.ts'
import type { RunningExec } from '../../../agent/ports/boxes/runtime.ts'
import {
  boxCgroupFile,
  execCgroups,
  execute,
  type OciLab,
  openOciLab,
  untilGone,
  untilTrue,
} from '../../helpers/boxes/oci-lab.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'

describe('a runtime under races and load', () => {
  let lab: OciLab

  beforeAll(async () => {
    lab = await openOciLab()
  })

  afterAll(async () => {
    await lab.close()
    await untilGone(lab)
  })

  const begin = (boxId: string, command: string[]): Promise<RunningExec> =>
    lab.runtime.exec(boxId, { command, cwd: '/', environment: {}, user: null })

  test('a stop while commands start leaves no process behind', async () => {
    const spec = lab.spec('box_race')
    // Children that agents of earlier tests left in this process.
    const inherited = new Set(boxChildren())
    for (let round = 0; round < 24; round++) {
      await lab.runtime.start(spec)
      const execs = Promise.allSettled([begin(spec.id, ['true']), begin(spec.id, ['sleep', '60'])])
      await sleep(1 + (round % 6))
      await lab.runtime.stop(spec.id, { graceMs: 0 })
      for (const { status, ...each } of await execs) {
        if (status === 'rejected' || !('value' in each)) continue
        await each.value.exited
        for (const stream of [each.value.stdin, each.value.stdout, each.value.stderr]) stream.destroy()
      }
    }
    await untilTrue(() => boxChildren().every((pid) => inherited.has(pid)))
  })

  test('a background process that forks without end is moved among the processes of the box', async () => {
    // Enough for the zombies of a slow machine. A failed fork would be the last one.
    const spec = lab.spec('box_forks', { pidsMax: 1024 })
    await lab.runtime.start(spec)
    writeFileSync(`${spec.rootPath}/tmp/spin`, '#!/bin/sh\n/tmp/spin &\n', { mode: 0o755 })
    await execute(lab.runtime, spec.id, 'for i in 1 2 3 4 5 6; do /tmp/spin >/dev/null 2>&1 </dev/null & done')
    await untilTrue(() => execCgroups(lab, spec.id).length === 0)
    await untilTrue(() => boxProcesses(lab, spec.id) > 1)
    await lab.runtime.stop(spec.id, { graceMs: 50 })
  })

  test('all boxes together leave some processes to the host', () => {
    const most = Number(readFileSync(boxCgroupFile(lab, '..', 'pids', 'pids.max'), 'utf8'))
    const [pids, threads] = ['pid_max', 'threads-max'].map((name) => Number(readFileSync(`/proc/sys/kernel/${name}`)))
    expect(most).toBe(Math.min(pids ?? 0, threads ?? 0) - 2048)
  })

  test('of commands that hang in one box some begin at once, and those of another project do not wait for them', async () => {
    const [loud, quiet] = [lab.spec('box_frozen', { project: 'loud' }), lab.spec('box_free', { project: 'quiet' })]
    for (const spec of [loud, quiet]) await lab.runtime.start(spec)
    const freeze = (isFrozen: boolean): void => {
      const state = boxCgroupFile(lab, loud.id, 'freezer', 'freezer.state')
      if (existsSync(state)) writeFileSync(state, isFrozen ? 'FROZEN' : 'THAWED')
      else writeFileSync(boxCgroupFile(lab, loud.id, '', 'cgroup.freeze'), isFrozen ? '1' : '0')
    }
    freeze(true)
    let ended = 0
    const hanging = Array.from({ length: 12 }, () => execute(lab.runtime, loud.id, ['true']).finally(() => ended++))
    // No timer can end a turn between these calls.
    for (let i = 0; i < 50; i++) await Promise.resolve()
    expect(execCgroups(lab, loud.id).length).toBeLessThanOrEqual(4)
    for (let i = 0; i < 5; i++) expect((await execute(lab.runtime, quiet.id, ['echo', 'hi'])).stdout).toBe('hi\n')
    expect(ended).toBe(0)
    freeze(false)
    await Promise.all(hanging)
    for (const spec of [loud, quiet]) await lab.runtime.stop(spec.id, { graceMs: 0 })
  })

  test('commands with large environments in a box short of processor time delay nothing else', async () => {
    const spec = lab.spec('box_slow', { cpus: 0.05 })
    await lab.runtime.start(spec)
    const hog = await begin(spec.id, ['sh', '-c', 'while :; do :; done'])
    const environment = Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`BIG_${i}`, 'x'.repeat(8_000)]))
    const startedAt = performance.now()
    const all = Promise.all([1, 2, 3, 4].map(() => execute(lab.runtime, spec.id, ['true'], { environment })))
    const waits: number[] = []
    for (let i = 0; i < 30; i++) {
      await sleep(10)
      const begun = performance.now()
      await stat('/')
      waits.push(performance.now() - begun)
    }
    await hog.signal('SIGKILL')
    for (const stream of [hog.stdin, hog.stdout, hog.stderr]) stream.destroy()
    expect((await all).map(({ exitCode }) => exitCode)).toEqual([0, 0, 0, 0])
    // Much less than the duration of the commands, whose starts wait for the box's CPU time.
    expect(Math.max(...waits)).toBeLessThan(Math.max(150, (performance.now() - startedAt) / 4))
    await lab.runtime.stop(spec.id, { graceMs: 0 })
  })
})

test.each([
  ['that is given a closed descriptor', { path: '/bin/true', stdio: [0, 1, -1] }, 'EBADF'],
  ['that is missing', { path: '/no-such-program', stdio: [0, 1, 2] }, 'ENOENT'],
])('a program %s is not started, and no descriptor stays open', async (_, program, code) => {
  const before = readdirSync('/proc/self/fd').length
  const refused = expect.objectContaining({ code })
  await expect(startProgram({ ...program, args: ['x'], env: {} })).rejects.toEqual(refused)
  expect(readdirSync('/proc/self/fd')).toHaveLength(before)
})

test('a listener that throws is logged and does not keep others from being called', async () => {
  const lines: string[] = []
  const watcher = createExitWatcher({ ...silentLogger, error: (line) => lines.push(line) })
  try {
    const pid = await startProgram({ path: '/bin/sleep', args: ['sleep', '0.05'], env: {}, stdio: [0, 1, 2] })
    let isHeard = false
    const fail = (): never => {
      throw new Error('no')
    }
    watcher.watch(pid, fail)
    watcher.watch(pid, () => {
      isHeard = true
    })
    await untilTrue(() => isHeard)
    expect(lines).toEqual(['failed to handle the exit of a process'])
  } finally {
    watcher.close()
  }
})

function boxProcesses(lab: OciLab, boxId: string): number {
  return readFileSync(boxCgroupFile(lab, boxId, 'pids', 'cgroup.procs'), 'utf8')
    .trim()
    .split('\n').length
}

/** Lists children of this process that run as a box's user, zombies included. */
function boxChildren(): string[] {
  const pids = readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').trim().split(' ')
  return pids.filter((pid) => {
    try {
      return Number(/^Uid:\t(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) > 65_535
    } catch {
      return false
    }
  })
}
