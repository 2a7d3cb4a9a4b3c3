import { writeFileSync } from 'node:fs'
import { tryReadText } from '../../lib/disk/file-text.ts'

/** Returns the secret text stored in a file, kept over restarts, or stores a new one. */
export function keptText(file: string, create: () => string): string {
  const kept = tryReadText(file)
  if (kept !== '') return kept
  const text = create()
  writeFileSync(file, text, { mode: 0o600 })
  return text
}
