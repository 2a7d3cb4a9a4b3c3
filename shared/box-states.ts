import type { BoxReason, BoxStatus } from './schemas/boxes.ts'

/**
 * When a box has each `state.reason`, and its status. A null status is reserved, and no box has it. In the status `unknown` a box keeps its
 * last reason, except for `host_lost`.
 */
export const BOX_REASONS = {
  creating: ['pending', 'The record is durable, and the first start is in progress.'],
  starting: ['pending', 'The box is starting.'],
  stopping: ['pending', 'The processes of the box are ending, or have just ended.'],
  restoring: ['pending', 'The box stops, then starts again with the content of a snapshot.'],
  resizing: [null, 'Reserved for changes of limits while a box runs.'],
  deleting: [null, 'Reserved. A deleted box is gone at once.'],
  ready: ['running', 'The first process of the box runs.'],
  stopped_by_request: ['stopped', 'A request stopped the box.'],
  idle: ['stopped', 'The box was not used for `url_settings.idle_stop_seconds`.'],
  exited: ['stopped', 'The first process exited.'],
  out_of_memory: ['stopped', 'The kernel killed the first process because the box ran out of memory.'],
  failed: ['stopped', 'A start failed. `message` says why, and resume tries again.'],
  host_lost: [
    'unknown',
    'The cell of the box in a fleet cannot be reached. The response shows what the box was created with, and the box may still run.',
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
  { from: ['creating', 'starting'], to: ['ready'], by: 'The first process runs.' },
  { from: ['creating', 'starting'], to: ['failed'], by: 'The start failed, or took longer than 60 s.' },
  {
    from: ['creating', 'starting', 'restoring', 'ready', 'unknown'],
    to: ['stopping'],
    by: '`POST B/stop`, or no use for `idle_stop_seconds`.',
  },
  { from: ['stopping'], to: ['stopped_by_request', 'idle'], by: 'The processes have ended.' },
  { from: ['stopping'], to: ['ready'], by: 'The box was used again just before an idle stop.' },
  { from: ['ready'], to: ['exited'], by: 'The first process exited.' },
  {
    from: ['ready'],
    to: ['out_of_memory'],
    by: 'The kernel killed the first process because the box ran out of memory.',
  },
  {
    from: ['ready'],
    to: ['starting'],
    by: 'The host rebooted, its pod was removed, or the service was stopped. The box starts again.',
  },
  {
    from: ['creating'],
    to: ['starting'],
    by: 'The service stopped in between. The next service process starts the box.',
  },
  {
    from: ['starting'],
    to: ['stopped_by_request', 'idle'],
    by: 'The service stopped while the box was stopping.',
  },
  {
    from: ['stopping', 'restoring', ...RESTING, 'unknown'],
    to: ['starting'],
    by: '`POST B/resume`. For a box at rest, also a request for its URL if `url_settings.wake` is set.',
  },
  {
    from: ['creating', 'starting', 'stopping', 'ready', ...RESTING, 'unknown'],
    to: ['restoring'],
    by: '`POST B/restore`.',
  },
  {
    from: ['restoring'],
    to: ['ready', 'stopped_by_request'],
    by: 'The restore is done. The box runs if it was meant to run.',
  },
  { from: ['restoring'], to: ['starting', 'stopping'], by: 'The restore failed. The box continues as before.' },
  {
    from: ['exited', 'out_of_memory', 'failed'],
    to: ['stopped_by_request'],
    by: 'Processes of the box were found after a crash, and ended.',
  },
  {
    from: ['creating', 'starting', 'stopping', 'restoring', 'ready', ...RESTING],
    to: ['unknown'],
    by: 'The runtime does not answer for the box, or cannot start it again. The agent retries after 1 s to 60 s.',
  },
  { from: ['unknown'], to: ['ready', 'stopped_by_request', 'idle', 'starting'], by: 'The runtime answers again.' },
]
