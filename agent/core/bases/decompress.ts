import { PassThrough, type Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { constants, createGunzip, createZstdDecompress } from 'node:zlib'
import { ServiceError } from '../../../shared/errors.ts'
import { refusal } from '../../../shared/refusals.ts'
import { invalidRequest } from '../../../shared/validate.ts'

/**
 * Decompresses `source` if it begins like gzip or zstd, else passes it on. Holds one piece at a time.
 * @throws the errors of `source`, `invalid_request` for damaged or truncated data, `body_too_large` for an output of more than
 * `maxBytes`, or of more than 256 MiB and 100 times the input. A few bytes must not cost minutes
 */
export async function* decompress(source: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array> {
  let [read, total] = [0, 0]
  const counted = counting(source, (length) => {
    read += length
  })
  for await (const bytes of uncompressed(counted)) {
    total += bytes.length
    if (total > maxBytes) throw tooLarge(maxBytes)
    if (total > Math.max(FREE_BYTES, read * RATIO_MAX)) throw tooDense(read)
    yield bytes
  }
}

async function* counting(
  source: AsyncIterable<Uint8Array>,
  count: (length: number) => void,
): AsyncGenerator<Uint8Array> {
  for await (const bytes of source) {
    count(bytes.length)
    yield bytes
  }
}

async function* uncompressed(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const faults: unknown[] = []
  const pieces = recordFaults(source, faults)[Symbol.asyncIterator]()
  const head = await takeHead(pieces)
  const stream = decompressorOf(head)
  const done = pipeline(rest(head, pieces), stream)
  // The reader of `stream` gets this error.
  done.catch(() => undefined)
  try {
    for await (const bytes of stream) yield bytes as Buffer
  } catch (error) {
    if (faults.length > 0) throw faults[0]
    throw damaged(error)
  } finally {
    stream.destroy()
    await done.catch(() => undefined)
  }
}

function decompressorOf(head: Buffer): Transform {
  if (head.subarray(0, GZIP.length).equals(GZIP)) return createGunzip()
  if (!head.subarray(0, ZSTD.length).equals(ZSTD)) return new PassThrough()
  return createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: WINDOW_LOG_MAX } })
}

async function takeHead(pieces: AsyncIterator<Uint8Array>): Promise<Buffer> {
  let head = Buffer.alloc(0)
  while (head.length < ZSTD.length) {
    const next = await pieces.next()
    if (next.done === true) break
    head = Buffer.concat([head, next.value])
  }
  return head
}

async function* rest(head: Buffer, pieces: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    if (head.length > 0) yield head
    for (let next = await pieces.next(); next.done !== true; next = await pieces.next()) yield next.value
  } finally {
    await pieces.return?.()
  }
}

// Keeps the error of the source, because a destroyed stream fails with another one.
async function* recordFaults(source: AsyncIterable<Uint8Array>, faults: unknown[]): AsyncGenerator<Uint8Array> {
  try {
    yield* source
  } catch (error) {
    faults.push(error)
    throw error
  }
}

function damaged(cause: unknown): ServiceError {
  const { message, errors = [] } = invalidRequest([{ pointer: '', detail: 'is damaged or incomplete' }])
  return new ServiceError('invalid_request', message, { cause, errors })
}

function tooLarge(maxBytes: number): ServiceError {
  return refusal('body_too_large', [`Unpacked, it has more than ${maxBytes} bytes.`, 'Leave files out of it.'])
}

function tooDense(bytes: number): ServiceError {
  const detail = `Its first ${bytes} bytes unpack to more than ${RATIO_MAX} times as much.`
  return refusal('body_too_large', [
    detail,
    'Send an archive of fewer zeros or repetitions, or one that is not compressed.',
  ])
}

const FREE_BYTES = 256 * 1024 ** 2
const RATIO_MAX = 100
const GZIP = Buffer.from([0x1f, 0x8b])
const ZSTD = Buffer.from([0x28, 0xb5, 0x2f, 0xfd])
// 128 MiB, the default of every decoder. A larger window would let the archive choose how much memory is taken.
const WINDOW_LOG_MAX = 27
