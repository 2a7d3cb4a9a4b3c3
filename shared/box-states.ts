import type { BoxReason, BoxStatus } from './schemas/boxes.ts'

/**
 * When a box has each `state.reason`, and the status that goes with it; null: reserved, no box has it. In the status `unknown` a
 * box keeps its last reason, but for `host_lost`.
 */
export const BOX_REASONS = {
  creating: ['pending', 'Its record is durable, and its first start is under way.'],
  starting: ['pending', 'It is being started.'],
  stopping: ['pending', 'Its processes are being ended, or have just been.'],
  restoring: ['pending', 'It is ended, and started again with what a snapshot held.'],
  resizing: [null, 'Kept for later: limits change while a box runs.'],
  deleting: [null, 'Kept for later: a box that is deleted is gone at once.'],
  ready: ['running', 'Its first process runs.'],
  stopped_by_request: ['stopped', 'A request stopped it.'],
  idle: ['stopped', 'It was not used for `url_settings.idle_stop_seconds`.'],
  exited: ['stopped', 'Its first process ended by itself.'],
  out_of_memory: ['stopped', 'Its first process was killed because the box ran out of memory.'],
  failed: ['stopped', 'A start failed; `message` says why, and resume tries again.'],
  host_lost: [
    'unknown',
    'Its cell of a fleet cannot be reached, and this is told in its place: what the box was created with. It may run on.',
  ],
} as const satisfies Record<BoxReason, readonly [status: BoxStatus | null, meaning: string]>

/** A reason that a box can have, or the status `unknown`. */
export type BoxState = BoxReason | 'unknown'

/** A change of state and its cause. */
export interface BoxTransition {
  from: readonly BoxState[]
  to: readonly BoxState[]
  by: string
}

const RESTING = ['stopped_by_request', 'idle', 'exited', 'out_of_memory', 'failed'] as const

/** Every change of the state of a box. In addition it is created as `creating`, and deleted in any state. */
export const BOX_TRANSITIONS: readonly BoxTransition[] = [
  { from: ['creating', 'starting'], to: ['ready'], by: 'Its first process runs.' },
  { from: ['creating', 'starting'], to: ['failed'], by: 'The start failed, or took longer than 60 s.' },
  {
    from: ['creating', 'starting', 'restoring', 'ready', 'unknown'],
    to: ['stopping'],
    by: '`POST B/stop`; `idle_stop_seconds` without use.',
  },
  { from: ['stopping'], to: ['stopped_by_request', 'idle'], by: 'Its processes have ended.' },
  { from: ['stopping'], to: ['ready'], by: 'It was used again just when it was to be stopped for want of use.' },
  { from: ['ready'], to: ['exited'], by: 'Its first process ended by itself.' },
  { from: ['ready'], to: ['out_of_memory'], by: 'Its first process was killed for want of memory.' },
  {
    from: ['ready'],
    to: ['starting'],
    by: 'The host was booted, its pod was taken away, or the service was taken down: the box comes back.',
  },
  { from: ['creating'], to: ['starting'], by: 'The service was taken down meanwhile: the next one starts the box.' },
  {
    from: ['starting'],
    to: ['stopped_by_request', 'idle'],
    by: 'The service was taken down while the box was being stopped.',
  },
  {
    from: ['stopping', 'restoring', ...RESTING, 'unknown'],
    to: ['starting'],
    by: '`POST B/resume`; of one that rests, a request for its URL if `url_settings.wake` is set.',
  },
  {
    from: ['creating', 'starting', 'stopping', 'ready', ...RESTING, 'unknown'],
    to: ['restoring'],
    by: '`POST B/restore`.',
  },
  { from: ['restoring'], to: ['ready', 'stopped_by_request'], by: 'It was restored, and runs if it was to run.' },
  { from: ['restoring'], to: ['starting', 'stopping'], by: 'The restore failed: the box goes on as it was.' },
  {
    from: ['exited', 'out_of_memory', 'failed'],
    to: ['stopped_by_request'],
    by: 'Processes of it were found after a crash, and ended.',
  },
  {
    from: ['creating', 'starting', 'stopping', 'restoring', 'ready', ...RESTING],
    to: ['unknown'],
    by: 'The runtime does not answer for it, or cannot start again what ran; it is tried again, after 1 s to 60 s.',
  },
  { from: ['unknown'], to: ['ready', 'stopped_by_request', 'idle', 'starting'], by: 'The runtime answers again.' },
]
