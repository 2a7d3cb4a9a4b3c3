import { readdirSync, rmdirSync, rmSync } from 'node:fs'
import { extname, join } from 'node:path'

/**
 * Removes the files of installed packages that no program loads: types, maps, sources in C, documents. They are half of the files of a
 * release, and most of its installation time. Licences stay.
 */
export function dropUnloadedFiles(packages: string): void {
  for (const entry of readdirSync(packages, { withFileTypes: true })) {
    const path = join(packages, entry.name)
    if (entry.isDirectory()) {
      dropUnloadedFiles(path)
      if (readdirSync(path).length === 0) rmdirSync(path)
    } else if (entry.isFile() && !isKept(entry.name)) rmSync(path)
  }
}

// A name without an extension may be a program.
function isKept(name: string): boolean {
  return LOADED.has(extname(name)) || LICENCE.test(name) || (extname(name) === '' && !name.startsWith('.'))
}

/** File types that Node.js loads from a package. It loads no TypeScript below `node_modules`. */
const LOADED: ReadonlySet<string> = new Set(['.js', '.cjs', '.mjs', '.json', '.node', '.wasm'])
const LICENCE = /licen[cs]e|copying|copyright|notice|patents/i
