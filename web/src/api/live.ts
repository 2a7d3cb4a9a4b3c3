import type { BoxyardEvent } from '@boxyard/sdk'
import { readEventStream, withinSilence } from './event-stream.ts'
import { createPauses } from './patience.ts'
import { ALL_PROJECTS } from './queries.ts'
import { sessionFetch } from './session.ts'

/** What a follower of the events is told. */
export interface LiveListener {
  /** Where to go on: `now`, or what `onCursor` was told last. */
  since: string
  onCursor(cursor: string): void
  onEvent(event: BoxyardEvent): void
  /** Told when the stream is open, and when it is lost; events may be missed if `isComplete` is false. */
  onState(state: { isOpen: boolean; isComplete: boolean }): void
}

/** Follows the events of all projects by one stream until `signal` aborts: connects again where it was, with pauses that double. */
export async function followLive(listener: LiveListener, signal: AbortSignal): Promise<void> {
  let cursor = listener.since
  const pauses = createPauses()
  while (!signal.aborted) {
    try {
      const stream = await openStream(cursor, signal)
      if (stream === 'expired') {
        cursor = 'now'
        listener.onState({ isOpen: false, isComplete: false })
        continue
      }
      listener.onState({ isOpen: true, isComplete: cursor !== 'now' })
      for await (const message of readEventStream(withinSilence(stream))) {
        pauses.restart()
        if (message.id !== '') listener.onCursor((cursor = message.id))
        if (message.name === 'problem') break
        if (message.name === 'message' && message.data !== '')
          listener.onEvent(JSON.parse(message.data) as BoxyardEvent)
      }
    } catch {
      // The reason does not matter: it is tried again.
    }
    if (signal.aborted) return
    listener.onState({ isOpen: false, isComplete: cursor !== 'now' })
    await pauses.wait(signal)
  }
}

async function openStream(cursor: string, signal: AbortSignal): Promise<ReadableStream<Uint8Array> | 'expired'> {
  const query = new URLSearchParams({ since: cursor })
  const headers = { accept: 'text/event-stream' }
  const request = new Request(`/v1/projects/${ALL_PROJECTS}/events?${query.toString()}`, { headers, signal })
  const response = await sessionFetch(request)
  if (response.status === 410) return 'expired'
  if (!response.ok || response.body === null) throw new Error(`The events are answered ${response.status}.`)
  return response.body
}
