import { createHash } from 'node:crypto'
import type { BackupPart } from '../../../shared/backup-manifest.ts'
import type { BackupStore } from '../../ports/backups/store.ts'
import { type ChainLink, damaged } from './catalog.ts'
import { holdsPart } from './parts.ts'

export interface ChainReading {
  signal: AbortSignal
  /** Told of each byte twice: when it was looked at, and when it is taken. */
  onBytes(count: number): void
}

/**
 * The streams of a chain of backups. No byte of a part is given before the whole part was read and found to be as it was stored,
 * which is done while the part before it is taken.
 * @throws ServiceError `backup_damaged` that names the first part that is missing or altered
 */
export async function* readChain(
  store: BackupStore,
  chain: readonly ChainLink[],
  reading: ChainReading,
): AsyncGenerator<AsyncIterable<Uint8Array>> {
  const places = chain.flatMap(({ directory, parts }) => parts.map((part) => ({ directory, part })))
  const proofs = new Map<BackupPart, Promise<void>>()
  const prove = (index: number): void => {
    const place = places[index]
    if (place === undefined || proofs.has(place.part)) return
    const proof = provePart(store, place, reading)
    // Whoever comes to that part is told.
    proof.catch(() => undefined)
    proofs.set(place.part, proof)
  }
  let index = 0
  async function* readLink({ directory, parts }: ChainLink): AsyncGenerator<Uint8Array> {
    for (const part of parts) {
      prove(index)
      await proofs.get(part)
      prove(++index)
      yield* readPart(store, { directory, part }, reading)
    }
  }
  for (const link of chain) yield readLink(link)
}

interface PartPlace {
  directory: string
  part: BackupPart
}

async function provePart(
  store: BackupStore,
  { directory, part }: PartPlace,
  { signal, onBytes }: ChainReading,
): Promise<void> {
  if (!(await holdsPart(store, { directory, part, signal }))) throw damaged(directory + part.name)
  onBytes(part.sizeBytes)
}

async function* readPart(
  store: BackupStore,
  { directory, part }: PartPlace,
  { signal, onBytes }: ChainReading,
): AsyncGenerator<Uint8Array> {
  const pieces = await store.get(directory + part.name, signal)
  if (pieces === null) throw damaged(directory + part.name)
  const digest = createHash('sha256')
  for await (const piece of pieces) {
    onBytes(piece.length)
    digest.update(piece)
    yield piece
  }
  // It may have been altered since it was looked at.
  if (digest.digest('hex') !== part.sha256) throw damaged(directory + part.name)
}
