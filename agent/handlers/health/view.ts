import { viewFaults } from '../../../shared/health-faults.ts'
import type { BoxStatus } from '../../../shared/schemas/boxes.ts'
import type { Health } from '../../../shared/schemas/health.ts'
import type { HealthReport } from '../../core/health/health.ts'
import type { ClusterReport } from '../../ports/boxes/cluster-facts.ts'
import type { DiskCapacity } from '../../ports/host/facts.ts'

/** Returns the health report in the form of the API, without failed measurements, and without what projects share unless it `isWhole`. */
export function viewHealth(report: HealthReport, { isWhole }: { isWhole: boolean }): Health {
  const { status, faults, load, cluster } = report
  const { boxes, disk, pool } = isWhole ? report : NOTHING_SHARED
  const { cpu, memory } = load
  return {
    status,
    ...API,
    ...viewFaults(faults),
    ...(boxes ? { boxes: viewCounts(boxes) } : {}),
    host: {
      cpu,
      memory: { ...memory, used_percent: percent(memory.used_bytes, memory.total_bytes) },
      ...(disk ? { storage: viewCapacity(disk) } : {}),
      storage_mounts: pool ? [viewCapacity(pool)] : [],
    },
    kubernetes: viewCluster(cluster?.nodes ?? []),
    namespace: cluster?.namespace ?? '',
  }
}

/** Returns the part of the health report that is public. */
export function viewStatus({ status }: HealthReport): Health {
  return { status, ...API, errors: [] }
}

function viewCounts(counts: Record<BoxStatus, number>): Record<BoxStatus | 'total', number> {
  return { ...counts, total: counts.pending + counts.running + counts.stopped + counts.unknown }
}

function viewCluster(nodes: ClusterReport['nodes']) {
  return {
    nodes: nodes.map((node) => ({ ...node })),
    total_pods_capacity: nodes.reduce((sum, node) => sum + node.pods_capacity, 0),
    total_pods_running: nodes.reduce((sum, node) => sum + node.pods_running, 0),
  }
}

function viewCapacity({ path, totalBytes, usedBytes, availableBytes }: DiskCapacity) {
  return {
    path,
    total_bytes: totalBytes,
    used_bytes: usedBytes,
    available_bytes: availableBytes,
    used_percent: percent(usedBytes, totalBytes),
  }
}

function percent(part: number, whole: number): number {
  return whole === 0 ? 0 : Math.round((part / whole) * 10_000) / 100
}

const NOTHING_SHARED = { boxes: null, disk: null, pool: null }
const API = { api: { api_version: 'v1' } }
