import { closeSync, fdatasync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { shareRuns } from '../../../shared/locks.ts'
import { syncPath } from '../../lib/disk/durable-file.ts'

/** The write-ahead log of an open database. */
export interface Wal {
  /** Syncs all writes of SQLite so far to the disk, off the main thread. Calls during a sync share the next. */
  sync(): Promise<void>
  /** Call it after the database was closed. */
  close(): void
}

/**
 * Opens the write-ahead log of the open database at `path`, which SQLite keeps until its last connection closes. Its name is durable
 * on return.
 */
export function openWal(path: string): Wal {
  syncPath(dirname(path))
  // Locks of SQLite are on the other two files, so closing this descriptor drops none.
  const fd = openSync(`${path}-wal`, 'r')
  return { sync: shareRuns(() => syncData(fd)), close: () => closeSync(fd) }
}

const syncData = promisify(fdatasync)
