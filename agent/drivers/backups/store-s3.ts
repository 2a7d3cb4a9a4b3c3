import { createHash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type * as Sdk from '@aws-sdk/client-s3'
import { backupOwnerOf } from '../../../shared/backup-manifest.ts'
import type { ServiceError } from '../../../shared/errors.ts'
import { digestPieces } from '../../../shared/http/digest-pieces.ts'
import { piecesByTurns } from '../../../shared/pulled-flow.ts'
import type { BackupStore, StoredBytes, StoredObject } from '../../ports/backups/store.ts'
import { type Block, cutBlocks, EMPTY_BLOCK } from './blocks.ts'
import { storeFault } from './faults.ts'
import { segmentsOf } from './names.ts'
import { createS3Client, type S3Location } from './s3-client.ts'

/**
 * Opens a backup store in an existing S3 bucket. Sends objects above 8 MiB in blocks of that size. Retries each block separately, and sends
 * its SHA-256, so that the store refuses other bytes. Holds one block per object under way in memory.
 */
export async function openS3Store(location: S3Location): Promise<BackupStore> {
  // Loaded on demand, because it takes a quarter of a second.
  const sdk = await import('@aws-sdk/client-s3')
  const { attempts } = location
  // Background work outlasts an unreachable endpoint. A waiting client gets the error soon.
  const patient = createS3Client(sdk, location, attempts)
  const prompt = createS3Client(sdk, location, Math.min(attempts, PROMPT_ATTEMPTS))
  const work = { sdk, client: patient, location }
  const bucket = { sdk, client: prompt, location }
  return {
    kind: 's3',
    put: (name, pieces, signal) => withFaults(() => putObject(signal ? work : bucket, { name, pieces, signal })),
    get: (name, signal) => withFaults(() => getObject(signal ? work : bucket, name, signal)),
    digest: (name, signal) =>
      withFaults(async () => {
        const pieces = await getObject(signal ? work : bucket, name, signal)
        return pieces && digestPieces(piecesByTurns(pieces, backupOwnerOf(name)))
      }),
    list: (prefix) => listObjects(bucket, prefix),
    delete: (name) =>
      withFaults(async () => void (await prompt.send(new sdk.DeleteObjectCommand(addressOf(bucket, name))))),
    close: async () => {
      for (const client of [patient, prompt]) client.destroy()
    },
  }
}

interface Bucket {
  sdk: typeof Sdk
  client: Sdk.S3Client
  location: S3Location
}

function until(signal: AbortSignal | undefined): { abortSignal?: AbortSignal } {
  return signal ? { abortSignal: signal } : {}
}

interface Address {
  Bucket: string
  Key: string
}

function addressOf({ location }: Bucket, name: string): Address {
  segmentsOf(name)
  return { Bucket: location.bucket, Key: location.prefix === '' ? name : `${location.prefix}/${name}` }
}

interface Content {
  name: string
  pieces: AsyncIterable<Uint8Array>
  signal: AbortSignal | undefined
}

async function putObject(bucket: Bucket, { name, pieces, signal }: Content): Promise<StoredBytes> {
  const { sdk, client } = bucket
  const address = addressOf(bucket, name)
  const whole = createHash('sha256')
  const blocks = cutBlocks(watchPieces(pieces, (piece) => whole.update(piece)))
  const first = (await blocks.next()).value ?? EMPTY_BLOCK
  const second = await blocks.next()
  let sizeBytes = first.bytes.length
  if (second.done) {
    const put = { ...address, Body: first.bytes, ContentLength: sizeBytes, ChecksumSHA256: first.sha256 }
    await client.send(new sdk.PutObjectCommand(put), until(signal))
  } else {
    sizeBytes = await putBlocks(bucket, address, { blocks: chain([first, second.value], blocks), signal })
  }
  const stored = await client.send(new sdk.HeadObjectCommand(address), until(signal))
  if (stored.ContentLength !== sizeBytes)
    throw new Error(`the store holds ${stored.ContentLength} bytes of ${sizeBytes}`)
  return { sizeBytes, sha256: whole.digest('hex') }
}

/** Uploads an object in blocks, and returns its size. */
async function putBlocks(
  { sdk, client }: Bucket,
  address: Address,
  { blocks, signal }: { blocks: AsyncIterable<Block>; signal: AbortSignal | undefined },
): Promise<number> {
  const begin = new sdk.CreateMultipartUploadCommand({ ...address, ChecksumAlgorithm: 'SHA256' })
  const { UploadId } = await client.send(begin, until(signal))
  try {
    const parts: { PartNumber: number; ETag: string | undefined; ChecksumSHA256: string }[] = []
    let sizeBytes = 0
    for await (const { bytes: Body, sha256: ChecksumSHA256 } of blocks) {
      const part = { ...address, UploadId, PartNumber: parts.length + 1 }
      const upload = new sdk.UploadPartCommand({ ...part, Body, ContentLength: Body.length, ChecksumSHA256 })
      const { ETag } = await client.send(upload, until(signal))
      parts.push({ PartNumber: part.PartNumber, ETag, ChecksumSHA256 })
      sizeBytes += Body.length
    }
    const whole = { ...address, UploadId, MultipartUpload: { Parts: parts } }
    await client.send(new sdk.CompleteMultipartUploadCommand(whole), until(signal))
    return sizeBytes
  } catch (error) {
    // The store would keep the blocks, and charge for them.
    await client.send(new sdk.AbortMultipartUploadCommand({ ...address, UploadId })).catch(() => undefined)
    throw error
  }
}

async function getObject(
  bucket: Bucket,
  name: string,
  signal: AbortSignal | undefined,
): Promise<AsyncIterable<Uint8Array> | null> {
  const open = (offset: number, etag: string | undefined) => openBody(bucket, name, { offset, etag, signal })
  const first = await open(0, undefined)
  return first && readOn(bucket.location, first, open)
}

interface Body {
  pieces: AsyncIterator<Uint8Array>
  etag: string | undefined
}

type OpenBody = (offset: number, etag: string | undefined) => Promise<Body | null>

async function openBody(
  bucket: Bucket,
  name: string,
  { offset, etag, signal }: { offset: number; etag: string | undefined; signal: AbortSignal | undefined },
): Promise<Body | null> {
  const { sdk, client } = bucket
  const range = offset === 0 ? {} : { Range: `bytes=${offset}-`, IfMatch: etag }
  try {
    const get = new sdk.GetObjectCommand({ ...addressOf(bucket, name), ...range })
    const { Body, ETag } = await client.send(get, until(signal))
    if (Body === undefined) throw new Error('an answer without a body')
    return { pieces: (Body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator](), etag: ETag }
  } catch (error) {
    if (error instanceof sdk.S3ServiceException && error.$metadata.httpStatusCode === 404) return null
    throw error
  }
}

// Resumes a body that breaks off from where it ended.
async function* readOn({ attempts, timeoutMs }: S3Location, first: Body, open: OpenBody): AsyncGenerator<Uint8Array> {
  let body: Body | null = first
  let [offset, failures] = [0, 0]
  try {
    for (;;) {
      try {
        body ??= await open(offset, first.etag)
        if (body === null) throw new Error('the object went while it was read')
        const next = await withinTime(body.pieces.next(), timeoutMs)
        if (next.done) return
        offset += next.value.length
        failures = 0
        yield next.value
      } catch (error) {
        await body?.pieces.return?.().catch(() => undefined)
        body = null
        if (++failures >= attempts) throw faultOf(error)
        await pause(Math.min(100 * 2 ** failures, 20_000))
      }
    }
  } finally {
    await body?.pieces.return?.().catch(() => undefined)
  }
}

async function withinTime<T>(work: Promise<T>, timeoutMs: number): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`the store sent nothing for ${timeoutMs} ms`)), timeoutMs)
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

async function* listObjects(bucket: Bucket, prefix: string): AsyncGenerator<StoredObject> {
  const { sdk, client, location } = bucket
  const before = location.prefix === '' ? '' : `${location.prefix}/`
  for (let token: string | undefined; ; ) {
    const page = { Bucket: location.bucket, Prefix: before + prefix, ...(token ? { ContinuationToken: token } : {}) }
    const listed = await withFaults(() => client.send(new sdk.ListObjectsV2Command(page)))
    for (const { Key, Size } of listed.Contents ?? []) {
      if (Key !== undefined) yield { name: Key.slice(before.length), sizeBytes: Size ?? 0 }
    }
    token = listed.NextContinuationToken
    if (!listed.IsTruncated || token === undefined) return
  }
}

async function* watchPieces(
  pieces: AsyncIterable<Uint8Array>,
  see: (piece: Uint8Array) => void,
): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) {
    see(piece)
    yield piece
  }
}

async function* chain(first: readonly Block[], rest: AsyncIterable<Block>): AsyncGenerator<Block> {
  yield* first
  yield* rest
}

async function withFaults<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    throw faultOf(error)
  }
}

/** Converts an error for clients. The logged cause names neither keys nor the signed request. */
function faultOf(error: unknown): ServiceError {
  const { name = 'Error', message, code } = error as { name?: string; message?: string; code?: string }
  return storeFault(error, FULL.has(name), new Error(`${name}: ${code ?? ''} ${message ?? ''}`))
}

/** Names of the errors of servers that are full. */
const FULL = new Set(['QuotaExceeded', 'QuotaExceededException', 'EntityTooLarge', 'XMinioStorageFull'])
const PROMPT_ATTEMPTS = 3
