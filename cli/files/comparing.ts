import { createHash, type Hash } from 'node:crypto'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream as NodeStream } from 'node:stream/web'
import { extract } from 'tar-stream'
import type { BoxHandle } from '../../sdk/typescript/src/boxyard.ts'
import { bytesOfText, textOfBytes } from '../../sdk/typescript/src/byte-names.ts'
import { atPath, withPath } from './local-input.ts'
import type { LocalEntry } from './local-tree.ts'
import { openScannedFile } from './regular-file.ts'
import { orNull } from './remote-path.ts'

/** Returns the local files whose content differs from the box's files of the same path and size. Reads those from the box in one tar. */
export async function differingFiles(
  { box, from, to }: { box: BoxHandle; from: string; to: string },
  local: readonly LocalEntry[],
): Promise<Set<string>> {
  const files = new Map(local.filter(({ kind }) => kind === 'file').map((entry) => [entry.path, entry.sizeBytes]))
  const differing = new Set<string>()
  const archive = await orNull(box.readArchive(to))
  if (archive === null) return differing
  const entries = extract(NAMES_AS_BYTES)
  const compare = async (): Promise<void> => {
    for await (const entry of entries) {
      const { pax } = entry.header as { pax?: Record<string, string> | null }
      const sparsePath = pax?.['GNU.sparse.name']
      // A name in pax is text, and any other comes as its bytes.
      const name = pax?.['path'] ?? textOfBytes(Buffer.from(entry.header.name, 'latin1'))
      const path = (sparsePath ?? name).replace(/^\.\//, '')
      const theirs = await digestOf(entry)
      // The archive omits the holes of a sparse file, so the file counts as different.
      if (sparsePath !== undefined) for (const known of files.keys()) if (isNamed(known, path)) differing.add(known)
      if (entry.header.type !== 'file' || files.get(path) !== entry.header.size) continue
      const place = join(from, path)
      const file = await atPath(place, openScannedFile(place))
      if (file === null || (await digestOf(withPath(place, file.createReadStream()))) !== theirs) differing.add(path)
    }
  }
  await Promise.all([pipeline(Readable.fromWeb(archive as NodeStream), entries), compare()])
  return differing
}

/** Returns whether a path is the sparse file's, whose record has lost bytes that are not UTF-8. */
function isNamed(path: string, recorded: string): boolean {
  return Buffer.from(bytesOfText(path)).toString() === recorded
}

async function digestOf(content: AsyncIterable<unknown>): Promise<string> {
  const hash: Hash = createHash('sha256')
  for await (const piece of content) hash.update(piece as Uint8Array)
  return hash.digest('hex')
}

/** An option that the types of tar-stream lack. */
const NAMES_AS_BYTES: NonNullable<Parameters<typeof extract>[0]> & { filenameEncoding: string } = {
  filenameEncoding: 'latin1',
}
