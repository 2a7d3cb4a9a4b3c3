import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/** A part of a directory that takes minutes to build. */
export interface DirectoryPart {
  /** Names its stamp. */
  name: string
  /** Writes its files into a directory, which holds the files of earlier parts and may hold unfinished ones of its own. */
  make(target: string): Promise<void>
}

/**
 * Builds a directory from its parts, one after another. An interrupted run leaves its finished parts to the next one. Removes unfinished
 * directories of other runs beside it.
 */
export async function makeInParts(directory: string, parts: readonly DirectoryPart[]): Promise<void> {
  const unfinished = `${directory}${UNFINISHED}`
  const target = join(unfinished, 'made')
  mkdirSync(target, { recursive: true })
  for (const name of readdirSync(dirname(directory))) {
    if (!name.endsWith(UNFINISHED) || name === basename(unfinished)) continue
    removeUnfinished(join(dirname(directory), name))
  }
  for (const { name, make } of parts) {
    const stamp = join(unfinished, `${name}.finished`)
    if (existsSync(stamp)) continue
    await make(target)
    writeFileSync(stamp, '')
  }
  renameSync(target, directory)
  removeUnfinished(unfinished)
}

/** Removes a directory of an interrupted run, in which a compiler or installer may still be writing a last file. */
export function removeUnfinished(path: string): void {
  rmSync(path, { recursive: true, force: true, maxRetries: 5 })
}

const UNFINISHED = '.unfinished'
