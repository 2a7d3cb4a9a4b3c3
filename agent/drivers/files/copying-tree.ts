import { closeFd } from '../../lib/syscalls/descriptors.ts'
import { linkAt, type RawEntry, readEntries, symlinkAt } from '../../lib/syscalls/directories.ts'
import { makeDirectoryAt, O, openBelow, RESOLVE } from '../../lib/syscalls/files.ts'
import { changeOwnerOfPath, makeNodeAt, setModified } from '../../lib/syscalls/marks.ts'
import { readLinkFd, statFd } from '../../lib/syscalls/stat.ts'
import type { Steps } from '../../lib/threads/steps.ts'
import { type CopySource, copyFacts, copyNamedFile, fileTimeOf, type Turns } from './copying.ts'
import { kindOf } from './facts.ts'
import { pathInvalid, type RawPath, rawBytesOf } from './paths.ts'
import { openName, reopenDirectory, withFd } from './resolve.ts'

export interface TreeCopy {
  /** Both open as paths: what is copied, and the empty directory that is to have all of it. */
  sourceFd: number
  targetFd: number
  idBase: number
  /** What faults are about. */
  path: RawPath
}

/**
 * Copies all of a directory of a snapshot, and what is known of it: names of one file are names of one file again. No link is
 * followed. Throws `path_invalid` for devices, and beyond 256 levels or 100,000 files with several names.
 */
export function* copyDirectory(io: Turns, copy: TreeCopy): Steps<void> {
  const buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES)
  const levels: Level[] = []
  const linked = new Map<number, RawPath>()
  try {
    levels.push(openLevel('', copy.sourceFd, copy.targetFd))
    for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
      if (level.waiting.length === 0) {
        const entries = readEntries(level.sourceFd, buffer)
        if (entries === null) {
          copyFacts(level.sourceFd, level.targetFd, { stat: statFd(level.sourceFd), idBase: copy.idBase })
          levels.pop()
          closeLevel(level)
        } else level.waiting = entries
        continue
      }
      const { name } = level.waiting.pop() ?? { name: '' }
      const inner = yield* copyEntry({ io, copy, level, linked }, name)
      if (inner !== null) levels.push(inner)
      if (levels.length > LEVELS_MAX) throw pathInvalid(copy.path, `it is deeper than ${LEVELS_MAX} directories`)
      if (io.mustPause()) yield 'turn'
    }
  } finally {
    levels.forEach(closeLevel)
  }
}

/** Makes a link, FIFO or socket as it is in a snapshot. */
export function copyOther(
  { fd, stat, idBase }: CopySource,
  { directoryFd, name, path }: { directoryFd: number; name: RawPath; path: RawPath },
): void {
  const kind = kindOf(stat)
  if (kind === 'symlink') symlinkAt(Buffer.concat([readLinkFd(fd), Buffer.alloc(1)]), directoryFd, rawBytesOf(name))
  else if (kind === 'fifo' || kind === 'socket') makeNodeAt(directoryFd, rawBytesOf(name), stat.mode)
  else throw pathInvalid(path, 'a device of a snapshot is not made again')
  withFd(openName(directoryFd, name), (madeFd) => {
    // Else the box has put something else there by now.
    if (kindOf(statFd(madeFd)) !== kind) return
    changeOwnerOfPath(madeFd, idBase + stat.uid, idBase + stat.gid)
    setModified(madeFd, fileTimeOf(stat))
  })
}

/** A directory on the way down, and its copy. */
interface Level {
  /** Below the first, for which it is empty. */
  path: RawPath
  sourceFd: number
  targetFd: number
  /** What was read of it and is not copied yet. */
  waiting: RawEntry[]
}

interface Step {
  io: Turns
  copy: TreeCopy
  level: Level
  /** Where files with several names have their first one, by their number. */
  linked: Map<number, RawPath>
}

/** Copies what is no directory; of one, which is empty still, the level is returned. */
function* copyEntry({ io, copy, level, linked }: Step, name: RawPath): Steps<Level | null> {
  const place = { directoryFd: level.targetFd, name }
  const path = level.path === '' ? name : `${level.path}/${name}`
  const fd = openName(level.sourceFd, name)
  try {
    const source = { fd, stat: statFd(fd), idBase: copy.idBase }
    const kind = kindOf(source.stat)
    if (kind === 'directory') return makeLevel(level, { path, name, fd })
    const first = linked.get(source.stat.inode)
    if (first !== undefined) linkToFirst(copy, first, place)
    else if (kind === 'file') yield* copyNamedFile(io, source, place)
    else copyOther(source, { ...place, path: copy.path })
    if (source.stat.links > 1) linked.set(source.stat.inode, path)
    if (linked.size > LINKED_MAX) throw pathInvalid(copy.path, `more than ${LINKED_MAX} files in it have several names`)
    return null
  } finally {
    closeFd(fd)
  }
}

function makeLevel(above: Level, { path, name, fd }: { path: RawPath; name: RawPath; fd: number }): Level {
  makeDirectoryAt(above.targetFd, rawBytesOf(name), 0o700)
  return withFd(openBelow(above.targetFd, rawBytesOf(name), DIRECTORY), (madeFd) => openLevel(path, fd, madeFd))
}

function openLevel(path: RawPath, sourcePathFd: number, targetPathFd: number): Level {
  const sourceFd = reopenDirectory(sourcePathFd)
  try {
    return { path, sourceFd, targetFd: reopenDirectory(targetPathFd), waiting: [] }
  } catch (error) {
    closeFd(sourceFd)
    throw error
  }
}

function closeLevel({ sourceFd, targetFd }: Level): void {
  closeFd(sourceFd)
  closeFd(targetFd)
}

function linkToFirst(
  { targetFd }: TreeCopy,
  first: RawPath,
  { directoryFd, name }: { directoryFd: number; name: RawPath },
): void {
  const cut = first.lastIndexOf('/')
  const parent = cut < 0 ? '.' : rawBytesOf(first.slice(0, cut))
  withFd(openBelow(targetFd, parent, DIRECTORY), (fd) =>
    linkAt(fd, rawBytesOf(first.slice(cut + 1)), { fd: directoryFd, name: rawBytesOf(name) }),
  )
}

const DIRECTORY = {
  flags: O.PATH | O.DIRECTORY | O.NOFOLLOW,
  resolve: RESOLVE.BENEATH | RESOLVE.NO_SYMLINKS | RESOLVE.NO_XDEV,
}
const BUFFER_BYTES = 32 * 1024
const LEVELS_MAX = 256
const LINKED_MAX = 100_000
