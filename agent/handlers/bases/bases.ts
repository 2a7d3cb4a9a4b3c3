import { invalidRequest } from '../../../shared/validate.ts'
import type { Bases } from '../../core/bases/bases.ts'
import type { Imported } from '../../core/bases/import.ts'
import type { Caller } from '../../core/common/caller.ts'
import { etagOf } from '../../core/common/preconditions.ts'
import type { Operations } from '../../core/operations/operations.ts'
import type { BaseRecord } from '../../ports/store/bases.ts'
import type { Call, Handlers, Reply } from '../common/call.ts'
import { viewReport } from '../files/view.ts'
import { operationLocation, viewOperation } from '../operations/view.ts'
import { viewBase } from './view.ts'

type CreateCall = Call<'createBase'>
type BaseHandlers = Pick<Handlers, 'createBase' | 'listBases' | 'listSharedBases' | 'getBase' | 'deleteBase'>

/** Handles bases. */
export function createBaseHandlers({ bases, operations }: { bases: Bases; operations: Operations }): BaseHandlers {
  const replyPage = ({ records, next }: { records: BaseRecord[]; next: string | null }): Reply => {
    const views = records.map((record) => viewBase(record, null))
    return { body: { bases: views, has_more: next !== null, next_continuation_token: next } }
  }
  return {
    createBase: async (call) => {
      const { caller, params, bytes } = call
      const made = bytes === null ? await ordered(bases, call) : await unpacked(bases, call, bytes)
      if ('operation' in made) return replyLater(operations, caller, made.operation)
      const { record, report } = made
      const view = viewBase(record, await bases.usedBy(caller, record))
      const body = report === null ? view : { ...view, unpacked: viewReport(report) }
      return { body, headers: locationOf(params.project, record), etag: etagOf(record.id) }
    },
    listBases: async ({ params, query, caller }) => replyPage(await bases.list(caller, params.project, query)),
    listSharedBases: async ({ query, caller }) => replyPage(await bases.list(caller, null, query)),
    getBase: async ({ params, query, caller }) => {
      const record = await bases.get({ project: params.project, name: params.base, isShared: query.shared })
      return { body: viewBase(record, await bases.usedBy(caller, record)), etag: etagOf(record.id) }
    },
    deleteBase: async ({ params, query, caller, ifMatch }) => {
      const ref = { project: params.project, name: params.base, isShared: query.shared }
      const { count } = await bases.remove(caller, ref, ifMatch)
      return { body: null, headers: { 'x-used-by-count': String(count) } }
    },
  }
}

async function replyLater(operations: Operations, caller: Caller, id: string): Promise<Reply> {
  const body = viewOperation(await operations.get(caller, id, 0))
  return { status: 202, body, headers: operationLocation(id) }
}

async function ordered(bases: Bases, { params, query, body, caller, idempotencyKey }: CreateCall): Promise<Imported> {
  if (query.name !== undefined || query.shared || query.image)
    throw invalidRequest([{ pointer: '/query', detail: 'name, shared and image are there for archives' }])
  const { name, box, snapshot, image, shared } = body
  const options = { project: params.project, name, isShared: shared === true, idempotencyKey }
  if (image !== undefined) return bases.pull(caller, { ...options, image, waitMs: query.wait_seconds * 1000 })
  return { record: await bases.create(caller, { ...options, box: box ?? '', snapshot }), report: null }
}

async function unpacked(
  bases: Bases,
  { params, query, caller, idempotencyKey }: CreateCall,
  bytes: AsyncIterable<Uint8Array>,
): Promise<Imported> {
  const { name, shared: isShared, image: isImage, wait_seconds: waitSeconds } = query
  if (name === undefined) throw invalidRequest([{ pointer: '/query/name', detail: 'is required with an archive' }])
  return bases.unpack(caller, {
    ...{ project: params.project, name, isShared, isImage, bytes, idempotencyKey },
    waitMs: waitSeconds * 1000,
  })
}

function locationOf(project: string, { project: owner, name }: BaseRecord): Record<string, string> {
  return { location: `/v1/projects/${project}/bases/${name}${owner === null ? '?shared=true' : ''}` }
}
