import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { ServiceError } from '../../../shared/errors.ts'
import type { BoxCgroups } from '../host/cgroup/cgroup.ts'
import { CRUN_COMMAND } from '../host/crun.ts'
import type { ExitWatcher, UserRange } from '../host/exit-watcher.ts'
import { signalMembers } from '../host/signals.ts'

export interface EndOptions {
  graceMs: number
  signal?: AbortSignal | undefined
}

/**
 * Sends SIGTERM to every process of the box except `init`, including those that start during the call. Returns when only init is left,
 * `graceMs` has passed, or `signal` aborts.
 */
export async function endCommands(
  cgroups: BoxCgroups,
  boxId: string,
  end: EndOptions & { init: number },
): Promise<void> {
  const signalled = new Set<number>()
  const deadline = performance.now() + end.graceMs
  for (let pauseMs = MIN_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)) {
    const begun = performance.now()
    const left = (): number[] => cgroups.processes(boxId).filter((pid) => pid !== end.init)
    if (left().length === 0 || end.signal?.aborted === true) return
    for (const pid of signalMembers(() => left().filter((each) => !signalled.has(each)), 'SIGTERM')) signalled.add(pid)
    const restMs = deadline - performance.now()
    if (restMs <= 0) return
    await sleep(Math.min(pauseAfter(begun, pauseMs), restMs), undefined, {
      ...(end.signal ? { signal: end.signal } : {}),
    }).catch(() => undefined)
  }
}

/** Kills everything in the box and removes its cgroups, which proves that nothing is left. Throws `internal` after 10 s. */
export async function killBox(cgroups: BoxCgroups, boxId: string): Promise<void> {
  const deadline = performance.now() + KILL_DEADLINE_MS
  for (let pauseMs = MIN_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)) {
    const begun = performance.now()
    cgroups.kill(boxId)
    if (cgroups.remove(boxId)) return
    if (performance.now() > deadline)
      throw new ServiceError('internal', 'Processes of the box do not exit, because the kernel blocks them.', {
        cause: new Error(`processes ${cgroups.processes(boxId).join(' ')} in the cgroup of ${boxId} outlive SIGKILL`),
      })
    await sleep(pauseAfter(begun, pauseMs))
  }
}

// A round takes 40 ms for a box with nesting and the maximum number of cgroups, so leave most of the time to others.
function pauseAfter(begun: number, pauseMs: number): number {
  return Math.max(pauseMs, PAUSE_PER_ROUND * (performance.now() - begun))
}

/**
 * Reaps the killed processes of a box, before others get its host ids. Init ends once all others are reaped, including programs whose crun
 * was killed before it reported them. Reaps processes left after 1 s when they end.
 */
export async function collectBox(watcher: ExitWatcher, users: UserRange): Promise<void> {
  const deadline = performance.now() + COLLECT_DEADLINE_MS
  for (let pauseMs = 0; ; pauseMs = Math.min(pauseMs + MIN_PAUSE_MS, MAX_PAUSE_MS)) {
    const left = watcher.collectOwned(users)
    if (left.length === 0) return
    // Some are crun's processes, which keep others from ending.
    watcher.collectStrays(CRUN_COMMAND)
    if (performance.now() > deadline) {
      for (const pid of left) watcher.collect(pid)
      return
    }
    await (pauseMs === 0 ? nextTurn() : sleep(pauseMs))
  }
}

/** Number of ids in a box's user namespace. */
export const IDS_PER_BOX = 65_536

const MIN_PAUSE_MS = 0.5
const MAX_PAUSE_MS = 20
const PAUSE_PER_ROUND = 4
const KILL_DEADLINE_MS = 10_000
const COLLECT_DEADLINE_MS = 1_000
