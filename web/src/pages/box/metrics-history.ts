import type { BoxMetrics, BoxMetricsHistory } from '../../api/records.ts'

/** The values of a chart at one moment. Null if they are unknown. */
export interface MetricsPoint {
  /** Seconds since the epoch. */
  at: number
  /** Seconds from one point of its kind to the next. */
  everySeconds: number
  cores: number | null
  memoryBytes: number | null
  diskBytes: number | null
  receivedPerSecond: number | null
  sentPerSecond: number | null
}

/** Returns the point of a reading. Counters become rates since the reading before, unless the box was restarted in between. */
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
    everySeconds: READ_EVERY_SECONDS,
    cores: rate(reading.cpu.seconds, before?.cpu.seconds),
    memoryBytes: reading.memory.used_bytes,
    diskBytes: reading.storage.used_bytes,
    receivedPerSecond: rate(reading.network?.received_bytes, before?.network?.received_bytes),
    sentPerSecond: rate(reading.network?.sent_bytes, before?.network?.sent_bytes),
  }
}

/** Returns the points of the last hour from the service. */
export function pointsOf({ points, step_seconds: everySeconds }: BoxMetricsHistory): MetricsPoint[] {
  const all = points.map((point) => ({
    at: Date.parse(point.at) / 1000,
    everySeconds,
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

/** Returns the points with an empty one in each gap, where the service was down, the box stopped, or the page out of sight. */
export function withGaps(points: readonly MetricsPoint[]): MetricsPoint[] {
  return points.flatMap((point, index) => {
    const before = points[index - 1]
    return before === undefined || !isGap(before, point) ? [point] : [nothingAt((before.at + point.at) / 2), point]
  })
}

function isGap(before: MetricsPoint, after: MetricsPoint): boolean {
  const everySeconds = Math.max(before.everySeconds, after.everySeconds)
  return after.at - before.at > Math.max(1.5 * everySeconds, GAP_SECONDS)
}

function nothingAt(at: number): MetricsPoint {
  const nothing = { cores: null, memoryBytes: null, diskBytes: null, receivedPerSecond: null, sentPerSecond: null }
  return { at, everySeconds: 0, ...nothing }
}

/** How often a page reads. */
export const READ_EVERY_SECONDS = 2
/** Reads of a slow service are no gap. */
const GAP_SECONDS = 15
const KEPT_SECONDS = 3_600
