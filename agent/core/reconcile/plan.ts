import type { BoxObserved, BoxRecord } from '../../ports/store/boxes.ts'

/** The observed state of a box on this host: whether its init runs, and in which boot. */
export interface BoxWorld {
  isRunning: boolean
  /** Whether this process has seen its start succeed. */
  wasStarted: boolean
  bootId: string
  /** How its init ended. Null if that was not seen. */
  exit: { outOfMemory: boolean; isLost: boolean; why?: string | undefined } | null
}

/**
 * The next step of a box. `reap` removes the remains of an ended box, `settle` only writes the outcome. `halt` ends its processes for a
 * restore. `restore` replaces its root and volumes by the copies made for that, and starts it if its desired power is `running`.
 */
export type BoxStep =
  | { kind: 'start' }
  | { kind: 'stop'; graceMs: number }
  | { kind: 'reap'; outcome: Outcome }
  | { kind: 'settle'; outcome: Outcome }
  | { kind: 'halt'; graceMs: number }
  | { kind: 'restore' }
  | { kind: 'none' }

/** The final state of a step: the observed state of a box, and its desired power after it. */
export interface Outcome {
  status: BoxObserved['status']
  reason: BoxObserved['reason']
  message: string | null
  power: 'running' | 'stopped'
}

/** Decides the next step of a box from its desired, its recorded and its observed state. Pure. */
export function planBox(record: BoxRecord, world: BoxWorld): BoxStep {
  if (record.restore !== null)
    return world.isRunning ? { kind: 'halt', graceMs: record.gracePeriodSeconds * 1000 } : { kind: 'restore' }
  return record.desired.power === 'running' ? planRunning(record, world) : planStopped(record, world)
}

function planRunning({ desired, observed }: BoxRecord, world: BoxWorld): BoxStep {
  const isSettled = observed.generation === desired.generation
  if (world.isRunning) {
    if (isSettled && observed.status === 'running') return { kind: 'none' }
    // The start of a new box may have been cut off before the box had keys of its own.
    if (observed.hasRun === false && !world.wasStarted) return { kind: 'start' }
    return { kind: 'settle', outcome: READY }
  }
  // A box whose init is gone has exited, unless the host rebooted or its init was lost. Then it is restarted.
  const hasEnded =
    isSettled && observed.status === 'running' && observed.bootId === world.bootId && world.exit?.isLost !== true
  if (hasEnded) return { kind: 'reap', outcome: endOutcome(world.exit) }
  return { kind: 'start' }
}

function planStopped(record: BoxRecord, world: BoxWorld): BoxStep {
  const { desired, observed } = record
  if (world.isRunning) return { kind: 'stop', graceMs: record.gracePeriodSeconds * 1000 }
  if (observed.generation === desired.generation && observed.status === 'stopped') return { kind: 'none' }
  return { kind: 'reap', outcome: stoppedOutcome(record) }
}

function endOutcome(exit: BoxWorld['exit']): Outcome {
  if (exit?.outOfMemory) return OUT_OF_MEMORY
  return exit?.why === undefined ? EXITED : { ...EXITED, message: exit.why }
}

/** The box runs. */
export const READY: Outcome = { status: 'running', reason: 'ready', message: null, power: 'running' }

/** The box was stopped by request. */
export const STOPPED: Outcome = { status: 'stopped', reason: 'stopped_by_request', message: null, power: 'stopped' }

/** Returns STOPPED, or that it was idle, with the message that the request to stop `record` left in it. */
export function stoppedOutcome({ desired, observed }: BoxRecord): Outcome {
  const isStopping = observed.status === 'pending' && observed.reason === 'stopping'
  const outcome: Outcome = desired.cause === 'idle' ? { ...STOPPED, reason: 'idle' } : STOPPED
  return isStopping ? { ...outcome, message: observed.message } : outcome
}

const EXITED: Outcome = {
  status: 'stopped',
  reason: 'exited',
  message: 'The first process of the box exited.',
  power: 'stopped',
}
const OUT_OF_MEMORY: Outcome = {
  status: 'stopped',
  reason: 'out_of_memory',
  message: 'The first process of the box was killed, because the box ran out of memory.',
  power: 'stopped',
}
