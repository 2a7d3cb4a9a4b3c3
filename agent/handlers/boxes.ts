import { viewBox } from '../core/box-view.ts'
import type { Boxes, BoxRef, Mutated, Mutation } from '../core/boxes.ts'
import type { Caller } from '../core/caller.ts'
import type { Operations } from '../core/operations.ts'
import { checkReadOnly } from '../core/read-only-fields.ts'
import type { BoxRecord } from '../ports/store.ts'
import type { Handlers, Reply } from './call.ts'

type BoxHandlers = Pick<
  Handlers,
  'createBox' | 'listBoxes' | 'getBox' | 'updateBox' | 'deleteBox' | 'stopBox' | 'resumeBox'
>

/** Boxes and their life cycle over HTTP; `node` is the name of this host. */
export function createBoxHandlers(deps: { boxes: Boxes; operations: Operations; node: string }): BoxHandlers {
  const { boxes, operations, node } = deps
  const view = (record: BoxRecord, caller: Caller) =>
    viewBox(record, { node, withEnvironment: caller.permissions.includes('write') })
  const reply = async (caller: Caller, { record, isSettled }: Mutated, unsettled: Unsettled): Promise<Reply> => {
    const body = view(record, caller)
    const done = { body, version: record.version, replayBody: { ...body, environment: {} } }
    if (isSettled) return done
    // What was asked is durable already: an operation that cannot be recorded does not undo it.
    const operation = await operations.begin(unsettled.kind, record).catch(() => null)
    const headers = operation === null ? {} : { 'operation-location': operation }
    return { ...done, status: unsettled.status, headers }
  }
  return {
    createBox: async ({ params, query, body, caller, ...given }) => {
      const created = await boxes.create(caller, { project: params.project, body }, mutationOf(query, given))
      const answer = await reply(caller, created, { kind: 'box.create', status: 201 })
      return { ...answer, headers: { ...answer.headers, location: pathOf(created.record) } }
    },
    listBoxes: async ({ params, query, caller }) => {
      const { records, next } = await boxes.list(caller, params.project, query)
      const views = records.map((record) => view(record, caller))
      return { body: { boxes: views, has_more: next !== null, next_continuation_token: next } }
    },
    getBox: async ({ params, caller }) => {
      const record = await boxes.get(params)
      return { body: view(record, caller), version: record.version }
    },
    updateBox: async ({ params, query, body, caller, ...given }) => {
      const check = (record: BoxRecord): void => checkReadOnly(view(record, caller), body, READ_ONLY)
      const record = await boxes.update(params, body, { ...mutationOf(query, given), check })
      return { body: view(record, caller), version: record.version }
    },
    deleteBox: async ({ params, query, ...given }) => {
      await boxes.remove(params, mutationOf(query, given))
      return { body: null }
    },
    stopBox: async ({ params, query, caller, ...given }) =>
      reply(caller, await boxes.stop(params, mutationOf(query, given)), { kind: 'box.stop', status: 202 }),
    resumeBox: async ({ params, query, caller, ...given }) =>
      reply(caller, await boxes.resume(params, mutationOf(query, given)), { kind: 'box.resume', status: 202 }),
  }
}

/** What is answered while the effect is not there yet. */
interface Unsettled {
  kind: string
  status: number
}

function mutationOf(
  query: { wait_seconds: number },
  given: { ifMatch: string | null; idempotencyKey: string | null },
): Mutation {
  const { ifMatch, idempotencyKey } = given
  return { waitMs: query.wait_seconds * 1000, ifMatch, idempotencyKey }
}

function pathOf({ project, name }: BoxRef): string {
  return `/v1/projects/${project}/boxes/${name}`
}

const READ_ONLY = [
  ...['id', 'name', 'project', 'status', 'state', 'created_at', 'updated_at', 'base', 'fork_of', 'node'],
  ...['data_mounts', 'published_domains', 'url'],
]
