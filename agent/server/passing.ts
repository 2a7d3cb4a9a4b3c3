import { Readable } from 'node:stream'
import { SIGNATURE_HEADER, signedHeaders } from '../../shared/auth/channel.ts'
import { ServiceError } from '../../shared/errors.ts'
import { readWhole } from '../../shared/http/gathered-pieces.ts'
import { givenRequestId, type HttpRequest, type HttpResponse, headerOf } from '../../shared/http/messages.ts'
import type { Logger } from '../../shared/log.ts'
import { type LineBudget, logBounded } from '../../shared/log-budget.ts'
import { type Cell, type Directory, PLACED_HEADER } from '../ports/fleet/directory.ts'
import { type CellLinks, cellAway, type PassedAnswer, type PassedRequest } from './cells/cell-links.ts'
import type { Refuse } from './dispatch.ts'
import type { RequestHead } from './trust.ts'

/** Dependencies of the proxy that sends requests of the functions to other cells. */
export interface PassingDeps {
  directory: Pick<Directory, 'cell'>
  links: CellLinks
  /** Answers requests that cannot be proxied. */
  refuse: Refuse
  /** Bounds the lines of each cell in the log. Otherwise each request for something of that cell would add one. */
  lines: LineBudget
  logger: Logger
}

/** The target, body and owner of a request to proxy. */
interface PassedTo extends Pick<PassedRequest, 'owner'> {
  cell: Pick<Cell, 'cell' | 'channelUrl'>
  body: Uint8Array | AsyncIterable<Uint8Array>
  /** Makes that cell choose no other. */
  isPlaced?: boolean
}

/** Proxies a request to the agent of another cell, unchanged but for this body. @throws Error as `CellLinks.send` */
export async function passRequest(
  request: HttpRequest,
  { cell, body, owner, isPlaced = false }: PassedTo,
  { directory, links, lines, logger }: PassingDeps,
): Promise<PassedAnswer> {
  const { method, target } = request
  // A mutation continues even if the client disconnects, as without a cell in between.
  const signal = method === 'GET' ? request.signal : null
  const entered = { [ENTRY_HEADER]: directory.cell, ...(isPlaced ? { [PLACED_HEADER]: cell.cell } : {}) }
  const headers = { ...passedHeaders(request.headers, BODY_HEADERS), ...entered }
  try {
    return await links.send(cell.channelUrl, { method, target, headers, signal, owner }, body)
  } catch (error) {
    if (!(error instanceof ServiceError)) noteAway({ cell: cell.cell, request, error }, { logger, lines })
    throw error
  }
}

/** Logs that another cell cannot be reached. */
export function noteAway(
  { cell, request: { headers }, error }: { cell: string; request: Pick<HttpRequest, 'headers'>; error: unknown },
  { logger, lines }: Pick<PassingDeps, 'logger' | 'lines'>,
): void {
  logBounded(`cell ${cell}`, lines, (leftOut) =>
    logger.warn('another cell is unreachable', { cell, request_id: givenRequestId(headers), error, ...leftOut }),
  )
}

/** Selects the headers that the functions have signed, the signature, and the headers that the body or handshake needs. */
export function passedHeaders(headers: RequestHead['headers'], others: readonly string[]): Record<string, string> {
  const passed = signedHeaders(headers)
  for (const name of [SIGNATURE_HEADER, ...others]) {
    const value = headerOf(headers, name)
    if (value !== undefined) passed[name] = value
  }
  return passed
}

/** Returns the answer of another cell as an answer of this one. */
export function passedResponse({
  status,
  headers,
  body,
}: Omit<PassedAnswer, 'body'> & Pick<HttpResponse, 'body'>): HttpResponse {
  const kept: Record<string, string | readonly string[]> = {}
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined && !OF_CONNECTION.has(name)) kept[name] = value
  return { status, headers: kept, body }
}

/**
 * Reads the whole of an answer of another cell, and returns it as an answer of this one.
 * @throws ServiceError `agent_unavailable` that names the cell if it breaks off, or is longer than 16 MiB
 */
export async function wholePassedResponse(
  answer: Omit<PassedAnswer, 'body'> & { body: AsyncIterable<Uint8Array> },
  cell: string,
): Promise<HttpResponse> {
  try {
    return { ...passedResponse({ ...answer, body: null }), body: await wholeBody(answer.body) }
  } catch (error) {
    throw error instanceof ServiceError ? error : cellAway(cell, error)
  }
}

/** Reads the whole of what another cell sends. @throws Error for more than 16 MiB */
export function wholeBody(body: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const tooLong = (): Error => new Error(`its answer is longer than ${WHOLE_BYTES_MAX} bytes`)
  return readWhole(body, { maxBytes: WHOLE_BYTES_MAX, tooLong })
}

/**
 * Reads the rest of an answer, so that its connection can be reused. Closes the connection if much is left, or if it does not come soon.
 */
export function discard({ body }: Pick<HttpResponse, 'body'>): void {
  if (!(body instanceof Readable)) return
  let leftBytes = DISCARDED_BYTES_MAX
  const timer = setTimeout(() => body.destroy(), DISCARD_MS).unref()
  body.on('error', () => undefined)
  body.on('data', (piece: Uint8Array) => {
    leftBytes -= piece.length
    if (leftBytes < 0) body.destroy()
  })
  body.once('close', () => clearTimeout(timer))
}

/** Returns a reader of a body that was read already. */
export function readAlready(body: Uint8Array): Pick<HttpRequest, 'readBody' | 'openBody'> {
  return {
    readBody: async () => body,
    openBody: async function* () {
      yield body
    },
  }
}

/** Header of a proxied request, with the number of the cell where it entered. Never accepted from a client. */
export const ENTRY_HEADER = 'x-boxyard-entry'

/** The headers of a handshake beside the signed ones, for `passedHeaders`. */
export const HANDSHAKE_HEADERS = [
  'connection',
  'upgrade',
  'sec-websocket-key',
  'sec-websocket-version',
  'sec-websocket-extensions',
]

/** More than any answer that an agent sends whole, such as the storage of thousands of boxes. */
const WHOLE_BYTES_MAX = 16 * 1024 * 1024
const DISCARDED_BYTES_MAX = 64 * 1024
const DISCARD_MS = 2_000
const BODY_HEADERS = ['content-length']
const OF_CONNECTION: ReadonlySet<string> = new Set(['connection', 'keep-alive', 'transfer-encoding', 'date'])
