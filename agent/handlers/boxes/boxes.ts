import { timestamp } from '../../../shared/time.ts'
import type { Boxes, BoxRef } from '../../core/boxes/boxes.ts'
import { type BoxMetrics, type BoxMetricsDeps, measureBox } from '../../core/boxes/metrics.ts'
import type { BoxDefaults } from '../../core/boxes/record.ts'
import { readUsageHistory } from '../../core/boxes/usage-history.ts'
import { checkReadOnly } from '../../core/common/preconditions.ts'
import { bytesOf } from '../../core/common/sizes.ts'
import type { Scheduling, SchedulingRequest } from '../../core/fleet/scheduling.ts'
import { OWNER_HEADER } from '../../ports/fleet/directory.ts'
import type { BoxRecord } from '../../ports/store/boxes.ts'
import type { UsageHistory, UsagePoint } from '../../ports/store/usage-history.ts'
import type { Call, Handlers } from '../common/call.ts'
import { type BoxReplies, mutationOf } from './replies.ts'

type BoxHandlers = Pick<
  Handlers,
  | 'createBox'
  | 'listBoxes'
  | 'getBox'
  | 'updateBox'
  | 'deleteBox'
  | 'stopBox'
  | 'resumeBox'
  | 'leaseBox'
  | 'getBoxMetrics'
  | 'getBoxMetricsHistory'
>

export interface BoxHandlersDeps extends BoxMetricsDeps {
  history: UsageHistory
  boxes: Boxes
  replies: BoxReplies
  scheduling: Scheduling
  /** Defaults for fields that a request leaves out. */
  defaults: Pick<BoxDefaults, 'config'>
  limits: { pidsPerBox: number }
}

/** Handles boxes, their life cycle, leases and metrics. */
export function createBoxHandlers(deps: BoxHandlersDeps): BoxHandlers {
  const { boxes } = deps
  const { view, done, reply } = deps.replies
  return {
    createBox: async ({ params, query, body, caller, request, ...given }) => {
      const cell = request.isPlaced ? null : await deps.scheduling.cellFor(schedulingOf(params, { query, body }, deps))
      if (cell !== null) return { status: MISDIRECTED, headers: { [OWNER_HEADER]: cell }, body: null }
      const created = await boxes.create(caller, { project: params.project, body }, mutationOf(query, given))
      const answer = await reply(caller, created, { kind: 'box.create', status: 201, request })
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
    stopBox: async ({ params, query, caller, request, ...given }) =>
      reply(caller, await boxes.stop(params, mutationOf(query, given)), { kind: 'box.stop', status: 202, request }),
    resumeBox: async ({ params, query, caller, request, ...given }) =>
      reply(caller, await boxes.resume(params, mutationOf(query, given)), { kind: 'box.resume', status: 202, request }),
    leaseBox: async ({ params, body, caller, ifMatch }) =>
      done(caller, await boxes.lease(params, { seconds: body.seconds, ifMatch })),
    getBoxMetrics: async ({ params }) => {
      const box = await boxes.get(params)
      return { body: viewMetrics(box, await measureBox(deps, box), deps.limits) }
    },
    getBoxMetricsHistory: async ({ params, query }) => {
      const { id, name } = await boxes.get(params)
      const points = await readUsageHistory(deps, id, query.step_seconds)
      return { body: { box: name, step_seconds: query.step_seconds, points: points.map(viewPoint) } }
    },
  }
}

function schedulingOf(
  { project }: { project: string },
  { query, body }: Pick<Call<'createBox'>, 'query' | 'body'>,
  { defaults }: Pick<BoxHandlersDeps, 'defaults'>,
): SchedulingRequest {
  const { name, node, fork, data_mounts: mounts } = body
  const { cpus, ram_mb } = defaults.config
  const given = body.config ?? {}
  const config = { cpus: given.cpus ?? cpus, ram_mb: given.ram_mb ?? ram_mb, region: given.region ?? null }
  // A request that waits for nothing must not wait for the scheduler.
  const isBound = node !== undefined || (fork ?? null) !== null || (mounts ?? []).length > 0 || query.wait_seconds === 0
  return { project, name, config, isBound }
}

function viewMetrics(
  { name, config }: BoxRecord,
  { at, usage, storageBytes, projectBytes, disk }: BoxMetrics,
  limits: { pidsPerBox: number },
) {
  const network = usage && {
    received_bytes: usage.network.receivedBytes,
    received_packets: usage.network.receivedPackets,
    sent_bytes: usage.network.sentBytes,
    sent_packets: usage.network.sentPackets,
  }
  return {
    box: name,
    at: timestamp(at),
    cpu: { seconds: usage?.cpuSeconds ?? null, limit_cores: config.cpus },
    memory: {
      used_bytes: usage?.memoryBytes ?? null,
      cache_bytes: usage?.cacheBytes ?? null,
      limit_bytes: config.ram_mb * 1024 ** 2,
    },
    pids: { current: usage?.pids ?? null, limit: limits.pidsPerBox },
    network,
    storage: {
      used_bytes: storageBytes,
      limit_bytes: bytesOf(config.storage_gb),
      unique_bytes: disk?.uniqueBytes ?? null,
      project_stored_bytes: projectBytes,
    },
  }
}

function viewPoint(point: UsagePoint) {
  return {
    at: timestamp(point.at),
    cpu_cores: point.cpuCores,
    memory_bytes: point.memoryBytes,
    cache_bytes: point.cacheBytes,
    storage_bytes: point.storageBytes,
    received_bytes_per_second: point.receivedPerSecond,
    sent_bytes_per_second: point.sentPerSecond,
  }
}

function pathOf({ project, name }: BoxRef): string {
  return `/v1/projects/${project}/boxes/${name}`
}

/** RFC 9110, section 15.5.20. Another cell must create it. No client ever sees it. */
const MISDIRECTED = 421
const READ_ONLY = [
  ...['id', 'name', 'project', 'status', 'state', 'created_at', 'updated_at', 'base', 'fork_of', 'node'],
  ...['data_mounts', 'published_domains', 'url', 'lease_until'],
]
