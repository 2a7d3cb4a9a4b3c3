import { closeFd } from '../../../lib/syscalls/descriptors.ts'
import { O, openBelow, RESOLVE, rawBytesOf, readFd } from '../../../lib/syscalls/files.ts'
import { isErrno } from '../../../lib/syscalls/libc.ts'
import { seekTo } from '../../../lib/syscalls/sparse.ts'
import { type FileStat, readLinkAt, statAt, statFd } from '../../../lib/syscalls/stat.ts'
import { BLOCK_BYTES, encodeTarHeader, paddedSize, type WrittenHeader } from '../../../lib/tar/headers.ts'
import { encodeSparseHeader } from '../../../lib/tar/sparse.ts'
import type { Steps, TaskIo } from '../../../lib/threads/task.ts'
import { kindOf } from '../facts.ts'
import { explainFault } from '../faults.ts'
import { findHoles } from '../holes.ts'
import { pathInvalid, type RawPath, splitPath } from '../paths.ts'
import type { PathArgument } from '../reading.ts'
import { checkReadable, isReadable, openPath, reopenDirectory, reopenFile, withFd } from '../resolve.ts'
import { type FileView, openView } from '../views.ts'
import { closeLevels, enterLevel, type Level, nextName } from './walk.ts'

/**
 * Sends a tar of a file, or of the contents of a directory. Enters mounted volumes. Packs only the directory of kernel filesystems such as
 * /proc and /dev. Leaves out sockets, devices, and files removed before it reaches them. A file has the size it had when it was opened. If
 * it changed since, it is cut there, or padded with zeros.
 */
export function* packTask(io: TaskIo<Uint8Array>, { root, path }: PathArgument): Steps<null> {
  const view = openView(root)
  try {
    const packing: Packing = { io, view, output: createArchiveOutput(io), names: new Map(), nameBytes: 0 }
    const { fd, stat } = openStart(view, path)
    if (kindOf(stat) === 'directory') yield* packTree(packing, { fd, stat })
    else yield* packFile(packing, { fd, stat, path: splitPath(path)?.name ?? 'file' })
    yield* packing.output.fill(2 * BLOCK_BYTES)
    yield* packing.output.flush()
    return null
  } catch (error) {
    throw explainFault(path, error)
  } finally {
    view.close()
  }
}

interface Packing {
  io: TaskIo<Uint8Array>
  view: FileView
  output: ArchiveOutput
  /** Packed files that have several names, as a map from device and inode to the name in the archive. */
  names: Map<string, RawPath>
  nameBytes: number
}

/** A file or directory that is open for reading. */
interface Opened {
  fd: number
  stat: FileStat
}

function openStart(view: FileView, path: RawPath): Opened {
  return withFd(openPath(view, path, { follow: true }), (pathFd) => {
    checkReadable(pathFd, path)
    const kind = kindOf(statFd(pathFd))
    if (kind !== 'directory' && kind !== 'file') throw pathInvalid(path, 'it is neither a directory nor a regular file')
    const fd = kind === 'directory' ? reopenDirectory(pathFd) : reopenFile(pathFd)
    return { fd, stat: statFd(fd) }
  })
}

/** Packs the contents of a directory, and closes it. */
function* packTree(packing: Packing, { fd, stat }: Opened): Steps<void> {
  const levels: Level[] = []
  try {
    enterLevel(levels, { fd, stat, prefix: '' })
    for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
      if (packing.io.mustPause()) yield 'turn'
      const name = nextName(levels)
      if (name === null) closeFd(levels.pop()?.fd ?? -1)
      else yield* packName(packing, levels, { level, name })
    }
  } finally {
    closeLevels(levels)
  }
}

function* packName(packing: Packing, levels: Level[], { level, name }: { level: Level; name: RawPath }): Steps<void> {
  const path = `${level.prefix}${name}`
  const nameBytes = rawBytesOf(name)
  const found = ignoreGone(() => statAt(level.fd, nameBytes))
  if (found === null) return
  const kind = kindOf(found)
  if (kind === 'directory') {
    const opened = tryOpen(level.fd, nameBytes, O.RDONLY | O.DIRECTORY)
    if (opened !== null) yield* packDirectory(packing, levels, { ...opened, prefix: `${path}/` })
  } else if (kind === 'file') {
    if (found.links > 1 && (yield* packLink(packing, found, path))) return
    const opened = tryOpen(level.fd, nameBytes, O.RDONLY | O.NONBLOCK | O.NOCTTY)
    if (opened !== null) yield* packRegular(packing, level, { ...opened, path })
  } else if (kind === 'symlink') {
    const target = ignoreGone(() => readLinkAt(level.fd, nameBytes))
    if (target !== null)
      yield* packHeader(packing, found, { kind, path, target: Buffer.from(target).toString('latin1') })
  } else if (kind === 'fifo') yield* packHeader(packing, found, { kind, path })
}

function* packDirectory(packing: Packing, levels: Level[], next: Opened & { prefix: RawPath }): Steps<void> {
  const { fd, stat, prefix } = next
  try {
    yield* packHeader(packing, stat, { kind: 'directory', path: prefix })
  } catch (error) {
    closeFd(fd)
    throw error
  }
  enterLevel(levels, next)
}

// Another process may have replaced the name by now, or it may be a file of the host that is mounted there.
function* packRegular(packing: Packing, level: Level, file: Opened & { path: RawPath }): Steps<void> {
  const { fd, stat } = file
  if (kindOf(stat) === 'file' && (stat.mountId === level.mountId || isReadable(fd))) yield* packFile(packing, file)
  else closeFd(fd)
}

/** Packs a file, and closes it. */
function* packFile(packing: Packing, { fd, stat, path }: Opened & { path: RawPath }): Steps<void> {
  const { output } = packing
  try {
    const layout = yield* findHoles(packing.io, fd, { path, sizeBytes: stat.sizeBytes })
    if (layout === null) {
      yield* packHeader(packing, stat, { kind: 'file', path, sizeBytes: stat.sizeBytes })
      yield* packBytes(packing, fd, stat.sizeBytes)
      yield* output.fill(paddedSize(stat.sizeBytes) - stat.sizeBytes)
    } else {
      const fields = headerOf(packing, stat, { kind: 'file', path })
      const { bytes, padding } = encodeSparseHeader(fields, layout)
      yield* output.put(bytes)
      for (const { start, sizeBytes } of layout.ranges) {
        seekTo(fd, start)
        yield* packBytes(packing, fd, sizeBytes)
      }
      yield* output.fill(padding)
    }
  } finally {
    closeFd(fd)
  }
  if (stat.links > 1 && packing.nameBytes < NAMES_MAX_BYTES) {
    packing.names.set(keyOf(stat), path)
    packing.nameBytes += path.length + NAME_BYTES
  }
}

/** Packs so many bytes from the position of a descriptor on. Writes zeros for bytes that are not there any more. */
function* packBytes({ io, output }: Packing, fd: number, sizeBytes: number): Steps<void> {
  let left = sizeBytes
  while (left > 0) {
    if (io.mustPause()) yield 'turn'
    const space = yield* output.space()
    const count = readFd(fd, space.length > left ? space.subarray(0, left) : space)
    if (count === 0) break
    output.advance(count)
    left -= count
  }
  yield* output.fill(left)
}

/** Packs a hard link to a file that is in the archive. Returns false if it is not. */
function* packLink(packing: Packing, stat: FileStat, path: RawPath): Steps<boolean> {
  const target = packing.names.get(keyOf(stat))
  if (target === undefined) return false
  yield* packHeader(packing, stat, { kind: 'link', path, target })
  return true
}

interface HeaderFields {
  kind: 'file' | 'link' | 'symlink' | 'directory' | 'fifo'
  path: RawPath
  target?: RawPath
  sizeBytes?: number
}

function* packHeader(packing: Packing, stat: FileStat, fields: HeaderFields): Steps<void> {
  yield* packing.output.put(encodeTarHeader(headerOf(packing, stat, fields)))
}

function headerOf(
  { view }: Packing,
  stat: FileStat,
  { kind, path, target = '', sizeBytes = 0 }: HeaderFields,
): WrittenHeader {
  return {
    kind,
    path,
    target,
    sizeBytes,
    mode: stat.mode & 0o7777,
    uid: boxIdOf(stat.uid, view.idBase),
    gid: boxIdOf(stat.gid, view.idBase),
    modifiedSeconds: stat.modifiedSeconds,
    modifiedNanoseconds: 0,
  }
}

/** Returns null if it was removed or replaced in the meantime. */
function tryOpen(directoryFd: number, name: Buffer, flags: number): Opened | null {
  return ignoreGone(() => {
    const fd = openBelow(directoryFd, name, {
      flags: flags | O.NOFOLLOW,
      resolve: RESOLVE.BENEATH | RESOLVE.NO_SYMLINKS,
    })
    try {
      return { fd, stat: statFd(fd) }
    } catch (error) {
      closeFd(fd)
      throw error
    }
  })
}

function ignoreGone<T>(work: () => T): T | null {
  try {
    return work()
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ESTALE', 'ENOTDIR', 'ELOOP', 'EINVAL', 'ENXIO', 'ENODEV')) return null
    throw error
  }
}

function keyOf({ device, inode }: FileStat): string {
  return `${device}:${inode}`
}

function boxIdOf(hostId: number, idBase: number): number {
  const id = hostId - idBase
  return id >= 0 && id < NO_ID ? id : NOBODY
}

/** Sends the bytes of an archive in chunks of 256 KiB. */
interface ArchiveOutput {
  put(bytes: Buffer): Steps<void>
  /** Returns free space to fill, at least one byte. `advance` marks how much of it is filled. */
  space(): Steps<Buffer>
  advance(sizeBytes: number): void
  fill(zeros: number): Steps<void>
  /** Sends the rest. */
  flush(): Steps<void>
}

/** Sends each chunk once it is full and the channel has space. */
function createArchiveOutput(io: TaskIo<Uint8Array>): ArchiveOutput {
  let chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES)
  let used = 0
  function* flush(): Steps<void> {
    if (used === 0) return
    const full = chunk.subarray(0, used)
    chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES)
    used = 0
    yield* io.send(full, [full.buffer])
  }
  const output: ArchiveOutput = {
    *put(bytes) {
      for (let done = 0; done < bytes.length; ) {
        if (used === CHUNK_BYTES) yield* flush()
        const count = bytes.copy(chunk, used, done)
        used += count
        done += count
      }
    },
    *space() {
      if (used === CHUNK_BYTES) yield* flush()
      return chunk.subarray(used)
    },
    advance: (sizeBytes) => {
      used += sizeBytes
    },
    *fill(zeros) {
      for (let left = zeros; left > 0; ) {
        const space = yield* output.space()
        const count = Math.min(left, space.length)
        space.fill(0, 0, count)
        used += count
        left -= count
      }
    },
    flush,
  }
  return output
}

const CHUNK_BYTES = 256 * 1024
const NO_ID = 65_535
const NOBODY = 65_534
/** Limits the remembered names. Beyond that, further names of a file become separate files. */
const NAMES_MAX_BYTES = 4 * 1024 * 1024
/** Memory per name, without its characters. */
const NAME_BYTES = 150
