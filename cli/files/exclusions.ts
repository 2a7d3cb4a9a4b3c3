import { existsSync } from 'node:fs'
import { join } from 'node:path'
import ignore from 'ignore'
import type { Exclusion } from './local-tree.ts'
import { readRegularFile } from './regular-file.ts'

/** Creates the exclusion from patterns and the `.boxyardignore` of a directory, both in the form of a `.gitignore`. */
export function exclusionOf(directory: string, patterns: readonly string[]): Exclusion {
  const file = join(directory, '.boxyardignore')
  const lines = existsSync(file) ? readRegularFile(file).split(/\r?\n/) : []
  const all = [...lines, ...patterns].filter((line) => line.trim() !== '')
  if (all.length === 0) return () => false
  const rules = ignore().add(all)
  return (path, isDirectory) => rules.ignores(isDirectory ? `${path}/` : path)
}
