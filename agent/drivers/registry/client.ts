import { createHash } from 'node:crypto'
import type { Dispatcher } from 'undici'
import { ServiceError } from '../../../shared/errors.ts'
import type { ImageReference } from '../../ports/bases/image-registry.ts'
import { imageFault, registryAnswerFault, registryAway } from './faults.ts'
import { findRegistryPlace } from './place.ts'
import { parseChallenge, readToken, tokenUrl } from './token.ts'
import { dropBody, openTransport, type RegistryTransport } from './transport.ts'

/** How long a registry is waited for. */
export interface RegistryTimes {
  connectMs: number
  /** For an answer to begin, and between its pieces. */
  silenceMs: number
  /** For all of a small answer: a manifest, a token. */
  answerMs: number
  /** Of so much waiting for a layer, each has to bring `paceBytes`. */
  paceMs: number
  paceBytes: number
}

export interface RegistryClientOptions {
  reference: ImageReference
  /** The origins that the operator has named. */
  named: ReadonlySet<string>
  times: RegistryTimes
  now(): number
  signal: AbortSignal
}

/** One repository of a registry. What a dropped connection cut off is asked for once more. */
export interface RegistryClient {
  /** All of a small thing below the repository. */
  read(path: string, wish: { accept: string; mostBytes: number }): Promise<Buffer>
  /** The bytes of a part, which are what its digest says, or else throw at their end. */
  readPart(part: { digest: string; size: number }): AsyncGenerator<Uint8Array>
  close(): void
}

/** Asks nothing yet. */
export async function openRegistryClient(options: RegistryClientOptions): Promise<RegistryClient> {
  const { reference, times, signal } = options
  const { registry, repository } = reference
  const { origin, named } = findRegistryPlace(registry, options.named)
  const transport = await openTransport({ ...times, named, signal })
  const ask = createAsking(transport, { repository, answerMs: times.answerMs, signal })
  const urlOf = (path: string): URL => new URL(`${origin}/v2/${repository}/${path}`)
  const read = async (path: string, accept: string, mostBytes: number): Promise<Buffer> => {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(times.answerMs)])
    const answer = await ask(urlOf(path), { accept }, limit)
    if (answer.statusCode === 200) return readAll(answer, mostBytes)
    await dropBody(answer)
    throw registryAnswerFault(registry, answer.statusCode)
  }
  const open = async (digest: string, offset: number): Promise<Dispatcher.ResponseData> => {
    const range: Record<string, string> = offset === 0 ? {} : { range: `bytes=${offset}-` }
    const answer = await ask(urlOf(`blobs/${digest}`), range, signal)
    if (answer.statusCode === 200 || (offset > 0 && isFrom(answer, offset))) return answer
    await dropBody(answer)
    throw registryAnswerFault(registry, answer.statusCode)
  }
  const attempts = { registry, signal }
  return {
    close: transport.close,
    read: (path, { accept, mostBytes }) => tryTwice(attempts, () => read(path, accept, mostBytes)),
    readPart: (part) => readProven({ ...options, ...attempts, open }, part),
  }
}

type Ask = (url: URL, headers: Record<string, string>, limit: AbortSignal) => Promise<Dispatcher.ResponseData>

/** Asks with the token that the registry wants from everybody, fetched when it is wanted, again once it is refused. */
function createAsking(
  { get }: RegistryTransport,
  { repository, answerMs, signal }: { repository: string; answerMs: number; signal: AbortSignal },
): Ask {
  let authorization: { authorization?: string } = {}
  const fetchToken = async (challenge: string): Promise<string> => {
    const wanted = parseChallenge(challenge)
    if (wanted === null) throw imageFault('the registry does not give this image to everybody')
    const limit = AbortSignal.any([signal, AbortSignal.timeout(answerMs)])
    const answer = await get(tokenUrl(wanted, repository), { accept: 'application/json' }, limit)
    if (answer.statusCode === 200) return readToken(await readAll(answer, TOKEN_BYTES_MAX))
    await dropBody(answer)
    throw imageFault('the registry does not give this image to everybody')
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

/** Returns where it may be tried again. */
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

async function* readProven(
  reading: PartReading,
  { digest, size }: { digest: string; size: number },
): AsyncGenerator<Uint8Array> {
  const [algorithm = '', expected] = digest.split(':')
  const hash = createHash(algorithm)
  let offset = 0
  for (let tries = 1; offset < size; tries++) {
    try {
      const answer = await reading.open(digest, offset)
      if (lengthOf(answer, offset) > size) throw notWhatItSays()
      for await (const piece of skip(atPace(answer.body, reading), answer.statusCode === 200 ? offset : 0)) {
        offset += piece.length
        if (offset > size) throw notWhatItSays()
        hash.update(piece)
        yield piece
      }
      if (offset < size) throw new Error(`a part ended after ${offset} of ${size} bytes`)
    } catch (error) {
      throwIfFinal(error, reading, tries)
    }
  }
  if (hash.digest('hex') !== expected) throw notWhatItSays()
}

/** What the registry says the part has, from what `answer` brings. */
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

// Only the waiting for the registry counts: whoever takes the pieces may be slow.
async function* atPace(body: AsyncIterable<Uint8Array>, reading: PartReading): AsyncGenerator<Uint8Array> {
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

async function readAll({ body }: Dispatcher.ResponseData, mostBytes: number): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of body as AsyncIterable<Uint8Array>) {
    bytes += piece.length
    if (bytes > mostBytes)
      throw imageFault(`the registry answers with more than ${mostBytes} bytes where that cannot be`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}

function notWhatItSays(): ServiceError {
  return imageFault('the registry gives something else than the digests of the image say')
}

const HEADERS = { 'user-agent': 'boxyard' }
const TOKEN_BYTES_MAX = 64 * 1024
const TRIES_MAX = 2
