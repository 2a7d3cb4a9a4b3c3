import { api } from './client.ts'
import type { StreamMessage } from './event-stream.ts'
import { pauseFor } from './patience.ts'
import { ALL_PROJECTS } from './queries.ts'

/**
 * Polls for the events after a cursor every few seconds, and yields them as a stream would. The message after the events of an answer has
 * the next cursor. @throws ApiError, ConnectionError, the reason of the signal
 */
export async function* pollEvents(cursor: string, signal: AbortSignal): AsyncGenerator<StreamMessage> {
  for (let since = cursor; ; ) {
    const input = { path: { project: ALL_PROJECTS }, query: { since, max_results: 1000 }, signal }
    const page = await api().call('listEvents', input)
    for (const event of page.events) yield { name: 'message', id: '', data: JSON.stringify(event) }
    since = page.next_cursor
    yield { name: 'message', id: since, data: '' }
    if (!page.has_more) await pauseFor(EVERY_MS, signal)
    signal.throwIfAborted()
  }
}

const EVERY_MS = 10_000
