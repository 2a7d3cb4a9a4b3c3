import { closeFd, duplicateFd } from '../../../lib/syscalls/descriptors.ts'
import { isErrno } from '../../../lib/syscalls/libc.ts'
import { createTarReader, type TarEntry, type TarReader } from '../../../lib/tar/reader.ts'
import type { Steps, TaskIo } from '../../../lib/threads/task.ts'
import { explainFault } from '../faults.ts'
import type { RawPath } from '../paths.ts'
import type { PathArgument } from '../reading.ts'
import { checkWritableMount, openDirectoryPath, withFd } from '../resolve.ts'
import { type FileView, openView, stepsAsBoxRoot } from '../views.ts'
import {
  createDirectory,
  createHardLink,
  createSymlink,
  type EntryTarget,
  fillUnnamed,
  linkFile,
  openUnnamed,
} from './creating.ts'
import { createDirectoryCache, type DirectoryCache } from './directory-cache.ts'
import { WHITEOUT } from './prune.ts'
import {
  checkLinkTarget,
  EntryRefusedError,
  entryNames,
  newReport,
  reportRefused,
  type UnpackedTree,
} from './refusals.ts'
import { addTime, createTimes, type DirectoryTimes, setTimes } from './times.ts'

/** Messages of the task. It reports that it is ready for the archive, and in the end sends a directory of each disk to sync. */
export type UnpackSent = { act: 'ready' } | { act: 'sync'; fd: number }

export interface UnpackArgument extends PathArgument {
  /** Skips the whiteouts of an image layer. */
  isLayer: boolean
}

/** Messages to the task: the bytes of the archive, null at their end, and an answer to each `sync`. */
export type UnpackReceived = Uint8Array | null | 'synced'

/**
 * Unpacks a tar into a directory, whose own metadata stays. Creates every entry below it without following a link, with the mode, owner and
 * time of the archive. A file gets its name once it is complete. Leaves out and reports refused entries. Makes everything durable by one
 * sync of each disk, which is faster than one of each file.
 */
export function* unpackTask(io: TaskIo<UnpackSent, UnpackReceived>, argument: UnpackArgument): Steps<UnpackedTree> {
  const { root, path, isLayer } = argument
  const view = openView(root)
  try {
    return yield* stepsAsBoxRoot(view, unpack(io, view, { path, isLayer }))
  } catch (error) {
    throw explainFault(path, error)
  } finally {
    view.close()
  }
}

interface Unpacking {
  io: TaskIo<UnpackSent, UnpackReceived>
  idBase: number
  reader: TarReader
  directories: DirectoryCache
  times: DirectoryTimes
  isLayer: boolean
}

function* unpack(
  io: TaskIo<UnpackSent, UnpackReceived>,
  view: FileView,
  { path, isLayer }: { path: RawPath; isLayer: boolean },
): Steps<UnpackedTree> {
  const destinationFd = openDirectoryPath(view, path)
  const directories = createDirectoryCache(destinationFd)
  try {
    checkWritableMount(destinationFd, path)
    yield* io.send({ act: 'ready' })
    // Until the archive ends, the main thread sends nothing else.
    const receive = io.receive as () => Steps<Uint8Array | null>
    const reader = createTarReader({ receive, mustPause: io.mustPause })
    const times = createTimes(destinationFd)
    const report = yield* unpackEntries({ io, idBase: view.idBase, reader, directories, times, isLayer })
    yield* setTimes(times, io)
    yield* reader.drain()
    for (const fd of directories.disks()) {
      yield* io.send({ act: 'sync', fd })
      yield* io.receive()
    }
    return report
  } finally {
    directories.close()
    closeFd(destinationFd)
  }
}

function* unpackEntries(unpacking: Unpacking): Steps<UnpackedTree> {
  const { io, reader } = unpacking
  const report = newReport()
  for (let entry = yield* reader.next(); entry !== null; entry = yield* reader.next()) {
    try {
      if (yield* unpackEntry(unpacking, entry)) report.entries++
    } catch (error) {
      reportRefused(report, entry.path, error)
    }
    if (io.mustPause()) yield 'turn'
  }
  return report
}

/** Returns false for the destination itself, and for whiteouts. */
function* unpackEntry(unpacking: Unpacking, entry: TarEntry): Steps<boolean> {
  const names = entryNames(entry.path)
  checkEntry(entry)
  const name = names.at(-1)
  if (name === undefined) {
    if (entry.kind !== 'directory') throw new EntryRefusedError('it has the name of the directory itself')
    return false
  }
  if (unpacking.isLayer && names.some((each) => each.startsWith(WHITEOUT))) return false
  const target = { parent: names.slice(0, -1), name }
  if (entry.kind === 'file') yield* unpackFile(unpacking, entry, target)
  else if (entry.kind === 'link') unpackLink(unpacking, entry, target)
  else if (entry.kind === 'symlink') {
    checkLinkTarget(entry.target)
    withTarget(unpacking, target, (entryTarget) => createSymlink(entryTarget, entry))
  } else {
    withTarget(unpacking, target, (entryTarget) => createDirectory(entryTarget, entry))
    yield* addTime(unpacking.times, { names, entry, io: unpacking.io })
  }
  return true
}

/** The path of an entry, or of the target of a hard link. */
interface EntryPath {
  parent: readonly RawPath[]
  name: RawPath
}

function* unpackFile(unpacking: Unpacking, entry: TarEntry, target: EntryPath): Steps<void> {
  const { io, reader } = unpacking
  const fd = withTarget(unpacking, target, (entryTarget) => openUnnamed(entryTarget, entry))
  try {
    yield* fillUnnamed(fd, entry, { read: () => reader.read(), mustPause: io.mustPause })
    withTarget(unpacking, target, (entryTarget) => linkFile(entryTarget, entry, fd))
  } finally {
    closeFd(fd)
  }
}

function unpackLink(unpacking: Unpacking, entry: TarEntry, target: EntryPath): void {
  const from = linkSource(entry)
  // Duplicates the descriptor, because opening the second directory may evict the first from the cache.
  const fromFd = withTarget({ ...unpacking, make: false }, from, ({ directory }) => duplicateFd(directory.fd))
  withFd(fromFd, (fd) =>
    withTarget(unpacking, target, (entryTarget) => createHardLink(entryTarget, { fd, name: from.name })),
  )
}

function checkEntry({ kind, fault, uid, gid }: TarEntry): void {
  if (fault !== null) throw new EntryRefusedError(fault)
  const refused = REFUSED_KINDS[kind]
  if (refused !== undefined) throw new EntryRefusedError(refused)
  if ([uid, gid].some((id) => id < 0 || id > ID_MAX))
    throw new EntryRefusedError(`its owner or group is none of 0 to ${ID_MAX}`)
}

function linkSource({ target }: TarEntry): EntryPath {
  let names: RawPath[]
  try {
    names = entryNames(target)
  } catch (error) {
    throw error instanceof EntryRefusedError
      ? new EntryRefusedError('what it links to is not below the directory')
      : error
  }
  const name = names.at(-1)
  if (name === undefined) throw new EntryRefusedError('it links to the directory itself')
  return { parent: names.slice(0, -1), name }
}

/** Runs `work` in the directory of an entry. Runs it again with an empty cache if that directory was removed since it was opened. */
function withTarget<T>(
  {
    directories,
    idBase,
    isLayer,
    make = true,
  }: Pick<Unpacking, 'directories' | 'idBase' | 'isLayer'> & { make?: boolean },
  { parent, name }: EntryPath,
  work: (entryTarget: EntryTarget) => T,
): T {
  const attempt = (): T =>
    work({ directory: directories.open(parent, { make }), name, idBase, keepsAttributes: !isLayer })
  try {
    return attempt()
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error
  }
  directories.forget()
  return attempt()
}

const ID_MAX = 65_534
const REFUSED_KINDS: Readonly<Partial<Record<TarEntry['kind'], string>>> = {
  fifo: 'it is a FIFO',
  character: 'it is a device',
  block: 'it is a device',
  unknown: 'it is of a kind that is not unpacked',
}
