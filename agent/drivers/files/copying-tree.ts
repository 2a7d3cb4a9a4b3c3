import { closeFd } from '../../lib/syscalls/descriptors.ts'
import { linkAt, type RawEntry, readEntries, symlinkAt } from '../../lib/syscalls/directories.ts'
import { makeDirectoryAt, O, openBelow, RESOLVE, rawBytesOf } from '../../lib/syscalls/files.ts'
import { changeModeOfPath, changeOwnerOfPath, makeNodeAt, setModified } from '../../lib/syscalls/metadata.ts'
import { readLinkFd, statFd } from '../../lib/syscalls/stat.ts'
import type { Steps } from '../../lib/threads/task.ts'
import { copyAttributes } from './attributes.ts'
import { type CopySource, copyFacts, copyNamedFile, fileTimeOf, type Turns } from './copying.ts'
import { kindOf } from './facts.ts'
import { pathInvalid, type RawPath } from './paths.ts'
import { openName, reopenDirectory, withFd } from './resolve.ts'

export interface TreeCopy {
  /** The directory to copy, and the empty one that receives it. Both are open with `O_PATH`. */
  sourceFd: number
  targetFd: number
  idBase: number
  /** The path that errors name. */
  path: RawPath
  bounds?: CopyBounds
}

/** Limits of one copy. */
export interface CopyBounds {
  entries: number
  durationMs: number
}

/**
 * Copies a directory tree of a snapshot with all metadata and hard links. Follows no link. Throws `path_invalid` for devices, beyond
 * 256 levels or 100,000 files with several names, and beyond `bounds` (1,000,000 entries, 5 min).
 */
export function* copyDirectory(io: Turns, copy: TreeCopy): Steps<void> {
  const buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES)
  const levels: Level[] = []
  const copiedNames = new Map<number, RawPath>()
  const check = boundsOf(copy)
  try {
    levels.push(openLevel('', copy.sourceFd, copy.targetFd))
    for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
      if (level.waiting.length === 0) {
        const entries = readEntries(level.sourceFd, buffer)
        if (entries === null) {
          copyFacts(level.sourceFd, level.targetFd, {
            stat: statFd(level.sourceFd),
            idBase: copy.idBase,
            path: fullPath(copy, level.path),
          })
          levels.pop()
          closeLevel(level)
        } else level.waiting = entries
        continue
      }
      const { name } = level.waiting.pop() ?? { name: '' }
      check()
      const inner = yield* copyEntry({ io, copy, level, copiedNames }, name)
      if (inner !== null) levels.push(inner)
      if (levels.length > LEVELS_MAX) throw pathInvalid(copy.path, `it is deeper than ${LEVELS_MAX} directories`)
      if (io.mustPause()) yield 'turn'
    }
  } finally {
    levels.forEach(closeLevel)
  }
}

/** Recreates a symbolic link, FIFO or socket of a snapshot. Throws `path_invalid` for devices. */
export function copyOther(
  { fd, stat, idBase, path }: CopySource,
  { directoryFd, name }: { directoryFd: number; name: RawPath },
): void {
  const kind = kindOf(stat)
  if (kind === 'symlink') symlinkAt(Buffer.concat([readLinkFd(fd), Buffer.alloc(1)]), directoryFd, rawBytesOf(name))
  else if (kind === 'fifo' || kind === 'socket') makeNodeAt(directoryFd, rawBytesOf(name), stat.mode)
  else throw pathInvalid(path, 'a device of a snapshot is not made again')
  withFd(openName(directoryFd, name), (madeFd) => {
    // The box may have replaced it.
    if (kindOf(statFd(madeFd)) !== kind) return
    changeOwnerOfPath(madeFd, idBase + stat.uid, idBase + stat.gid)
    // A link has neither a mode nor attributes that a box could give it.
    if (kind !== 'symlink') {
      copyAttributes(fd, madeFd, { path, idShift: idBase })
      changeModeOfPath(madeFd, stat.mode & 0o7777)
    }
    setModified(madeFd, fileTimeOf(stat))
  })
}

/** Returns a function that counts an entry, and throws `path_invalid` beyond the limits of the copy. */
function boundsOf({ path, bounds = BOUNDS }: TreeCopy): () => void {
  const deadline = performance.now() + bounds.durationMs
  let count = 0
  return () => {
    if (++count > bounds.entries)
      throw pathInvalid(path, `it has more than ${bounds.entries} entries: restore parts of it, or the whole root`)
    if (performance.now() > deadline)
      throw pathInvalid(path, `copying it takes more than ${bounds.durationMs / 1000} s: restore parts of it`)
  }
}

/** A directory of the current path in the tree, and its copy. */
interface Level {
  /** Relative to the top, for which it is empty. */
  path: RawPath
  sourceFd: number
  targetFd: number
  /** Entries that are read but not copied yet. */
  waiting: RawEntry[]
}

interface Step {
  io: Turns
  copy: TreeCopy
  level: Level
  /** The first copied name of each file with several names, by inode. */
  copiedNames: Map<number, RawPath>
}

/** Copies an entry. Creates a directory empty and returns its level. */
function* copyEntry({ io, copy, level, copiedNames }: Step, name: RawPath): Steps<Level | null> {
  const target = { directoryFd: level.targetFd, name }
  const path = level.path === '' ? name : `${level.path}/${name}`
  const fd = openName(level.sourceFd, name)
  try {
    const source = { fd, stat: statFd(fd), idBase: copy.idBase, path: fullPath(copy, path) }
    const kind = kindOf(source.stat)
    if (kind === 'directory') return makeLevel(level, { path, name, fd })
    const first = copiedNames.get(source.stat.inode)
    if (first !== undefined) linkToCopied(copy, first, target)
    else if (kind === 'file') yield* copyNamedFile(io, source, target)
    else copyOther(source, target)
    if (source.stat.links > 1) copiedNames.set(source.stat.inode, path)
    if (copiedNames.size > LINKED_MAX)
      throw pathInvalid(copy.path, `more than ${LINKED_MAX} files in it have several names`)
    return null
  } finally {
    closeFd(fd)
  }
}

function fullPath({ path }: TreeCopy, below: RawPath): RawPath {
  return below === '' ? path : `${path.replace(/\/+$/, '')}/${below}`
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

function linkToCopied(
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
const BOUNDS: CopyBounds = { entries: 1_000_000, durationMs: 300_000 }
