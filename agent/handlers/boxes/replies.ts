import type { Box } from '../../../shared/schemas/boxes.ts'
import { timestamp } from '../../../shared/time.ts'
import type { Mutated, Mutation } from '../../core/boxes/boxes.ts'
import type { Caller } from '../../core/common/caller.ts'
import { type EdgeAddress, hostOfBox, urlOf } from '../../core/common/urls.ts'
import type { Operations } from '../../core/operations/operations.ts'
import type { BoxRecord } from '../../ports/store/boxes.ts'
import type { Reply } from '../common/call.ts'
import { operationLocation } from '../operations/view.ts'

/** Answers requests with boxes. */
export interface BoxReplies {
  /** Returns the Box of the API. Its environment is empty for a caller who may not write. */
  view(record: BoxRecord, caller: Caller): Box
  /** Answers a mutation that has taken effect. */
  done(caller: Caller, record: BoxRecord): Reply
  /** Answers a mutation. Adds the operation to wait on if it has not taken effect yet. */
  reply(caller: Caller, mutated: Mutated, unsettled: Unsettled): Promise<Reply>
}

/** The operation and the status of the answer while a mutation has not taken effect. */
export interface Unsettled {
  kind: string
  status: number
  request: { receivedAt: number }
}

export interface BoxRepliesDeps {
  operations: Operations
  /** The name of this host. */
  node: string
  address: EdgeAddress
}

/** Creates replies with the node and the URLs of this deployment. */
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
      // The desired state is durable already. An operation that cannot be recorded does not undo it.
      const operation = await operations.begin(unsettled.kind, record, unsettled.request.receivedAt).catch(() => null)
      const headers = operation === null ? {} : operationLocation(operation)
      return { ...done(caller, record), status: unsettled.status, headers }
    },
  }
}

/** Returns the wait and the conditions of a mutation, from its query and headers. */
export function mutationOf(
  query: { wait_seconds: number },
  given: { ifMatch: string | null; idempotencyKey: string | null },
): Mutation {
  const { ifMatch, idempotencyKey } = given
  return { waitMs: query.wait_seconds * 1000, ifMatch, idempotencyKey }
}

interface ViewOptions extends Pick<BoxRepliesDeps, 'node' | 'address'> {
  withEnvironment: boolean
}

function viewBox(record: BoxRecord, { node, address, withEnvironment }: ViewOptions): Box {
  const { observed } = record
  return {
    id: record.id,
    name: record.name,
    project: record.project,
    status: observed.status,
    state: { reason: observed.reason, message: observed.message, since: timestamp(observed.since) },
    created_at: timestamp(record.createdAt),
    updated_at: timestamp(record.updatedAt),
    base: record.base,
    fork_of: record.forkOf,
    node,
    config: record.config,
    data_mounts: record.mounts.map(({ name, path, readOnly }) => ({ name, path, read_only: readOnly })),
    environment: withEnvironment ? record.environment : {},
    port: record.port,
    protocol: record.protocol ?? 'http',
    published_domains: record.domains,
    tags: record.tags,
    termination_grace_period_seconds: record.gracePeriodSeconds,
    url: urlOf(hostOfBox(record, address), address),
    url_settings: record.urlSettings,
    lease_until: record.leaseUntil === null ? null : timestamp(record.leaseUntil),
  }
}
