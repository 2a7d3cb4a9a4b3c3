import { problemIn, sessionFetch } from './session.ts'

/**
 * Opens a stream of server-sent events in the session. Returns null if the front cannot stream, such as a function. That front redirects to
 * another origin, which the policy of these pages does not allow.
 * @throws ApiError, ConnectionError
 */
export async function openEventStream(path: string, signal: AbortSignal): Promise<ReadableStream<Uint8Array> | null> {
  const headers = { accept: 'text/event-stream' }
  const response = await sessionFetch(new Request(path, { headers, signal, redirect: 'manual' }))
  if (response.type === 'opaqueredirect') return null
  if (!response.ok) throw await problemIn(response)
  return response.body ?? new Blob([]).stream()
}
