import { setTimeout as sleep } from 'node:timers/promises'
import { createKeyedLock } from '../../../shared/locks.ts'
import type { Logger } from '../../../shared/log.ts'
import { repeat } from '../../../shared/repeat.ts'
import type { DiskBounds } from '../../ports/boxes/limits.ts'
import type { RuntimeProblem } from '../../ports/boxes/problems.ts'
import type { BoxDisk, DiskCounters } from '../host/cgroup/disk-io.ts'
import { type BoxFreezer, setFrozen } from '../host/freeze.ts'
import { budgetAfter, budgetOf, type DiskBudget, leftOf } from './disk-budget.ts'

/**
 * Limits the disk reads and writes of boxes by pausing them. A box that has exceeded its limits pauses as a whole until they allow for its
 * use. The freezer stops a process where it returns to the box's program, never in the middle of a sync, for which the commits of all
 * others would wait. The kernel's own limits would stop it there.
 */
export interface DiskLimits {
  /** Limits a box, whose cgroups exist, until `forget`. `rootPath` is on its disk. Without limits the box resumes at once. */
  bound(boxId: string, bounds: DiskBounds, rootPath: string): void
  /** Resumes a box that ends, and resolves once it is not paused. */
  forget(boxId: string): Promise<void>
  /** Runs `work` while the box is not paused. Waits at most 200 ms for that. */
  unpaused<T>(boxId: string, work: () => Promise<T>): Promise<T>
  /** As `Runtime.pausedSeconds`. */
  pausedSeconds(): number
  /** Lists the problem of boxes whose limits are not in force. */
  problems(): RuntimeProblem[]
  /** Resumes all boxes. */
  close(): Promise<void>
}

type DiskCgroups = BoxDisk & Pick<BoxFreezer, 'freezer'>

interface BoundBox {
  bounds: DiskBounds
  budget: DiskBudget
  counters: DiskCounters
  /** In milliseconds of the monotonic clock. */
  measuredAt: number
  /** Set during a pause. Aborting it ends the pause. */
  pause: AbortController | null
}

/** Reads the counters of limited boxes while there are any. */
export function createDiskLimits(cgroups: () => DiskCgroups, logger: Logger): DiskLimits {
  const boxes = new Map<string, BoundBox>()
  /** Errors of boxes without their limits, by box. */
  const failed = new Map<string, unknown>()
  const turns = createKeyedLock()
  let stopLooking: (() => void) | null = null
  let pausedMs = 0
  const look = (): void => {
    for (const [boxId, box] of boxes) {
      if (box.pause !== null || !isDue(box)) continue
      measure(cgroups(), boxId, box)
      if (leftOf(box.budget) >= 0) continue
      const paused = pause(cgroups(), {
        boxId,
        box,
        inTurn: (act) => turns.run(boxId, act),
        add: (ms) => (pausedMs += ms),
      })
      paused.catch((error: unknown) => logger.error('failed to pause a box', { box: boxId, error }))
    }
  }
  const onError = (error: unknown): void => logger.error('failed to read the disk use of boxes', { error })
  const drop = (boxId: string): void => {
    boxes.get(boxId)?.pause?.abort()
    for (const map of [boxes, failed]) map.delete(boxId)
    if (boxes.size > 0) return
    stopLooking?.()
    stopLooking = null
  }
  const add = (boxId: string, bounds: DiskBounds, rootPath: string): void => {
    cgroups().countDisk(boxId, rootPath)
    const now = { counters: cgroups().diskCounters(boxId), measuredAt: performance.now() }
    boxes.set(boxId, { ...now, bounds, budget: budgetOf(1), pause: null })
    failed.delete(boxId)
    stopLooking ??= repeat(look, { everyMs: LOOK_MS, onError })
  }
  const unpaused = <T>(boxId: string, work: () => Promise<T>): Promise<T> => turns.run(boxId, work)
  const forget = async (boxId: string): Promise<void> => {
    drop(boxId)
    await unpaused(boxId, async () => undefined)
  }
  return {
    bound: (boxId, bounds, rootPath) => {
      const known = boxes.get(boxId)
      if (bounds.diskMbps === null && bounds.diskIops === null) drop(boxId)
      else if (known !== undefined) {
        measure(cgroups(), boxId, known)
        known.bounds = bounds
      } else
        try {
          add(boxId, bounds, rootPath)
        } catch (error) {
          if (!failed.has(boxId)) logger.error('failed to limit the disk use of a box', { box: boxId, error })
          failed.set(boxId, error)
        }
    },
    forget,
    unpaused,
    pausedSeconds: () => pausedMs / 1000,
    problems: () => problemsOf(failed),
    close: async () => {
      for (const boxId of [...boxes.keys()]) await forget(boxId)
    },
  }
}

interface Pausing {
  boxId: string
  box: BoundBox
  /** Runs `act` while no other task freezes the box. */
  inTurn(act: () => Promise<void>): Promise<void>
  /** Adds to the total time of pauses. */
  add(ms: number): void
}

/**
 * Pauses a box until its budget covers its use. Once a second it lets the box run for a moment, if the budget has covered the use since the
 * last moment. So commands start and end, and programs answer.
 */
async function pause(cgroups: DiskCgroups, { boxId, box, inTurn, add }: Pausing): Promise<void> {
  const { signal } = (box.pause = new AbortController())
  const isOver = (): boolean => signal.aborted || leftOf(box.budget) >= 0
  const wait = (ms: number): Promise<void> => sleep(ms, undefined, { signal }).catch(() => undefined)
  const standStill = async (): Promise<void> => {
    if (isOver()) return
    const [target, begun] = [cgroups.freezer(boxId), performance.now()]
    try {
      setFrozen(target, true)
      await wait(Math.min(PAUSE_MS, -leftOf(box.budget) * 1000))
    } finally {
      setFrozen(target, false)
      add(performance.now() - begun)
    }
  }
  let [momentAt, sinceMoment] = [performance.now(), budgetOf(0)]
  try {
    for (let isFirst = true; !isOver(); ) {
      await inTurn(standStill)
      sinceMoment = budgetAfter(sinceMoment, measure(cgroups, boxId, box))
      const isPaid = isFirst || leftOf(sinceMoment) >= 0
      if (isOver() || !isPaid || performance.now() < momentAt + MOMENTS_APART_MS) continue
      ;[momentAt, sinceMoment, isFirst] = [performance.now(), budgetOf(0), false]
      await wait(MOMENT_MS)
      sinceMoment = budgetAfter(sinceMoment, measure(cgroups, boxId, box))
    }
  } finally {
    box.pause = null
  }
}

/** Charges a box with its reads and writes since the last call, and returns them. */
function measure(cgroups: BoxDisk, boxId: string, box: BoundBox): Parameters<typeof budgetAfter>[1] {
  const [now, counters] = [performance.now(), cgroups.diskCounters(boxId)]
  const used = {
    bytes: Math.max(0, counters.bytes - box.counters.bytes),
    operations: Math.max(0, counters.operations - box.counters.operations),
  }
  const taken = { used, seconds: (now - box.measuredAt) / 1000, bounds: box.bounds }
  box.budget = budgetAfter(box.budget, taken)
  box.counters = counters
  box.measuredAt = now
  return taken
}

// Reads a box that has been idle for a while less often, which saves most of the work.
function isDue({ budget, measuredAt }: BoundBox): boolean {
  return leftOf(budget) < 1 || performance.now() > measuredAt + IDLE_LOOK_MS
}

function problemsOf(failed: ReadonlyMap<string, unknown>): RuntimeProblem[] {
  const [first] = failed
  if (first === undefined) return []
  const [boxId, error] = first
  const evidence = `${failed.size} boxes run without their limits disk_mbps and disk_iops, such as ${boxId}: ${String(error)}`
  return [{ code: 'disk_not_bounded', evidence, remedy: REMEDY }]
}

const LOOK_MS = 100
const IDLE_LOOK_MS = 250
const PAUSE_MS = 200
const MOMENT_MS = 50
const MOMENTS_APART_MS = 1_000
const REMEDY =
  'Boot with cgroup version 2 and its io controller (version 1: blkio), then restart the boxes. Or remove the two limits.'
