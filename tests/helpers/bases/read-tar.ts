import { createTarReader, type TarEntry } from '../../../agent/lib/tar/reader.ts'
import type { Steps } from '../../../agent/lib/threads/task.ts'
import { type RawTarEntry, tarOf } from './hostile-tar.ts'

/** An entry and its content, with one character per byte. */
export type ReadTarEntry = TarEntry & { content: string }

/** Reads an archive that arrives in chunks of `size` bytes. */
export function readTar(archive: Uint8Array, size = archive.length, mustPause = () => false): ReadTarEntry[] {
  let at = 0
  // biome-ignore lint/correctness/useYield: it never waits
  const hear = function* (): Steps<Uint8Array | null> {
    if (at >= archive.length) return null
    at += size
    return archive.subarray(at - size, at)
  }
  const reader = createTarReader({ receive: hear, mustPause })
  const entries: ReadTarEntry[] = []
  const steps = (function* (): Steps<void> {
    for (let entry = yield* reader.next(); entry !== null; entry = yield* reader.next()) {
      let content = ''
      for (let piece = yield* reader.read(); piece !== null; piece = yield* reader.read())
        content += piece.toString('latin1')
      entries.push({ ...entry, content })
    }
    yield* reader.drain()
  })()
  for (let step = steps.next(); step.done !== true; step = steps.next());
  return entries
}

/** Packs these entries into an archive and returns the first entry read from it. */
export const readFirstOf = (...raw: RawTarEntry[]): ReadTarEntry => readTar(tarOf(raw))[0] as ReadTarEntry
