import { expect, test } from '@jest/globals'
import type { BoxMetrics } from '../../../web/src/api/records.ts'
import { pointOf, pointsOf, withGaps, withPoint } from '../../../web/src/pages/box/metrics-history.ts'

const START = Date.parse('2026-01-01T00:00:00Z') / 1000

function reading(seconds: number, cpu: number | null, received = 0): BoxMetrics {
  const network = { received_bytes: received, received_packets: 0, sent_bytes: 0, sent_packets: 0 }
  return {
    at: new Date((START + seconds) * 1000).toISOString(),
    cpu: { seconds: cpu, limit_cores: 1 },
    memory: { used_bytes: 7, cache_bytes: 0, limit_bytes: 9 },
    storage: { used_bytes: 5, limit_bytes: 9, unique_bytes: null, project_stored_bytes: 5 },
    network,
  } as BoxMetrics
}

test('counters become rates, of the first reading none', () => {
  expect(pointOf(reading(0, 10), null)).toMatchObject({ at: START, cores: null, memoryBytes: 7, diskBytes: 5 })
  expect(pointOf(reading(2, 11, 400), reading(0, 10, 100))).toMatchObject({ cores: 0.5, receivedPerSecond: 150 })
})

test('a box that was started anew, or a host that does not count, has a gap and no rate below nothing', () => {
  expect(pointOf(reading(2, 1), reading(0, 10))).toMatchObject({ cores: null })
  expect(pointOf(reading(2, null), reading(0, 10))).toMatchObject({ cores: null })
  expect(pointOf(reading(0, 12), reading(0, 10))).toMatchObject({ cores: null })
})

test('an hour is kept', () => {
  const point = (at: number) => ({ ...pointOf(reading(0, 0), null), at })
  expect(withPoint([point(0), point(100)], point(3_650)).map(({ at }) => at)).toEqual([100, 3_650])
  expect(withPoint([point(0)], point(9_999)).map(({ at }) => at)).toEqual([9_999])
})

test('what the service has kept is the last hour of its points', () => {
  const point = (minutes: number) => ({
    at: new Date((START + 60 * minutes) * 1000).toISOString(),
    cpu_cores: 0.5,
    memory_bytes: 1,
    cache_bytes: 0,
    storage_bytes: null,
    received_bytes_per_second: 2,
    sent_bytes_per_second: 3,
  })
  const points = pointsOf({ box: 'web', step_seconds: 60, points: [point(0), point(30), point(70)] })
  expect(points.map(({ at }) => (at - START) / 60)).toEqual([30, 70])
  expect(points[0]).toMatchObject({
    cores: 0.5,
    memoryBytes: 1,
    diskBytes: null,
    receivedPerSecond: 2,
    sentPerSecond: 3,
  })
})

test('where nothing was read for a while there is a gap, and none between points that are further apart by themselves', () => {
  const at = (seconds: number, everySeconds: number) => ({ ...pointOf(reading(seconds, 0), null), everySeconds })
  const gaps = (...points: ReturnType<typeof at>[]): number[] =>
    withGaps(points)
      .filter(({ memoryBytes }) => memoryBytes === null)
      .map((point) => point.at - START)
  expect(gaps(at(0, 2), at(2, 2), at(12, 2), at(42, 2), at(44, 2))).toEqual([27])
  expect(gaps(at(0, 60), at(60, 60), at(125, 60), at(300, 60))).toEqual([212.5])
  // The page's first reading, after the points that the service kept.
  expect(gaps(at(0, 60), at(59, 2), at(61, 2))).toEqual([])
  expect(withGaps([])).toEqual([])
})
