import type { Boxes, BoxRef } from '../../core/boxes/boxes.ts'
import { checkReadOnly } from '../../core/common/read-only-fields.ts'
import type { BoxRecord } from '../../ports/store/store.ts'
import type { Handlers } from '../common/call.ts'
import { type BoxReplies, mutationOf } from './replies.ts'

type BoxHandlers = Pick<
  Handlers,
  'createBox' | 'listBoxes' | 'getBox' | 'updateBox' | 'deleteBox' | 'stopBox' | 'resumeBox'
>

/** Boxes and their life cycle over HTTP. */
export function createBoxHandlers(deps: { boxes: Boxes; replies: BoxReplies }): BoxHandlers {
  const { boxes } = deps
  const { view, reply } = deps.replies
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

function pathOf({ project, name }: BoxRef): string {
  return `/v1/projects/${project}/boxes/${name}`
}

const READ_ONLY = [
  ...['id', 'name', 'project', 'status', 'state', 'created_at', 'updated_at', 'base', 'fork_of', 'node'],
  ...['data_mounts', 'published_domains', 'url', 'lease_until'],
]
