import { randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Paths of local files that buffer writes to a box. */
export interface Drafts {
  /** Returns an unused path. */
  newPath(): string
  /** Removes all of them at once. */
  remove(): void
}

/** Creates a directory for drafts on first use. It is on disk, because `/tmp` of this machine can be memory. */
export function createDrafts(): Drafts {
  let directory: string | null = null
  const place = tmpdir() === '/tmp' && existsSync('/var/tmp') ? '/var/tmp' : tmpdir()
  return {
    newPath: () => {
      directory ??= mkdtempSync(join(place, 'boxyard-ssh-'))
      return join(directory, randomBytes(8).toString('hex'))
    },
    remove: () => {
      if (directory !== null) rmSync(directory, { recursive: true, force: true })
      directory = null
    },
  }
}
