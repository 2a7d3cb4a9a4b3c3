import { useEffect, useState, useSyncExternalStore } from 'react'
import { agoText, spanText, timeText } from './words.ts'

let now = Date.now()
const listeners = new Set<() => void>()
let timer: ReturnType<typeof setInterval> | undefined

/** Returns the time, updated every ten seconds, by one timer for the whole page. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => now)
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  timer ??= setInterval(() => {
    now = Date.now()
    for (const each of listeners) each()
  }, 10_000)
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

/** How long ago something was, with the exact time as its title. */
export function Ago({ time }: { time: string | null | undefined }) {
  // The timer rerenders it. Any other render has a later time.
  const text = agoText(time, Math.max(useNow(), Date.now()))
  return (
    <time dateTime={time ?? undefined} title={timeText(time)} className="whitespace-nowrap">
      {text}
    </time>
  )
}

/** How long something has been running, updated each second, with the exact start time as its title. */
export function Since({ time }: { time: string }) {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    const clock = setInterval(() => setNow(Date.now()), 1_000)
    return () => clearInterval(clock)
  }, [])
  return (
    <time dateTime={time} title={timeText(time)} className="whitespace-nowrap tabular-nums">
      {' '}
      {spanText((now - Date.parse(time)) / 1000)} so far.
    </time>
  )
}
