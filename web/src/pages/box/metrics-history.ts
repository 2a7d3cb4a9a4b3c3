import type { BoxMetrics, BoxMetricsHistory } from '../../api/records.ts'

/** What a chart shows of one moment; null where it is not known. */
export interface MetricsPoint {
  /** Seconds since the epoch. */
  at: number
  cores: number | null
  memoryBytes: number | null
  diskBytes: number | null
  receivedPerSecond: number | null
  sentPerSecond: number | null
}

/** Returns the point of a reading: counters become rates since the reading before, unless the box was started anew in between. */
export function pointOf(reading: BoxMetrics, before: BoxMetrics | null): MetricsPoint {
  const at = Date.parse(reading.at) / 1000
  const seconds = before === null ? 0 : at - Date.parse(before.at) / 1000
  const rate = (now: number | null | undefined, then: number | null | undefined): number | null => {
    if (now === null || now === undefined || then === null || then === undefined || seconds <= 0 || now < then)
      return null
    return (now - then) / seconds
  }
  return {
    at,
    cores: rate(reading.cpu.seconds, before?.cpu.seconds),
    memoryBytes: reading.memory.used_bytes,
    diskBytes: reading.storage.used_bytes,
    receivedPerSecond: rate(reading.network?.received_bytes, before?.network?.received_bytes),
    sentPerSecond: rate(reading.network?.sent_bytes, before?.network?.sent_bytes),
  }
}

/** Returns the points of the last hour that the service has kept. */
export function pointsOf({ points }: BoxMetricsHistory): MetricsPoint[] {
  const all = points.map((point) => ({
    at: Date.parse(point.at) / 1000,
    cores: point.cpu_cores,
    memoryBytes: point.memory_bytes,
    diskBytes: point.storage_bytes,
    receivedPerSecond: point.received_bytes_per_second,
    sentPerSecond: point.sent_bytes_per_second,
  }))
  const newest = all.at(-1)?.at ?? 0
  return all.filter(({ at }) => at > newest - KEPT_SECONDS)
}

/** Returns the points of the last hour with one more. */
export function withPoint(points: readonly MetricsPoint[], point: MetricsPoint): MetricsPoint[] {
  const first = points.findIndex(({ at }) => at > point.at - KEPT_SECONDS)
  return [...(first < 0 ? [] : points.slice(first)), point]
}

const KEPT_SECONDS = 3_600
