import { ServiceError } from '../../../shared/errors.ts'
import { closeFd } from '../../lib/syscalls/descriptors.ts'
import { linkFd } from '../../lib/syscalls/directories.ts'
import { makeDirectoryAt, RENAME, removeAt, renameBetween } from '../../lib/syscalls/files.ts'
import { isErrno, SyscallError } from '../../lib/syscalls/libc.ts'
import { type FileStat, statAt, statFd } from '../../lib/syscalls/stat.ts'
import type { Steps, TaskIo } from '../../lib/threads/steps.ts'
import type { FileFacts } from '../../ports/files/files.ts'
import { checkNoMount } from './changes.ts'
import { copyFile, type Turns } from './copying.ts'
import { copyDirectory, copyOther } from './copying-tree.ts'
import type { MainThreadTask } from './durability.ts'
import { kindOf } from './facts.ts'
import { type RawPath, rawBytesOf, showPath } from './paths.ts'
import { checkNoMountsBelow, removeTree } from './removal.ts'
import { openName, readFacts, reopenDirectory, withFd } from './resolve.ts'
import type { FileView } from './views.ts'

/** What is made, and where. */
export interface Making {
  io: TaskIo<MainThreadTask, 'done'>
  view: FileView
  path: RawPath
  source: { fd: number; stat: FileStat; idBase: number }
  homeFd: number
  name: RawPath
  /** What it has before it has that, and what it replaces has after. */
  passing: RawPath
}

/** Makes a copy, brings it to the disk, and gives it the name in the place of what has it, which is removed. */
export function* replace(making: Making): Steps<FileFacts> {
  const { io, view, homeFd, path, passing } = making
  const draft = yield* makeDraft(making)
  try {
    yield* commit(io, homeFd)
    if (draft.isNameless) linkFd(draft.fd, homeFd, passing)
    draft.isNameless = false
    const { inode } = statFd(draft.fd)
    const isReplaced = takeName(view, making)
    if (statAt(homeFd, rawBytesOf(making.name)).inode !== inode) throw hasMoved(path)
    draft.isPlaced = true
    yield* commit(io, homeFd)
    if (isReplaced) yield* discard(io, { homeFd, name: passing, inode: null })
    return readFacts(view, draft.fd)
  } catch (error) {
    yield* drop(io, draft, { homeFd, passing })
    throw error
  } finally {
    // Whoever ends the task waits for no turn.
    finish(drop(AT_ONCE, draft, { homeFd, passing }))
    closeFd(draft.fd)
  }
}

/** What is to get the name. */
interface Draft {
  fd: number
  isNameless: boolean
  /** It has the name, or was taken away. */
  isPlaced: boolean
}

function* makeDraft({ io, path, source, homeFd, passing }: Making): Steps<Draft> {
  const kind = kindOf(source.stat)
  if (kind === 'file') {
    const fd = yield* copyFile(io, source, { directoryFd: homeFd, name: null })
    return { fd, isNameless: true, isPlaced: false }
  }
  if (kind === 'directory') makeDirectoryAt(homeFd, rawBytesOf(passing), 0o700)
  else copyOther(source, { directoryFd: homeFd, name: passing, path })
  const draft: Draft = { fd: openName(homeFd, passing), isNameless: false, isPlaced: false }
  let isWhole = false
  try {
    const copy = { sourceFd: source.fd, targetFd: draft.fd, idBase: source.idBase, path }
    if (kind === 'directory') yield* copyDirectory(io, copy)
    isWhole = true
    return draft
  } catch (error) {
    yield* drop(io, draft, { homeFd, passing })
    throw error
  } finally {
    if (!isWhole) {
      finish(drop(AT_ONCE, draft, { homeFd, passing }))
      closeFd(draft.fd)
    }
  }
}

/** Gives the copy its name; true if something had it, which has the passing one now. */
function takeName(view: FileView, { homeFd, name, path, passing }: Making): boolean {
  const both = { fromFd: homeFd, fromName: rawBytesOf(passing), toFd: homeFd, toName: rawBytesOf(name) }
  for (let attempt = 1; ; attempt++) {
    try {
      const isThere = findReplaced(view, { homeFd, name, path })
      renameBetween({ ...both, flags: isThere ? RENAME.EXCHANGE : RENAME.NOREPLACE })
      return isThere
    } catch (error) {
      // The box has made or taken away something of that name just now.
      if (!isErrno(error, 'EEXIST', 'ENOENT') || attempt >= ATTEMPTS_MAX) throw error
    }
  }
}

/** Whether something has the name now. Throws `path_invalid` where something is mounted there, or below. */
export function findReplaced(
  view: FileView,
  { homeFd, name, path }: { homeFd: number; name: RawPath; path: RawPath },
): boolean {
  let fd: number
  try {
    fd = openName(homeFd, name)
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return false
    throw error
  }
  return withFd(fd, () => {
    checkNoMount(path, { parentFd: homeFd, fd })
    if (kindOf(statFd(fd)) === 'directory') checkNoMountsBelow(view, fd, path)
    return true
  })
}

/** Brings all that was changed on a disk there: also what a name stands for, before it is given. */
function* commit(io: TaskIo<MainThreadTask, 'done'>, homeFd: number): Steps<void> {
  const fd = reopenDirectory(homeFd)
  try {
    yield* io.say({ act: 'commit', fd })
    yield* io.hear()
  } finally {
    closeFd(fd)
  }
}

function* drop(io: Turns, draft: Draft, { homeFd, passing }: { homeFd: number; passing: RawPath }): Steps<void> {
  if (draft.isPlaced) return
  if (!draft.isNameless) yield* discard(io, { homeFd, name: passing, inode: statFd(draft.fd).inode })
  draft.isPlaced = true
}

/** What has a passing name; null: whatever it is. */
interface Passing {
  homeFd: number
  name: RawPath
  inode: number | null
}

/** Removes it, if it is still that. What the box keeps from being removed is left: nothing that was asked for depends on it. */
function* discard(io: Turns, { homeFd, name, inode }: Passing): Steps<void> {
  try {
    const stat = statAt(homeFd, rawBytesOf(name))
    if (inode !== null && stat.inode !== inode) return
    if (kindOf(stat) === 'directory') yield* removeTree(io, name, { parentFd: homeFd, name })
    else removeAt(homeFd, rawBytesOf(name))
  } catch (error) {
    if (!(error instanceof ServiceError || error instanceof SyscallError)) throw error
  }
}

function hasMoved(path: RawPath): ServiceError {
  return new ServiceError('box_busy', `${showPath(path)}: it was moved while it was restored.`)
}

function finish(steps: Steps<void>): void {
  while (steps.next().done !== true);
}

const AT_ONCE: Turns = { mustPause: () => false }
const ATTEMPTS_MAX = 10
