import type { Mutated, Mutation } from '../../core/boxes/boxes.ts'
import { type BoxShown, viewBox } from '../../core/boxes/view.ts'
import type { Caller } from '../../core/common/caller.ts'
import type { Operations } from '../../core/operations/operations.ts'
import type { BoxRecord } from '../../ports/store/store.ts'
import type { Reply } from '../common/call.ts'

/** Boxes as they are answered. */
export interface BoxReplies {
  view(record: BoxRecord, caller: Caller): ReturnType<typeof viewBox>
  /** A box after a mutation whose effect is there. */
  done(caller: Caller, record: BoxRecord): Reply
  /** A box after a mutation; while the effect is not there yet, with the operation to wait on. */
  reply(caller: Caller, mutated: Mutated, unsettled: Unsettled): Promise<Reply>
}

/** What is answered while the effect is not there yet. */
export interface Unsettled {
  kind: string
  status: number
}

export interface BoxRepliesDeps extends Pick<BoxShown, 'node' | 'address'> {
  operations: Operations
}

/** Boxes as this deployment tells of them. */
export function createBoxReplies({ operations, node, address }: BoxRepliesDeps): BoxReplies {
  const view: BoxReplies['view'] = (record, caller) =>
    viewBox(record, { node, address, withEnvironment: caller.permissions.includes('write') })
  const done: BoxReplies['done'] = (caller, record) => {
    const body = view(record, caller)
    const params = { project: record.project, name: record.name }
    return {
      body,
      version: record.version,
      replayBody: { ...body, environment: {} },
      replayRead: { operation: 'getBox', params, query: {}, field: 'environment' },
    }
  }
  return {
    view,
    done,
    reply: async (caller, { record, isSettled }, unsettled) => {
      if (isSettled) return done(caller, record)
      // What was asked is durable already: an operation that cannot be recorded does not undo it.
      const operation = await operations.begin(unsettled.kind, record).catch(() => null)
      const headers = operation === null ? {} : { 'operation-location': operation }
      return { ...done(caller, record), status: unsettled.status, headers }
    },
  }
}

/** How a mutation is asked for. */
export function mutationOf(
  query: { wait_seconds: number },
  given: { ifMatch: string | null; idempotencyKey: string | null },
): Mutation {
  const { ifMatch, idempotencyKey } = given
  return { waitMs: query.wait_seconds * 1000, ifMatch, idempotencyKey }
}
