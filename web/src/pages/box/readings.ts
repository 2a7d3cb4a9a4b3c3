import { useEffect, useSyncExternalStore } from 'react'
import { api } from '../../api/client.ts'
import type { BoxMetrics, Ref } from '../../api/records.ts'
import { type MetricsPoint, pointOf, pointsOf, READ_EVERY_SECONDS, withPoint } from './metrics-history.ts'

/** The readings of a box for the last hour: per minute from the service, and more often from this page. */
interface Readings {
  last: BoxMetrics | null
  points: readonly MetricsPoint[]
}

const kept = new Map<string, Readings>()
const listeners = new Set<() => void>()
const NONE: Readings = { last: null, points: [] }

/** Reads the stored metrics of a box, then its current ones every two seconds while its page is in sight. */
export function useReadings({ project, name, id, isRunning }: Ref & { id: string; isRunning: boolean }): Readings {
  useEffect(() => {
    const stop = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const read = async (): Promise<void> => {
      if (!document.hidden) {
        const input = { path: { project, name }, signal: stop.signal }
        const reading = await api()
          .call('getBoxMetrics', input)
          .catch(() => null)
        if (stop.signal.aborted) return
        if (reading !== null) keep(id, reading)
      }
      if (isRunning) timer = setTimeout(() => void read(), 1000 * READ_EVERY_SECONDS)
    }
    const begin = async (): Promise<void> => {
      if (!kept.has(id)) {
        const input = { path: { project, name }, signal: stop.signal }
        const history = await api()
          .call('getBoxMetricsHistory', input)
          .catch(() => null)
        if (stop.signal.aborted) return
        if (history !== null && !kept.has(id)) keepPoints(id, { last: null, points: pointsOf(history) })
      }
      await read()
    }
    void begin()
    return () => {
      stop.abort()
      clearTimeout(timer)
    }
  }, [project, name, id, isRunning])
  return useSyncExternalStore(subscribe, () => kept.get(id) ?? NONE)
}

function keep(id: string, reading: BoxMetrics): void {
  const { last, points } = kept.get(id) ?? NONE
  keepPoints(id, { last: reading, points: withPoint(points, pointOf(reading, last)) })
}

function keepPoints(id: string, readings: Readings): void {
  kept.delete(id)
  kept.set(id, readings)
  for (const oldest of kept.keys()) {
    if (kept.size <= BOXES_KEPT) break
    kept.delete(oldest)
  }
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

const BOXES_KEPT = 20
