import type { AnswerOf, Caller } from './calls.ts'
import { followEvents } from './events.ts'
import { checkId, toApiError } from './problems.ts'
import { Pace } from './retries.ts'

export type Operation = AnswerOf<'getOperation'>
export type BoxRecord = AnswerOf<'getBox'>

/** Waits until an operation, given by its id or `Operation-Location`, has ended. @throws ApiError with its problem if it failed */
export async function waitForOperation(caller: Caller, operation: string, signal?: AbortSignal): Promise<Operation> {
  const path = { operation: checkId(operation.slice(operation.lastIndexOf('/') + 1)) }
  const pace = new Pace()
  for (;;) {
    await pace.wait(signal)
    const found = await caller.call('getOperation', { path, query: { wait_seconds: 25 }, signal })
    if (found.status === 'failed') throw toApiError(409, found.error)
    if (found.status === 'done') return found
  }
}

export interface BoxWait {
  project: string
  name: string
  status: BoxRecord['status']
  signal?: AbortSignal | undefined
}

/** Waits until a box has a status. @throws ApiError `box_not_found` once it is gone */
export async function waitForBox(caller: Caller, { project, name, status, signal }: BoxWait): Promise<BoxRecord> {
  const read = (): Promise<BoxRecord> => caller.call('getBox', { path: { project, name }, signal })
  const { next_cursor: since } = await caller.call('listEvents', { path: { project }, query: { since: 'now' }, signal })
  let box = await read()
  if (box.status === status) return box
  for await (const event of followEvents(caller, project, { since, types: ['box.*'], signal })) {
    if (typeof event?.resource !== 'string' || !event.resource.endsWith(`/boxes/${name}`)) continue
    box = await read()
    if (box.status === status) break
  }
  return box
}
