import { ApiError, type BoxyardEvent } from '@boxyard/sdk'
import { readEventStream, withinSilence } from './event-stream.ts'
import { pollEvents } from './live-polls.ts'
import { createPauses } from './patience.ts'
import { ALL_PROJECTS } from './queries.ts'
import { openEventStream } from './session-stream.ts'

/** How a follower stands to the events. */
export interface LiveState {
  /** Whether the events come. */
  isOpen: boolean
  /** False: events may have been missed. */
  isComplete: boolean
  /** Whether they are asked for every some seconds, since the front carries no streams. */
  isPolled: boolean
}

/** What a follower of the events is told. */
export interface LiveListener {
  /** Where to go on: `now`, or what `onCursor` was told last. */
  since: string
  /** As it was told last. */
  isPolled: boolean
  onCursor(cursor: string): void
  onEvent(event: BoxyardEvent): void
  /** Told when events begin to come, and when that is lost. */
  onState(state: LiveState): void
}

/**
 * Follows the events of all projects until `signal` aborts: by one stream, or by asking for them where the front carries none. Goes on where
 * it was, with pauses that double.
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
      // A stream tells what is after its start; what polls tell is after their first answer.
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
      // The service no longer keeps what came after it. Other reasons do not matter: it is tried again.
      if (error instanceof ApiError && error.status === 410) cursor = 'now'
    }
    if (signal.aborted) return
    listener.onState({ isOpen: false, isComplete: cursor !== 'now', isPolled })
    await pauses.wait(signal)
  }
}

/** Opens the stream of events; null: the front carries none. @throws ApiError, ConnectionError */
async function openStream(cursor: string, signal: AbortSignal): Promise<ReadableStream<Uint8Array> | null> {
  const query = new URLSearchParams({ since: cursor })
  return openEventStream(`/v1/projects/${ALL_PROJECTS}/events?${query.toString()}`, signal)
}
