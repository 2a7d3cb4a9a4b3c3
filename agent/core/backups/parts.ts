import { type BackupPart, partName } from '../../../shared/backup-manifest.ts'
import { digestPieces } from '../../../shared/http/digest-pieces.ts'
import type { BackupStore, StoredBytes } from '../../ports/backups/store.ts'

export interface Upload {
  store: BackupStore
  /** Directory of the backup in the store, with a trailing slash. */
  directory: string
  stream: AsyncIterable<Uint8Array>
  /** Parts that an earlier run stored. */
  known: readonly BackupPart[]
  signal: AbortSignal
  /** Called with all parts each time one more is stored. */
  onPart(parts: readonly BackupPart[]): Promise<void>
  /** Called with the number of bytes stored, or found stored. */
  onBytes(count: number): void
}

/**
 * Cuts a stream into parts and stores them, at most two at once. While one is made durable and verified, it writes the next. Skips the
 * known parts if the stream begins with them and the store still holds them. Returns `changed` if not, and the upload must restart without
 * them. Rejects only after all writes have ended.
 */
export async function uploadParts(upload: Upload): Promise<BackupPart[] | 'changed'> {
  const cutter = createCutter(upload.stream)
  try {
    if (!(await passKnown(upload, cutter))) return 'changed'
    return await storeRest(upload, cutter)
  } finally {
    await cutter.close()
  }
}

/** Checks that the stream begins with the known parts and that the store holds them. */
async function passKnown({ store, directory, known, signal, onBytes }: Upload, cutter: Cutter): Promise<boolean> {
  for (const before of known) {
    signal.throwIfAborted()
    if (!(await cutter.hasMore())) return false
    const part = { name: before.name, ...(await digestPieces(cutter.take(before.sizeBytes), signal)) }
    if (!(isSame(part, before) && (await holdsPart(store, { directory, part, signal })))) return false
    onBytes(part.sizeBytes)
  }
  return true
}

async function storeRest(upload: Upload, cutter: Cutter): Promise<BackupPart[]> {
  const { store, directory, known, signal, onPart, onBytes } = upload
  const parts = [...known]
  const ending = new AbortController()
  const until = AbortSignal.any([signal, ending.signal])
  const note = async (name: string, putting: Promise<StoredBytes>, before: Promise<void>): Promise<void> => {
    const stored = await putting
    await before
    parts.push({ name, ...stored })
    onBytes(stored.sizeBytes)
    await onPart(parts)
  }
  let last: Promise<void> = Promise.resolve()
  let settled: Promise<unknown> = last
  try {
    for (let index = known.length; await cutter.hasMore(); index++) {
      signal.throwIfAborted()
      const name = partName(index)
      const { promise: isTaken, resolve: taken } = Promise.withResolvers<void>()
      const putting = store.put(directory + name, notifyEnd(cutter.take(PART_BYTES), taken), until)
      const before = last
      last = note(name, putting, before)
      settled = Promise.allSettled([settled, putting, last]).then(() => undefined)
      await Promise.all([Promise.race([isTaken, putting]), before])
    }
    await last
    return parts
  } catch (error) {
    ending.abort(error)
    throw error
  } finally {
    await settled
  }
}

async function* notifyEnd(pieces: AsyncIterable<Uint8Array>, onEnd: () => void): AsyncGenerator<Uint8Array> {
  yield* pieces
  onEnd()
}

/** Checks that the store holds exactly the bytes of `part` in `directory`. */
export async function holdsPart(
  store: BackupStore,
  { directory, part, signal }: { directory: string; part: BackupPart; signal: AbortSignal },
): Promise<boolean> {
  const held = await store.digest(directory + part.name, signal)
  return held !== null && isSame({ name: part.name, ...held }, part)
}

function isSame(one: BackupPart, other: BackupPart): boolean {
  return one.name === other.name && one.sizeBytes === other.sizeBytes && one.sha256 === other.sha256
}

interface Cutter {
  hasMore(): Promise<boolean>
  /** Yields the next bytes, at most `limit`. */
  take(limit: number): AsyncGenerator<Uint8Array>
  close(): Promise<void>
}

function createCutter(stream: AsyncIterable<Uint8Array>): Cutter {
  const source = stream[Symbol.asyncIterator]()
  let rest: Uint8Array = new Uint8Array(0)
  const hasMore = async (): Promise<boolean> => {
    while (rest.length === 0) {
      const next = await source.next()
      if (next.done) return false
      rest = next.value
    }
    return true
  }
  return {
    hasMore,
    take: async function* (limit) {
      for (let left = limit; left > 0 && (await hasMore()); ) {
        const piece = rest.subarray(0, left)
        rest = rest.subarray(piece.length)
        left -= piece.length
        yield piece
      }
    },
    close: async () => void (await source.return?.()),
  }
}

/** Size of a part, the last one aside. */
export const PART_BYTES = 64 * 1024 ** 2
