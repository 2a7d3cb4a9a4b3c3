import { Readable } from 'node:stream'
import { SIGNATURE_HEADER, signedHeaders } from '../../shared/auth/channel.ts'
import { givenRequestId, type HttpRequest, type HttpResponse, headerOf } from '../../shared/http/messages.ts'
import type { Logger } from '../../shared/log.ts'
import { type Cell, type Directory, PLACED_HEADER } from '../ports/fleet/directory.ts'
import type { CellLinks, PassedAnswer } from './cell-links.ts'
import type { Refuse } from './dispatch.ts'
import type { RequestHead } from './trust.ts'

/** What requests of the functions are passed on to other cells by. */
export interface PassingDeps {
  directory: Pick<Directory, 'cell'>
  links: CellLinks
  /** Answers what cannot be passed on. */
  refuse: Refuse
  logger: Logger
}

/**
 * Passes a request on to the agent of another cell, as it came, with this body; `isPlaced` tells that cell to choose no other.
 * @throws Error as `CellLinks.send`
 */
export async function passRequest(
  request: HttpRequest,
  {
    cell,
    body,
    isPlaced = false,
  }: { cell: Pick<Cell, 'cell' | 'channelUrl'>; body: Uint8Array | AsyncIterable<Uint8Array>; isPlaced?: boolean },
  { directory, links, logger }: PassingDeps,
): Promise<PassedAnswer> {
  const { method, target } = request
  // What a client has asked to be done is done also if it leaves, as where no cell is between.
  const signal = method === 'GET' ? request.signal : null
  const entered = { [ENTRY_HEADER]: directory.cell, ...(isPlaced ? { [PLACED_HEADER]: cell.cell } : {}) }
  const headers = { ...passedHeaders(request.headers, BODY_HEADERS), ...entered }
  try {
    return await links.send(cell.channelUrl, { method, target, headers, signal }, body)
  } catch (error) {
    logger.warn('Another cell cannot be reached', {
      cell: cell.cell,
      request_id: givenRequestId(request.headers),
      error,
    })
    throw error
  }
}

/** Selects what the functions have signed, the signature, and what the body or handshake needs. */
export function passedHeaders(headers: RequestHead['headers'], others: readonly string[]): Record<string, string> {
  const passed = signedHeaders(headers)
  for (const name of [SIGNATURE_HEADER, ...others]) {
    const value = headerOf(headers, name)
    if (value !== undefined) passed[name] = value
  }
  return passed
}

/** Returns the answer of another cell as one of this. */
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

/** Reads the whole of an answer of another cell, and returns it as one of this. */
export async function wholePassedResponse(
  answer: Omit<PassedAnswer, 'body'> & { body: AsyncIterable<Uint8Array> },
): Promise<HttpResponse> {
  const pieces: Uint8Array[] = []
  for await (const piece of answer.body) pieces.push(piece)
  return { ...passedResponse({ ...answer, body: null }), body: Buffer.concat(pieces) }
}

/** Reads what is left of an answer, so that its connection can be used again. */
export function discard({ body }: Pick<HttpResponse, 'body'>): void {
  if (body instanceof Readable) body.on('error', () => undefined).resume()
}

/** Returns how a body is read that has been read already. */
export function readAlready(body: Uint8Array): Pick<HttpRequest, 'readBody' | 'openBody'> {
  return {
    readBody: async () => body,
    openBody: async function* () {
      yield body
    },
  }
}

/** Header of a request that has been passed on, with the number of the cell that it has entered by. Never accepted from a client. */
export const ENTRY_HEADER = 'x-boxyard-entry'

const BODY_HEADERS = ['content-length']
const OF_CONNECTION: ReadonlySet<string> = new Set(['connection', 'keep-alive', 'transfer-encoding', 'date'])
