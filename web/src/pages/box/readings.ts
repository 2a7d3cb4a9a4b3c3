import { useEffect, useSyncExternalStore } from 'react'
import { api } from '../../api/client.ts'
import type { BoxMetrics, Ref } from '../../api/types.ts'
import { type MetricsPoint, pointOf, withPoint } from './metrics-history.ts'

/** The readings of a box since its page was first opened, for the last hour. */
interface Readings {
  last: BoxMetrics | null
  points: readonly MetricsPoint[]
}

const kept = new Map<string, Readings>()
const listeners = new Set<() => void>()
const NONE: Readings = { last: null, points: [] }

/** Reads the metrics of a box every two seconds while its page is in sight. */
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
      if (isRunning) timer = setTimeout(() => void read(), EVERY_MS)
    }
    void read()
    return () => {
      stop.abort()
      clearTimeout(timer)
    }
  }, [project, name, id, isRunning])
  return useSyncExternalStore(subscribe, () => kept.get(id) ?? NONE)
}

function keep(id: string, reading: BoxMetrics): void {
  const { last, points } = kept.get(id) ?? NONE
  kept.delete(id)
  kept.set(id, { last: reading, points: withPoint(points, pointOf(reading, last)) })
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

const EVERY_MS = 2_000
const BOXES_KEPT = 20
