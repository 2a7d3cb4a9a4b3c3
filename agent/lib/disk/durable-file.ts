import { randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, linkSync, openSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { RENAME, renameBetween } from '../syscalls/files.ts'
import { isErrno } from '../syscalls/libc.ts'
import { AT } from '../syscalls/mounts.ts'

/**
 * Writes a whole file of mode 0600 atomically and durably. After a crash it holds the old text or the new one. Concurrent writers do not
 * disturb each other. The last one wins.
 */
export function writeDurably(path: string, text: string): void {
  const draft = `${path}.${randomBytes(8).toString('hex')}.new`
  try {
    writeFileSync(draft, text, { flag: 'wx', mode: 0o600 })
    moveDurably(draft, path)
  } catch (error) {
    rmSync(draft, { force: true })
    throw error
  }
}

/** Syncs the file `draft` and renames it over `path` in the same directory. The rename is durable on return. */
export function moveDurably(draft: string, path: string): void {
  syncPath(draft)
  renameSync(draft, path)
  syncPath(dirname(path))
}

/**
 * Gives the file `draft` the name `path` unless that is taken (EEXIST). Uses renameat2(2), which works on vfat and without hard links.
 * Falls back to link(2), for NFS and where renames have no flags. `draft` may stay.
 */
export function renameToFree(draft: string, path: string): void {
  try {
    const names = { fromFd: AT.FDCWD, fromName: draft, toFd: AT.FDCWD, toName: path }
    renameBetween({ ...names, flags: RENAME.NOREPLACE })
  } catch (error) {
    if (!isErrno(error, 'EINVAL')) throw error
    linkSync(draft, path)
  }
}

/** Removes the drafts of killed writers from `directory`. No writer may be active there. */
export function removeDrafts(directory: string): void {
  for (const name of readdirSync(directory)) {
    if (DRAFT.test(name)) rmSync(join(directory, name), { force: true })
  }
}

/** Syncs a file or directory to the disk. */
export function syncPath(path: string): void {
  const fd = openSync(path, 'r')
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

const DRAFT = /\.new$/
