import { api } from '../../../api/client.ts'
import { readEventStream, type StreamMessage, withinSilence } from '../../../api/event-stream.ts'
import { createPauses, isForGood, readPersistently } from '../../../api/patience.ts'
import type { Ref } from '../../../api/records.ts'
import { openEventStream } from '../../../api/session-stream.ts'
import { LONGEST_PIECE, readAllPages } from '../commands/output-download.ts'
import type { OutputSource } from '../commands/output-follower.ts'

/** A version of a service of a box. */
export interface ServiceVersion {
  box: Ref
  service: string
  version: 'active' | 'preview' | 'previous'
}

/** Returns a follower of the log of a service without end, across its starts and restarts of Boxyard. */
export function logSource(of: ServiceVersion): OutputSource {
  const encoder = new TextEncoder()
  let offset = ''
  return async ({ take, cut, ...patience }) => {
    const { signal } = patience
    for (const pauses = createPauses(); ; ) {
      try {
        const stream = await readPersistently(() => openLog(of, offset, signal), patience)
        const messages = stream === null ? pollLog(of, offset, signal) : readEventStream(withinSilence(stream))
        for await (const { name, id, data } of messages) {
          pauses.restart()
          if (name === 'problem') break
          const piece = pieceOf(data)
          if (piece !== null && (piece.truncated || (offset === '' && piece.offset > 0))) cut()
          if (id !== '') offset = id
          if (piece !== null) await take({ stream: 'stdout', bytes: encoder.encode(piece.data) })
        }
      } catch (error) {
        if (isForGood(error)) throw error
      }
      await pauses.wait(signal)
      signal.throwIfAborted()
    }
  }
}

/** Reads all stored output of a service's log. @throws ApiError, ConnectionError */
export function readAllOfLog({ box: { project, name }, service, version }: ServiceVersion): Promise<Blob> {
  return readAllPages((offset) => {
    const query = { version, offset, encoding: 'base64' as const, max_bytes: LONGEST_PIECE }
    return api().call('getServiceLogs', { path: { project, name, service }, query })
  })
}

/** Polls the output after an offset, and yields it as a stream would, for fronts that cannot stream. @throws ApiError, ConnectionError */
async function* pollLog(
  { box: { project, name }, service, version }: ServiceVersion,
  offset: string,
  signal: AbortSignal,
): AsyncGenerator<StreamMessage> {
  for (let from = offset; ; ) {
    const query = { version, wait_seconds: 20, ...(from === '' ? {} : { offset: Number(from) }) }
    const page = await api().call('getServiceLogs', { path: { project, name, service }, query, signal })
    from = String(page.next_offset)
    yield { name: 'message', id: from, data: JSON.stringify(page) }
  }
}

/** Opens the stream of a log, or returns null if the front cannot stream. @throws ApiError, ConnectionError */
async function openLog({ box, service, version }: ServiceVersion, offset: string, signal: AbortSignal) {
  const path = `/v1/projects/${box.project}/boxes/${box.name}/services/${service}/logs`
  const query = new URLSearchParams({ version, ...(offset === '' ? {} : { offset }) })
  return openEventStream(`${path}?${query.toString()}`, signal)
}

function pieceOf(data: string): { offset: number; data: string; truncated: boolean } | null {
  const piece: unknown = data === '' ? null : JSON.parse(data)
  if (typeof piece !== 'object' || piece === null || !('data' in piece) || typeof piece.data !== 'string') return null
  const offset = 'offset' in piece && typeof piece.offset === 'number' ? piece.offset : 0
  return { offset, data: piece.data, truncated: 'truncated' in piece && piece.truncated === true }
}
