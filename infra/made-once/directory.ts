import { existsSync, mkdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { hostCache } from '../cluster/host-cache.ts'
import { withLock } from '../cluster/host-lock.ts'
import { removeUnfinished } from './parts.ts'

/** Programs that tests use and that are built once on a machine. */
export interface MadeOnce {
  /** Names their directory, `boxyard-<name>`. */
  name: string
  /** Hash of all inputs. A change rebuilds them. */
  hash: string
  /** Returns why they cannot be built here, or null if they can. Called only if they do not exist yet. */
  findObstacle(): string | null
  /** Builds them in an empty directory. It is moved to the returned path afterwards. */
  make(directory: string): Promise<void>
  /** Shows a line to the waiting user. */
  say(text: string): void
}

/** Returns the directory of the programs, outside the checkout. Builds them on first use, in one process at a time. */
export async function findMadeOnce(wanted: MadeOnce): Promise<string | { obstacle: string }> {
  const { name, hash, say } = wanted
  const directory = join(hostCache(name), hash.slice(0, 16))
  if (existsSync(directory)) return directory
  const obstacle = wanted.findObstacle()
  if (obstacle !== null) return { obstacle }
  const make = async (): Promise<string> => {
    // Another process may have built them while this one waited.
    if (existsSync(directory)) return directory
    const unfinished = `${directory}.unfinished`
    removeUnfinished(unfinished)
    mkdirSync(unfinished, { recursive: true })
    await wanted.make(unfinished)
    renameSync(unfinished, directory)
    return directory
  }
  return await withLock(name, make, { what: name, say })
}
