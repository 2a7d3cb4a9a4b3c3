import { ApiError, type BoxyardEvent } from '@boxyard/sdk'
import { readEventStream, withinSilence } from './event-stream.ts'
import { pollEvents } from './live-polls.ts'
import { createPauses } from './patience.ts'
import { ALL_PROJECTS } from './queries.ts'
import { openEventStream } from './session-stream.ts'

/** State of a follower of events. */
export interface LiveState {
  /** Whether events arrive. */
  isOpen: boolean
  /** False if events may have been missed. */
  isComplete: boolean
  /** Whether it polls every few seconds, because the front cannot stream. */
  isPolled: boolean
}

/** Callbacks of a follower of events. */
export interface LiveListener {
  /** Where to continue: `now`, or the last value that `onCursor` received. */
  since: string
  /** The last value that it received. */
  isPolled: boolean
  onCursor(cursor: string): void
  onEvent(event: BoxyardEvent): void
  /** Called when events begin to arrive, and when the connection is lost. */
  onState(state: LiveState): void
}

/**
 * Follows the events of all projects until `signal` aborts, through one stream, or by polling if the front cannot stream. Resumes at its
 * cursor, with pauses that double.
 */
export async function followLive(listener: LiveListener, signal: AbortSignal): Promise<void> {
  let cursor = listener.since
  let { isPolled } = listener
  const pauses = createPauses()
  while (!signal.aborted) {
    try {
      const stream = await openStream(cursor, signal)
      isPolled = stream === null
      const messages = stream === null ? pollEvents(cursor, signal) : readEventStream(withinSilence(stream))
      const open = { isOpen: true, isComplete: cursor !== 'now', isPolled }
      // A stream reports events after its start, and polling after its first answer.
      let isTold = stream !== null
      if (isTold) listener.onState(open)
      for await (const message of messages) {
        pauses.restart()
        if (message.id !== '') listener.onCursor((cursor = message.id))
        if (!isTold && message.id !== '') {
          isTold = true
          listener.onState(open)
        }
        if (message.name === 'problem') break
        if (message.name === 'message' && message.data !== '')
          listener.onEvent(JSON.parse(message.data) as BoxyardEvent)
      }
    } catch (error) {
      // The service no longer keeps the events after it. For any other reason it tries again.
      if (error instanceof ApiError && error.status === 410) cursor = 'now'
    }
    if (signal.aborted) return
    listener.onState({ isOpen: false, isComplete: cursor !== 'now', isPolled })
    await pauses.wait(signal)
  }
}

/** Opens the stream of events, or returns null if the front cannot stream. @throws ApiError, ConnectionError */
async function openStream(cursor: string, signal: AbortSignal): Promise<ReadableStream<Uint8Array> | null> {
  const query = new URLSearchParams({ since: cursor })
  return openEventStream(`/v1/projects/${ALL_PROJECTS}/events?${query.toString()}`, signal)
}
