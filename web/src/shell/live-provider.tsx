import type { BoxyardEvent } from '@boxyard/sdk'
import { useQueryClient } from '@tanstack/react-query'
import { createContext, type ReactNode, useContext, useEffect, useRef, useState } from 'react'
import { followLive } from '../api/live.ts'
import { createRefresher } from '../api/refresh.ts'
import { useIsInSight } from './visibility.ts'

/** The last events, newest first, and whether the stream is open. */
export interface Live {
  isOpen: boolean
  events: readonly BoxyardEvent[]
}

const LiveContext = createContext<Live>({ isOpen: false, events: [] })

/** Follows the events once for all pages, and brings what they show up to date. */
export function LiveProvider({ isOn, children }: { isOn: boolean; children: ReactNode }) {
  const queries = useQueryClient()
  const isInSight = useIsInSight()
  const cursor = useRef('now')
  const wasOpen = useRef(false)
  const [live, setLive] = useState<Live>({ isOpen: false, events: [] })
  useEffect(() => {
    if (!isOn || !isInSight) return undefined
    const stop = new AbortController()
    const refresher = createRefresher(queries)
    const onState = ({ isOpen, isComplete }: { isOpen: boolean; isComplete: boolean }): void => {
      // Whoever was away may have missed events.
      if (isOpen && wasOpen.current && !isComplete) refresher.all()
      wasOpen.current ||= isOpen
      setLive((now) => ({ ...now, isOpen }))
    }
    const onEvent = (event: BoxyardEvent): void => {
      refresher.take(event)
      setLive((now) => ({ ...now, events: [event, ...now.events].slice(0, EVENTS_KEPT) }))
    }
    const onCursor = (told: string): void => {
      cursor.current = told
    }
    void followLive({ since: cursor.current, onCursor, onEvent, onState }, stop.signal)
    return () => {
      stop.abort()
      refresher.close()
    }
  }, [isOn, isInSight, queries])
  return <LiveContext value={live}>{children}</LiveContext>
}

/** Returns what happens now. */
export function useLive(): Live {
  return useContext(LiveContext)
}

const EVENTS_KEPT = 200
