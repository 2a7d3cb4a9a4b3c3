import type { BoxyardEvent } from '@boxyard/sdk'
import { useQueryClient } from '@tanstack/react-query'
import { createContext, type ReactNode, useContext, useEffect, useRef, useState } from 'react'
import { followLive, type LiveState } from '../api/live.ts'
import { liveCursorQuery } from '../api/live-cursor.ts'
import { createRefresher } from '../api/refresh.ts'
import { endUndos } from '../ui/toasts.tsx'
import { useIsInSight } from './visibility.ts'

/** The last events, newest first, and whether and how they arrive. */
export interface Live extends Pick<LiveState, 'isOpen' | 'isPolled'> {
  events: readonly BoxyardEvent[]
}

const NOTHING: Live = { isOpen: false, isPolled: false, events: [] }
const LiveContext = createContext<Live>(NOTHING)

/** Follows the events once for all pages, and updates the data on screen. */
export function LiveProvider({ isOn, children }: { isOn: boolean; children: ReactNode }) {
  const queries = useQueryClient()
  const isInSight = useIsInSight()
  const isPolled = useRef(false)
  const [refresher] = useState(() => createRefresher(queries))
  const [live, setLive] = useState<Live>(NOTHING)
  useEffect(() => {
    if (!isOn || !isInSight) return undefined
    const stop = new AbortController()
    const onState = ({ isOpen, isComplete, isPolled: polls }: LiveState): void => {
      isPolled.current = polls
      // No event has reported changes between the reads of the pages and now.
      if (isOpen && !isComplete) refresher.all()
      setLive((now) => ({ ...now, isOpen, isPolled: polls }))
    }
    const onEvent = (event: BoxyardEvent): void => {
      refresher.take(event)
      endUndos(event)
      setLive((now) => ({ ...now, events: [event, ...now.events].slice(0, EVENTS_KEPT) }))
    }
    const onCursor = (told: string): void => void queries.setQueryData(liveCursorQuery.queryKey, told)
    const since = queries.getQueryData(liveCursorQuery.queryKey) ?? 'now'
    void followLive({ since, isPolled: isPolled.current, onCursor, onEvent, onState }, stop.signal)
    return () => {
      stop.abort()
      refresher.flush()
    }
  }, [isOn, isInSight, queries, refresher])
  return <LiveContext value={live}>{children}</LiveContext>
}

/** Returns the live events. */
export function useLive(): Live {
  return useContext(LiveContext)
}

/** Number of live events that are kept. */
export const EVENTS_KEPT = 500
