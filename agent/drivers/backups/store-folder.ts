import { createHash } from 'node:crypto'
import fs, { mkdirSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { promisify } from 'node:util'
import { createLimiter, type Limiter } from '../../../shared/locks.ts'
import { closeFd } from '../../lib/syscalls/descriptors.ts'
import { makeDirectoryAt, O, openBelow, RESOLVE, removeAt, renameBetween } from '../../lib/syscalls/files.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'
import { AT } from '../../lib/syscalls/mounts.ts'
import { statAt } from '../../lib/syscalls/stat.ts'
import type { BackupStore, StoredBytes, StoredObject } from '../../ports/backups/store.ts'
import { digestFile, READ_BYTES } from './digest-file.ts'
import { storeFault, withStoreFaults } from './faults.ts'
import { segmentsOf } from './names.ts'

/**
 * Opens a backup store in the folder at `path`, which the first write creates. Objects are files of mode 0600 in directories of mode 0700.
 * Follows no link in it. A file gets its name once all of it is on the disk.
 */
export function openFolderStore(path: string): BackupStore {
  // A call that waits for the disk blocks one of the few libuv threads that all file calls of this process share.
  const disk = createLimiter(1)
  return {
    kind: 'folder',
    put: (name, pieces, signal) =>
      withStoreFaults(async () => {
        const { directoryFd, fd } = await openDraft(path, objectPathOf(name))
        try {
          const stored = await fillDraft(fd, { name, pieces, signal }, disk)
          const { file } = objectPathOf(name)
          renameBetween({ fromFd: directoryFd, fromName: draftOf(file), toFd: directoryFd, toName: file })
          await sync(directoryFd)
          return stored
        } catch (error) {
          removeIfThere(directoryFd, draftOf(objectPathOf(name).file))
          throw error
        } finally {
          closeFd(fd)
          closeFd(directoryFd)
        }
      }),
    get: (name, signal) =>
      withStoreFaults(async () => {
        const fd = openObject(path, objectPathOf(name))
        return fd === null ? null : readPieces(fd, signal)
      }),
    digest: (name, signal) => withStoreFaults(() => digestObject(path, name, signal)),
    list: (prefix) => listFolder(path, prefix),
    delete: (name) => withStoreFaults(() => deleteFile(path, objectPathOf(name))),
    close: async () => undefined,
  }
}

interface ObjectPath {
  directories: string[]
  file: string
}

function objectPathOf(name: string): ObjectPath {
  const segments = segmentsOf(name)
  return { directories: segments.slice(0, -1), file: segments.at(-1) ?? '' }
}

function openRoot(path: string): number {
  return openBelow(AT.FDCWD, path, { flags: O.RDONLY | O.DIRECTORY })
}

function openInside(fd: number, name: string, flags: number): number {
  return openBelow(fd, name, { flags: flags | O.NOFOLLOW, mode: (flags & O.CREAT) === 0 ? 0 : 0o600, resolve: BELOW })
}

/** Returns a descriptor of the directory at `directories`, and creates missing ones. */
async function makeDirectories(path: string, directories: readonly string[]): Promise<number> {
  let fd = openRoot(path)
  for (const name of directories) {
    const parent = fd
    try {
      try {
        makeDirectoryAt(parent, name, 0o700)
        await sync(parent)
      } catch (error) {
        if (!isErrno(error, 'EEXIST')) throw error
      }
      fd = openInside(parent, name, O.RDONLY | O.DIRECTORY)
    } finally {
      closeFd(parent)
    }
  }
  return fd
}

/** Returns a descriptor of the directory at `directories`, or null if there is none. */
function findDirectory(path: string, directories: readonly string[]): number | null {
  let root: number | null = null
  try {
    root = openRoot(path)
    return openInside(root, directories.join('/') || '.', O.RDONLY | O.DIRECTORY)
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return null
    throw error
  } finally {
    if (root !== null) closeFd(root)
  }
}

interface Content {
  name: string
  pieces: AsyncIterable<Uint8Array>
  signal: AbortSignal | undefined
}

interface Draft {
  directoryFd: number
  fd: number
}

/** Creates a file under a temporary name, in a directory that it makes if missing. */
async function openDraft(path: string, { directories, file }: ObjectPath): Promise<Draft> {
  for (let tries = 1; ; tries++) {
    let directoryFd: number | null = null
    try {
      mkdirSync(path, { recursive: true, mode: 0o700 })
      directoryFd = await makeDirectories(path, directories)
      // The temporary name follows from the object's. So a later put overwrites the leftover of a killed put, and deleting the object
      // deletes it.
      removeIfThere(directoryFd, draftOf(file))
      return { directoryFd, fd: openInside(directoryFd, draftOf(file), O.RDWR | O.CREAT | O.EXCL) }
    } catch (error) {
      if (directoryFd !== null) closeFd(directoryFd)
      // A concurrent delete may remove the directory with its last object.
      if (!isErrno(error, 'ENOENT') || tries >= TRIES) throw error
    }
  }
}

async function fillDraft(fd: number, { name, pieces, signal }: Content, disk: Limiter): Promise<StoredBytes> {
  const written = createHash('sha256')
  let length = 0
  for await (const piece of pieces) {
    signal?.throwIfAborted()
    const writing = writeAll(fd, piece, length)
    written.update(piece)
    await writing
    length += piece.length
  }
  await (length < LARGE_BYTES ? sync(fd) : disk.run(() => sync(fd)))
  const sha256 = written.digest('hex')
  const held = await digestFile(fd, name, signal)
  if (held.sizeBytes !== length || held.sha256 !== sha256) throw new Error('the disk does not hold what was written')
  return held
}

async function writeAll(fd: number, piece: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < piece.length; ) {
    const { bytesWritten } = await write(fd, piece, done, piece.length - done, position + done)
    done += bytesWritten
  }
}

/** Returns a descriptor of an object, or null if there is none. */
function openObject(path: string, { directories, file }: ObjectPath): number | null {
  const directoryFd = findDirectory(path, directories)
  if (directoryFd === null) return null
  try {
    const fd = openInside(directoryFd, file, O.RDONLY | O.NONBLOCK)
    if (fs.fstatSync(fd).isFile()) return fd
    closeFd(fd)
    throw new Error('an object is not a file')
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return null
    throw error
  } finally {
    closeFd(directoryFd)
  }
}

async function digestObject(path: string, name: string, signal: AbortSignal | undefined): Promise<StoredBytes | null> {
  const fd = openObject(path, objectPathOf(name))
  if (fd === null) return null
  try {
    return await digestFile(fd, name, signal)
  } finally {
    closeFd(fd)
  }
}

async function* readPieces(fd: number, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
  const stream = fs.createReadStream('', { fd, start: 0, highWaterMark: READ_BYTES, ...(signal && { signal }) })
  try {
    for await (const piece of stream) yield piece as Buffer
  } catch (error) {
    throw storeFault(error)
  } finally {
    stream.destroy()
  }
}

async function* listFolder(path: string, prefix: string): AsyncGenerator<StoredObject> {
  // Lists only below the last whole segment.
  const start = prefix.split('/').slice(0, -1)
  if (start.length > 0) segmentsOf(start.join('/'))
  const waiting = [start]
  for (let directories = waiting.pop(); directories !== undefined; directories = waiting.pop()) {
    const { objects, inner } = await withStoreFaults(() => readDirectory(path, directories ?? []))
    for (const object of objects) if (object.name.startsWith(prefix)) yield object
    waiting.push(
      ...inner.filter((each) => `${each.join('/')}/`.startsWith(prefix) || prefix.startsWith(each.join('/'))),
    )
  }
}

async function readDirectory(
  path: string,
  directories: readonly string[],
): Promise<{ objects: StoredObject[]; inner: string[][] }> {
  const fd = findDirectory(path, directories)
  const [objects, inner]: [StoredObject[], string[][]] = [[], []]
  if (fd === null) return { objects, inner }
  try {
    for (const entry of await readdir(`/proc/self/fd/${fd}`, { withFileTypes: true })) {
      const segments = [...directories, entry.name]
      if (entry.name.startsWith('.')) continue
      if (entry.isDirectory()) inner.push(segments)
      else if (entry.isFile()) objects.push(...objectAt(fd, entry.name, segments.join('/')))
    }
    return { objects, inner }
  } finally {
    closeFd(fd)
  }
}

// Returns nothing for a file that was deleted since it was listed.
function objectAt(fd: number, file: string, name: string): StoredObject[] {
  try {
    return [{ name, sizeBytes: statAt(fd, file).sizeBytes }]
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return []
    throw error
  }
}

async function deleteFile(path: string, { directories, file }: ObjectPath): Promise<void> {
  // Removes each directory with its last entry.
  for (let at = directories, name = file, flags = 0; ; flags = AT.REMOVEDIR) {
    const fd = findDirectory(path, at)
    if (fd === null) return
    try {
      if (flags === 0) removeIfThere(fd, draftOf(name))
      removeIfThere(fd, name, flags)
      await sync(fd)
    } catch (error) {
      if (flags !== 0 && isErrno(error, 'ENOTEMPTY')) return
      throw error
    } finally {
      closeFd(fd)
    }
    if (at.length === 0) return
    name = at.at(-1) ?? ''
    at = at.slice(0, -1)
  }
}

function removeIfThere(directoryFd: number, name: string, flags = 0): void {
  try {
    removeAt(directoryFd, name, flags)
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error
  }
}

function draftOf(file: string): string {
  return `.${file}.new`
}

const BELOW = RESOLVE.BENEATH | RESOLVE.NO_SYMLINKS
const LARGE_BYTES = 1024 * 1024
const TRIES = 100
const write = promisify(fs.write)
const sync = promisify(fs.fsync)
