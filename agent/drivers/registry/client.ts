import { createHash } from 'node:crypto'
import type { Dispatcher } from 'undici'
import { ServiceError } from '../../../shared/errors.ts'
import { readWhole } from '../../../shared/http/gathered-pieces.ts'
import type { ImageReference } from '../../ports/bases/image-registry.ts'
import { imageFault, registryAnswerFault, registryAway } from './faults.ts'
import { resolveRegistryOrigins } from './origins.ts'
import { parseChallenge, readToken, tokenUrl } from './token.ts'
import { dropBody, openTransport, type RegistryTransport } from './transport.ts'

/** Timeouts of a registry. */
export interface RegistryTimes {
  connectMs: number
  /** For the begin of an answer, and between its pieces. */
  silenceMs: number
  /** For a whole small answer, a manifest or a token. */
  answerMs: number
  /** Waiting time for a layer in which at least `paceBytes` must arrive. */
  paceMs: number
  paceBytes: number
}

export interface RegistryClientOptions {
  reference: ImageReference
  /** Origins that the operator has allowed. */
  named: ReadonlySet<string>
  times: RegistryTimes
  now(): number
  signal: AbortSignal
}

/** A repository of a registry. Retries requests once after a broken connection. */
export interface RegistryClient {
  /** Reads a small resource below the repository. */
  read(path: string, options: { accept: string; maxBytes: number }): Promise<Buffer>
  /** Yields the bytes of a part. Throws at the end if they do not match its digest. */
  readPart(part: { digest: string; size: number }): AsyncGenerator<Uint8Array>
  close(): void
}

/** Opens a client. Sends nothing yet. */
export async function openRegistryClient(options: RegistryClientOptions): Promise<RegistryClient> {
  const { reference, times, signal } = options
  const { registry, repository } = reference
  const { origin, named } = resolveRegistryOrigins(registry, options.named)
  const transport = await openTransport({ ...times, named, signal })
  const send = createAuthorizedSender(transport, { repository, answerMs: times.answerMs, signal })
  const urlOf = (path: string): URL => new URL(`${origin}/v2/${repository}/${path}`)
  const read = async (path: string, accept: string, maxBytes: number): Promise<Buffer> => {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(times.answerMs)])
    const answer = await send(urlOf(path), { accept }, limit)
    if (answer.statusCode === 200) return readAll(answer, maxBytes)
    await dropBody(answer)
    throw registryAnswerFault(registry, answer.statusCode)
  }
  const open = async (digest: string, offset: number): Promise<Dispatcher.ResponseData> => {
    const range: Record<string, string> = offset === 0 ? {} : { range: `bytes=${offset}-` }
    const answer = await send(urlOf(`blobs/${digest}`), range, signal)
    if (answer.statusCode === 200 || (offset > 0 && isFrom(answer, offset))) return answer
    await dropBody(answer)
    throw registryAnswerFault(registry, answer.statusCode)
  }
  const attempts = { registry, signal }
  return {
    close: transport.close,
    read: (path, { accept, maxBytes }) => tryTwice(attempts, () => read(path, accept, maxBytes)),
    readPart: (part) => readVerified({ ...options, ...attempts, open }, part),
  }
}

type SendRequest = (url: URL, headers: Record<string, string>, limit: AbortSignal) => Promise<Dispatcher.ResponseData>

/**
 * Sends requests with the registry's anonymous token. Fetches the token when the registry demands one, and again once the registry refuses
 * it.
 */
function createAuthorizedSender(
  { get }: RegistryTransport,
  { repository, answerMs, signal }: { repository: string; answerMs: number; signal: AbortSignal },
): SendRequest {
  let authorization: { authorization?: string } = {}
  const fetchToken = async (challenge: string): Promise<string> => {
    const wanted = parseChallenge(challenge)
    if (wanted === null) throw imageFault('the registry does not offer this image without a login')
    const limit = AbortSignal.any([signal, AbortSignal.timeout(answerMs)])
    const answer = await get(tokenUrl(wanted, repository), { accept: 'application/json' }, limit)
    if (answer.statusCode === 200) return readToken(await readAll(answer, TOKEN_BYTES_MAX))
    await dropBody(answer)
    throw imageFault('the registry does not offer this image without a login')
  }
  return async (url, headers, limit) => {
    const first = await get(url, { ...HEADERS, ...headers, ...authorization }, limit)
    if (first.statusCode !== 401) return first
    await dropBody(first)
    const token = await fetchToken([first.headers['www-authenticate'] ?? []].flat().join(', '))
    authorization = { authorization: `Bearer ${token}` }
    return get(url, { ...HEADERS, ...headers, ...authorization }, limit)
  }
}

interface Attempts {
  registry: string
  signal: AbortSignal
}

async function tryTwice<T>(attempts: Attempts, act: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await act()
    } catch (error) {
      throwIfFinal(error, attempts, tries)
    }
  }
}

/** Returns if a retry is possible. */
function throwIfFinal(error: unknown, { registry, signal }: Attempts, tries: number): void {
  signal.throwIfAborted()
  if (error instanceof ServiceError) throw error
  if (tries >= TRIES_MAX) throw registryAway(registry, error)
}

interface PartReading extends Attempts {
  times: RegistryTimes
  now(): number
  open(digest: string, offset: number): Promise<Dispatcher.ResponseData>
}

async function* readVerified(
  reading: PartReading,
  { digest, size }: { digest: string; size: number },
): AsyncGenerator<Uint8Array> {
  const [algorithm = '', expected] = digest.split(':')
  const hash = createHash(algorithm)
  let offset = 0
  for (let tries = 1; offset < size; tries++) {
    try {
      const answer = await reading.open(digest, offset)
      if (lengthOf(answer, offset) > size) throw digestMismatch()
      for await (const piece of skip(withMinimumPace(answer.body, reading), answer.statusCode === 200 ? offset : 0)) {
        offset += piece.length
        if (offset > size) throw digestMismatch()
        hash.update(piece)
        yield piece
      }
      if (offset < size) throw new Error(`a part ended after ${offset} of ${size} bytes`)
    } catch (error) {
      throwIfFinal(error, reading, tries)
    }
  }
  if (hash.digest('hex') !== expected) throw digestMismatch()
}

/** Returns the total size of the part by the headers of `answer`. */
function lengthOf({ headers, statusCode }: Dispatcher.ResponseData, offset: number): number {
  return Number(headers['content-length'] ?? 0) + (statusCode === 206 ? offset : 0)
}

function isFrom({ statusCode, headers }: Dispatcher.ResponseData, offset: number): boolean {
  return statusCode === 206 && String(headers['content-range'] ?? '').startsWith(`bytes ${offset}-`)
}

async function* skip(pieces: AsyncIterable<Uint8Array>, bytes: number): AsyncGenerator<Uint8Array> {
  let left = bytes
  for await (const piece of pieces) {
    if (left < piece.length) yield left === 0 ? piece : piece.subarray(left)
    left = Math.max(0, left - piece.length)
  }
}

// Counts only the time spent waiting for the registry, because the consumer may be slow.
async function* withMinimumPace(body: AsyncIterable<Uint8Array>, reading: PartReading): AsyncGenerator<Uint8Array> {
  const { registry, now, times } = reading
  const pieces = body[Symbol.asyncIterator]()
  let [waitedMs, bytes] = [0, 0]
  try {
    for (;;) {
      const began = now()
      const next = await pieces.next()
      waitedMs += now() - began
      if (next.done === true) return
      bytes += next.value.length
      if (waitedMs >= times.paceMs) {
        if (bytes < times.paceBytes) throw registryAway(registry, new Error(`${bytes} bytes in ${waitedMs} ms`))
        waitedMs = bytes = 0
      }
      yield next.value
    }
  } finally {
    await pieces.return?.()
  }
}

function readAll({ body }: Dispatcher.ResponseData, maxBytes: number): Promise<Buffer> {
  const tooLong = (): Error => imageFault(`the registry answers with more than ${maxBytes} bytes where that cannot be`)
  return readWhole(body, { maxBytes, tooLong })
}

function digestMismatch(): ServiceError {
  return imageFault('the registry sent data that does not match the digests of the image')
}

const HEADERS = { 'user-agent': 'boxyard' }
const TOKEN_BYTES_MAX = 64 * 1024
const TRIES_MAX = 2
