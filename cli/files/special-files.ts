import type { BoxHandle, Boxyard } from '../../sdk/typescript/src/boxyard.ts'
import { pathFields, pathOf } from '../../sdk/typescript/src/byte-names.ts'

/** Calls `onFound` for each socket and device below a directory of a box, down to 64 levels, with its path there and its kind. */
export async function nameSpecialFiles(
  { boxyard, box }: { boxyard: Boxyard; box: BoxHandle },
  directory: string,
  onFound: (path: string, kind: string) => void,
): Promise<void> {
  const query = { ...pathFields(directory), recursive: true, max_results: LIST_MAX }
  const path = { project: box.project, name: box.name }
  for await (const file of boxyard.list('listFiles', { path, query }))
    if (KINDS.has(file.type)) onFound(pathOf(file), file.type)
}

const KINDS: ReadonlySet<string> = new Set(['socket', 'character', 'block'])
const LIST_MAX = 10_000
