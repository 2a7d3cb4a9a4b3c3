import { Readable } from 'node:stream'
import { setImmediate as nextRound } from 'node:timers/promises'
import type * as Sdk from '@aws-sdk/client-s3'

/** An S3 endpoint, addressed by path. `prefix` precedes all names, without a slash at its end. */
export interface S3Location {
  endpoint: string
  bucket: string
  region: string
  prefix: string
  keys: { accessKeyId: string; secretAccessKey: string }
  /** Attempts per request of a call with a signal. Other calls make at most three. The waits between are 0.1 s, doubled up to 20 s. */
  attempts: number
  /** Time-out in ms for an answer to begin, and between its pieces. */
  timeoutMs: number
}

/** Creates a client that never hashes or sends a whole body at once, because 8 MiB would stop the event loop for tens of milliseconds. */
export function createS3Client(sdk: typeof Sdk, location: S3Location, maxAttempts: number): Sdk.S3Client {
  const { endpoint, region, keys, timeoutMs } = location
  const client = new sdk.S3Client({
    endpoint,
    region,
    credentials: keys,
    forcePathStyle: true,
    maxAttempts,
    requestHandler: { connectionTimeout: timeoutMs, requestTimeout: timeoutMs, throwOnRequestTimeout: true },
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  })
  const { middlewareStack } = client
  middlewareStack.add((next) => (args) => next(args).catch(throwMarked), { step: 'deserialize', priority: 'high' })
  middlewareStack.add((next) => (args) => next({ ...args, request: withDigest(args) }), { step: 'build' })
  // After the signature and within each attempt, since the SDK does not retry a body that is a stream.
  middlewareStack.add((next) => (args) => next({ ...args, request: withSlices(args) }), { step: 'deserialize' })
  return client
}

/** Makes the SDK retry a write that a file-based server, such as versitygw, refused because a concurrent delete emptied its directory. */
function throwMarked(error: Error): never {
  throw error.name === 'ExistingObjectIsDirectory' ? Object.assign(error, { $retryable: {} }) : error
}

interface Sending {
  input: object
  request: unknown
}

/** Gives the signature the digest of the body that the input has. Without it the SDK hashes the body itself. */
function withDigest({ input, request }: Sending): unknown {
  const { ChecksumSHA256: sha256 } = input as { ChecksumSHA256?: string }
  if (sha256 === undefined) return request
  const { headers } = request as { headers: Record<string, string> }
  headers['x-amz-content-sha256'] = Buffer.from(sha256, 'base64').toString('hex')
  return request
}

/** Sends a long body in slices. */
function withSlices({ request }: Sending): unknown {
  const { body } = request as { body?: unknown }
  if (!(body instanceof Uint8Array) || body.length <= SLICE_BYTES) return request
  return { ...(request as object), body: Readable.from(slicesOf(body), { objectMode: false }) }
}

async function* slicesOf(body: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < body.length; at += SLICE_BYTES) {
    yield body.subarray(at, at + SLICE_BYTES)
    await nextRound()
  }
}

/** Bytes of a body that one round of the event loop encrypts and writes, in less than a millisecond. */
const SLICE_BYTES = 256 * 1024
