import { closeFd } from '../../lib/syscalls/descriptors.ts'
import { readNames } from '../../lib/syscalls/directories.ts'
import { O, openBelow, RESOLVE, rawBytesOf } from '../../lib/syscalls/files.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'
import { type FileStat, readLinkAt, statAt, statFd } from '../../lib/syscalls/stat.ts'
import type { Steps, TaskIo } from '../../lib/threads/task.ts'
import {
  addEntry,
  type EntryColumns,
  isFull,
  type LastColumns,
  type ListedNames,
  lastColumns,
  newColumns,
} from './columns.ts'
import { kindOf } from './facts.ts'
import { explainFault } from './faults.ts'
import { type RawPath } from './paths.ts'
import type { PathArgument } from './reading.ts'
import { checkReadable, isReadable, openPath, reopenDirectory, withFd } from './resolve.ts'
import { type FileView, openView } from './views.ts'

export interface ListArgument extends PathArgument {
  depth: number
  after: RawPath | null
  limit: number
}

/** Lists one page of a directory. Keeps no more names of a level than the page can have. */
export function* listTask(io: TaskIo<EntryColumns>, argument: ListArgument): Steps<LastColumns> {
  const { path, limit } = argument
  const view = openView(argument.root)
  const levels: Level[] = []
  try {
    levels.push(newLevel(openTop(view, path), '', splitCursor(argument.after)))
    const depth = Math.min(argument.depth, LEVELS_MAX)
    let columns = newColumns(view.idBase)
    let left = limit
    let pageBytes = 0
    for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
      if (io.mustPause()) yield 'turn'
      const name = level.names[level.index++]
      if (name === undefined) {
        if (level.isWhole) closeFd(levels.pop()?.fd ?? -1)
        else yield* selectNames(io, level, nameCount(levels.length, left + 1))
        continue
      }
      const stat = tryStat(level.fd, name)
      if (stat === null) continue
      const isOnCursor = name === level.cursor[0]
      if (!isOnCursor) {
        if (left === 0 || pageBytes > PAGE_BYTES) return lastColumns(columns, true)
        if (isFull(columns)) {
          yield* io.send(columns, [columns.numbers.buffer])
          columns = newColumns(view.idBase)
        }
        const entry = { path: `${level.prefix}${name}`, target: targetOf(level.fd, name, stat) }
        addEntry(columns, stat, entry)
        left--
        pageBytes += encodedSize(entry)
      }
      const fd = levels.length < depth && kindOf(stat) === 'directory' ? tryEnter(level, name, stat) : null
      if (fd !== null) levels.push(newLevel(fd, `${level.prefix}${name}/`, isOnCursor ? level.cursor.slice(1) : []))
    }
    return lastColumns(columns, false)
  } catch (error) {
    throw explainFault(path, error)
  } finally {
    for (const { fd } of levels) closeFd(fd)
    view.close()
  }
}

function encodedSize({ path, target }: ListedNames): number {
  return path.length * (PLAIN.test(path) ? 1 : OTHER_WEIGHT) + (target?.length ?? 0) * OTHER_WEIGHT
}

// Limits the names kept of each deeper level, since there may be many levels. For more names, the directory is read again.
function nameCount(levels: number, wanted: number): number {
  return levels === 1 ? wanted : Math.min(wanted, DEEP_NAMES)
}

/** A directory in a listing. */
interface Level {
  fd: number
  mountId: number
  /** Its path, which precedes its names. */
  prefix: RawPath
  /** The rest of the cursor's path from here, as names to enter and not to list again. */
  cursor: readonly RawPath[]
  /** The next names, in order. */
  names: RawPath[]
  index: number
  /** True if `names` are the last ones of the directory. */
  isWhole: boolean
}

function newLevel(fd: number, prefix: RawPath, cursor: readonly RawPath[]): Level {
  return { fd, mountId: statFd(fd).mountId, prefix, cursor, names: [], index: 0, isWhole: false }
}

/** Selects the next `count` names of a directory in order, and one more to detect that others follow. */
function* selectNames(io: TaskIo, level: Level, count: number): Steps<void> {
  const last = level.names.at(-1)
  const from = last ?? level.cursor[0] ?? ''
  const isNext = (name: RawPath): boolean => name > from || (last === undefined && name === from)
  const size = count + 1
  let kept: RawPath[] = []
  let bound: RawPath | null = null
  for (const batch of batchesOf(level.fd)) {
    for (const name of batch) if (isNext(name) && (bound === null || name < bound)) kept.push(name)
    if (kept.length >= 2 * size) {
      kept = kept.sort().slice(0, size)
      bound = kept.at(-1) ?? null
    }
    if (io.mustPause()) yield 'turn'
  }
  level.isWhole = bound === null && kept.length <= size
  level.names = kept.sort().slice(0, size)
  level.index = 0
}

/** Reads the names in a directory in batches, or none if it was removed. */
function* batchesOf(directoryFd: number): Generator<RawPath[]> {
  let fd: number | undefined
  try {
    // Opens a new descriptor, which reads from the start.
    fd = reopenDirectory(directoryFd)
    for (let batch = readNames(fd, BUFFER); batch !== null; batch = readNames(fd, BUFFER)) yield batch
  } catch (error) {
    if (!isErrno(error, 'ENOENT', 'ESTALE')) throw error
  } finally {
    if (fd !== undefined) closeFd(fd)
  }
}

function openTop(view: FileView, path: RawPath): number {
  return withFd(openPath(view, path, { follow: true }), (fd) => {
    checkReadable(fd, path)
    return reopenDirectory(fd)
  })
}

/** Returns null if it is gone, is not a directory any more, or is on no disk of the box. */
function tryEnter({ fd: parentFd, mountId }: Level, name: RawPath, stat: FileStat): number | null {
  try {
    const fd = openBelow(parentFd, rawBytesOf(name), ENTER)
    if (stat.mountId === mountId || isReadable(fd)) return fd
    closeFd(fd)
    return null
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR', 'ELOOP', 'ESTALE', 'EAGAIN')) return null
    throw error
  }
}

function tryStat(fd: number, name: RawPath): FileStat | null {
  try {
    // Reuses one buffer, because allocating one for each name would take half as long as the call.
    NAME[NAME.write(name, 'latin1')] = 0
    return statAt(fd, NAME)
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ESTALE')) return null
    throw error
  }
}

function targetOf(fd: number, name: RawPath, stat: FileStat): Uint8Array | null {
  if (kindOf(stat) !== 'symlink') return null
  try {
    return readLinkAt(fd, rawBytesOf(name))
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'EINVAL', 'ESTALE')) return null
    throw error
  }
}

function splitCursor(after: RawPath | null): RawPath[] {
  return after === null ? [] : after.split('/')
}

const ENTER = { flags: O.RDONLY | O.DIRECTORY | O.NOFOLLOW, resolve: RESOLVE.BENEATH | RESOLVE.NO_SYMLINKS }
// Each keeps a descriptor open.
const LEVELS_MAX = 64
// Ends a page by the size of its paths, which have up to 16 KiB each. JSON escapes may take seven times as many bytes.
const PAGE_BYTES = 2 * 1024 * 1024
const PLAIN = /^[ !#-[\]-~]*$/
const OTHER_WEIGHT = 4
const DEEP_NAMES = 1024
const BUFFER = Buffer.allocUnsafeSlow(64 * 1024)
const NAME = Buffer.allocUnsafeSlow(256)
