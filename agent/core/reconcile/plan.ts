import type { BoxObserved, BoxRecord } from '../../ports/store/store.ts'

/** What the world shows of a box: whether its init runs, and in which boot we are. */
export interface BoxWorld {
  isRunning: boolean
  bootId: string
  /** How its init ended, if that was seen; null if it was not. */
  exit: { outOfMemory: boolean; isLost: boolean } | null
}

/**
 * The next thing to do for a box. `settle` writes the outcome; with `power`, it also changes what is wanted. `halt` ends its
 * processes for a restore, and `restore` puts what was made for it in the place of what the box has, and starts it if wanted.
 */
export type BoxStep =
  | { kind: 'start' }
  | { kind: 'stop'; graceMs: number }
  | { kind: 'reap'; outcome: Outcome }
  | { kind: 'settle'; outcome: Outcome }
  | { kind: 'halt'; graceMs: number }
  | { kind: 'restore' }
  | { kind: 'none' }

/** How a box comes to rest: what is observed, and whether that overrules the wish to run. */
export interface Outcome {
  status: BoxObserved['status']
  reason: BoxObserved['reason']
  message: string | null
  power: 'running' | 'stopped'
}

/** Decides the next step of a box from what is wanted, what was recorded and what the world shows. Pure. */
export function planBox(record: BoxRecord, world: BoxWorld): BoxStep {
  if (record.restore !== null)
    return world.isRunning ? { kind: 'halt', graceMs: record.gracePeriodSeconds * 1000 } : { kind: 'restore' }
  return record.desired.power === 'running' ? planRunning(record, world) : planStopped(record, world)
}

function planRunning({ desired, observed }: BoxRecord, world: BoxWorld): BoxStep {
  const isSettled = observed.generation === desired.generation
  if (world.isRunning) {
    if (isSettled && observed.status === 'running') return { kind: 'none' }
    return { kind: 'settle', outcome: READY }
  }
  // It ran as wanted and its init is gone: after a reboot, or if it was taken away, it comes back; else it has ended by itself.
  const hasEnded =
    isSettled && observed.status === 'running' && observed.bootId === world.bootId && world.exit?.isLost !== true
  if (hasEnded) return { kind: 'reap', outcome: world.exit?.outOfMemory ? OUT_OF_MEMORY : EXITED }
  return { kind: 'start' }
}

function planStopped(record: BoxRecord, world: BoxWorld): BoxStep {
  const { desired, observed } = record
  if (world.isRunning) return { kind: 'stop', graceMs: record.gracePeriodSeconds * 1000 }
  if (observed.generation === desired.generation && observed.status === 'stopped') return { kind: 'none' }
  return { kind: 'reap', outcome: stoppedOutcome(record) }
}

/** It runs. */
export const READY: Outcome = { status: 'running', reason: 'ready', message: null, power: 'running' }

/** It was stopped because somebody asked. */
export const STOPPED: Outcome = { status: 'stopped', reason: 'stopped_by_request', message: null, power: 'stopped' }

/** As STOPPED, with what the wish to stop `record` said of its reason. */
export function stoppedOutcome({ observed }: BoxRecord): Outcome {
  const isOnItsWay = observed.status === 'pending' && observed.reason === 'stopping'
  return isOnItsWay ? { ...STOPPED, message: observed.message } : STOPPED
}

const EXITED: Outcome = {
  status: 'stopped',
  reason: 'exited',
  message: 'The first process of the box ended.',
  power: 'stopped',
}
const OUT_OF_MEMORY: Outcome = {
  status: 'stopped',
  reason: 'out_of_memory',
  message: 'The first process of the box was killed because the box ran out of memory.',
  power: 'stopped',
}
