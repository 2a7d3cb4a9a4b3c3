import { createHash } from 'node:crypto'
import { type BackupPart, backupOwnerOf } from '../../../shared/backup-manifest.ts'
import { piecesByTurns } from '../../../shared/pulled-flow.ts'
import type { BackupStore } from '../../ports/backups/store.ts'
import { type ChainLink, damaged } from './catalog.ts'
import { holdsPart } from './parts.ts'

export interface ChainReading {
  signal: AbortSignal
  /** Receives every byte twice, once for verification and once for the reader. */
  onBytes(count: number): void
}

/**
 * Reads the streams of a chain of backups, the full one first. Yields no byte of a part before the digest of the whole part was
 * verified, which it does while the part before is read.
 * @throws ServiceError `backup_damaged` that names the first part that is missing or altered
 */
export async function* readChain(
  store: BackupStore,
  chain: readonly ChainLink[],
  reading: ChainReading,
): AsyncGenerator<AsyncIterable<Uint8Array>> {
  const entries = chain.flatMap(({ directory, parts }) => parts.map((part) => ({ directory, part })))
  const checks = new Map<BackupPart, Promise<void>>()
  const verify = (index: number): void => {
    const entry = entries[index]
    if (entry === undefined || checks.has(entry.part)) return
    const check = verifyPart(store, entry, reading)
    // Its reader awaits it and gets the error.
    check.catch(() => undefined)
    checks.set(entry.part, check)
  }
  let index = 0
  async function* readLink({ directory, parts }: ChainLink): AsyncGenerator<Uint8Array> {
    for (const part of parts) {
      verify(index)
      await checks.get(part)
      verify(++index)
      yield* readPart(store, { directory, part }, reading)
    }
  }
  for (const link of chain) yield readLink(link)
}

interface PartPosition {
  directory: string
  part: BackupPart
}

async function verifyPart(
  store: BackupStore,
  { directory, part }: PartPosition,
  { signal, onBytes }: ChainReading,
): Promise<void> {
  if (!(await holdsPart(store, { directory, part, signal }))) throw damaged(directory + part.name)
  onBytes(part.sizeBytes)
}

async function* readPart(
  store: BackupStore,
  { directory, part }: PartPosition,
  { signal, onBytes }: ChainReading,
): AsyncGenerator<Uint8Array> {
  const pieces = await store.get(directory + part.name, signal)
  if (pieces === null) throw damaged(directory + part.name)
  const digest = createHash('sha256')
  for await (const piece of piecesByTurns(pieces, backupOwnerOf(directory))) {
    onBytes(piece.length)
    digest.update(piece)
    yield piece
  }
  // It may have been altered after it was verified.
  if (digest.digest('hex') !== part.sha256) throw damaged(directory + part.name)
}
