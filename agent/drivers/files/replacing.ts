import { ServiceError } from '../../../shared/errors.ts'
import { refusal } from '../../../shared/refusals.ts'
import { closeFd } from '../../lib/syscalls/descriptors.ts'
import { linkFd } from '../../lib/syscalls/directories.ts'
import { makeDirectoryAt, RENAME, rawBytesOf, removeAt, renameBetween } from '../../lib/syscalls/files.ts'
import { isErrno, SyscallError } from '../../lib/syscalls/libc.ts'
import { statAt, statFd } from '../../lib/syscalls/stat.ts'
import type { Steps, TaskIo } from '../../lib/threads/task.ts'
import type { FileFacts } from '../../ports/files/files.ts'
import { checkNoMount } from './changes.ts'
import { type CopySource, copyFile, type Turns } from './copying.ts'
import { copyDirectory, copyOther } from './copying-tree.ts'
import type { MainThreadTask } from './durability.ts'
import { kindOf } from './facts.ts'
import { type RawPath, showPath } from './paths.ts'
import { checkNoMountsBelow, removeTree } from './removal.ts'
import { openName, readFacts, reopenDirectory, withFd } from './resolve.ts'
import type { FileView } from './views.ts'

/** The copy to make, and its target. */
export interface Replacement {
  io: TaskIo<MainThreadTask, 'done'>
  view: FileView
  path: RawPath
  source: CopySource
  parentFd: number
  name: RawPath
  /** The name of the copy before the exchange, and of the replaced file after it. */
  temporaryName: RawPath
}

/** Makes a copy, syncs it, exchanges it with the present entry of that name, and removes that. */
export function* replace(replacement: Replacement): Steps<FileFacts> {
  const { io, view, parentFd, path, temporaryName } = replacement
  const draft = yield* makeDraft(replacement)
  try {
    yield* commit(io, parentFd)
    if (draft.isNameless) linkFd(draft.fd, parentFd, temporaryName)
    draft.isNameless = false
    const { inode } = statFd(draft.fd)
    const isReplaced = takeName(view, replacement)
    if (statAt(parentFd, rawBytesOf(replacement.name)).inode !== inode) throw hasMoved(path)
    draft.isPlaced = true
    yield* commit(io, parentFd)
    if (isReplaced) yield* discard(io, { parentFd, name: temporaryName, inode: null })
    return readFacts(view, draft.fd)
  } catch (error) {
    yield* dropDraft(io, draft, { parentFd, temporaryName })
    throw error
  } finally {
    // A cancelled task gets no more turns.
    finish(dropDraft(AT_ONCE, draft, { parentFd, temporaryName }))
    closeFd(draft.fd)
  }
}

/** The copy before it gets the name. */
interface Draft {
  fd: number
  isNameless: boolean
  /** True once it has the name or was removed. */
  isPlaced: boolean
}

function* makeDraft({ io, path, source, parentFd, temporaryName }: Replacement): Steps<Draft> {
  const kind = kindOf(source.stat)
  if (kind === 'file') {
    const fd = yield* copyFile(io, source, { directoryFd: parentFd, name: null })
    return { fd, isNameless: true, isPlaced: false }
  }
  if (kind === 'directory') makeDirectoryAt(parentFd, rawBytesOf(temporaryName), 0o700)
  else copyOther(source, { directoryFd: parentFd, name: temporaryName })
  const draft: Draft = { fd: openName(parentFd, temporaryName), isNameless: false, isPlaced: false }
  let isWhole = false
  try {
    const copy = { sourceFd: source.fd, targetFd: draft.fd, idBase: source.idBase, path }
    if (kind === 'directory') yield* copyDirectory(io, copy)
    isWhole = true
    return draft
  } catch (error) {
    yield* dropDraft(io, draft, { parentFd, temporaryName })
    throw error
  } finally {
    if (!isWhole) {
      finish(dropDraft(AT_ONCE, draft, { parentFd, temporaryName }))
      closeFd(draft.fd)
    }
  }
}

/** Gives the copy its name. Returns true if a file had it, which now has the temporary one. */
function takeName(view: FileView, { parentFd, name, path, temporaryName }: Replacement): boolean {
  const names = { fromFd: parentFd, fromName: rawBytesOf(temporaryName), toFd: parentFd, toName: rawBytesOf(name) }
  for (let attempt = 1; ; attempt++) {
    try {
      const isTaken = checkReplaceable(view, { parentFd, name, path })
      renameBetween({ ...names, flags: isTaken ? RENAME.EXCHANGE : RENAME.NOREPLACE })
      return isTaken
    } catch (error) {
      // The box has just created or removed something of that name.
      if (!isErrno(error, 'EEXIST', 'ENOENT') || attempt >= ATTEMPTS_MAX) throw error
    }
  }
}

/** Throws `path_invalid` if something is mounted there or below. Returns true if the name exists. */
export function checkReplaceable(
  view: FileView,
  { parentFd, name, path }: { parentFd: number; name: RawPath; path: RawPath },
): boolean {
  let fd: number
  try {
    fd = openName(parentFd, name)
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return false
    throw error
  }
  return withFd(fd, () => {
    checkNoMount(path, { parentFd, fd })
    if (kindOf(statFd(fd)) === 'directory') checkNoMountsBelow(view, fd, path)
    return true
  })
}

/** Syncs the filesystem of a directory, so that a name never becomes durable before its data. */
function* commit(io: TaskIo<MainThreadTask, 'done'>, parentFd: number): Steps<void> {
  const fd = reopenDirectory(parentFd)
  try {
    yield* io.send({ act: 'commit', fd })
    yield* io.receive()
  } finally {
    closeFd(fd)
  }
}

function* dropDraft(
  io: Turns,
  draft: Draft,
  { parentFd, temporaryName }: { parentFd: number; temporaryName: RawPath },
): Steps<void> {
  if (draft.isPlaced) return
  if (!draft.isNameless) yield* discard(io, { parentFd, name: temporaryName, inode: statFd(draft.fd).inode })
  draft.isPlaced = true
}

/** The entry with the temporary name. With an inode, only if it is that file. */
interface TemporaryFile {
  parentFd: number
  name: RawPath
  inode: number | null
}

/** Removes it. Ignores failures, which the box can cause, because the restore does not depend on it. */
function* discard(io: Turns, { parentFd, name, inode }: TemporaryFile): Steps<void> {
  try {
    const stat = statAt(parentFd, rawBytesOf(name))
    if (inode !== null && stat.inode !== inode) return
    if (kindOf(stat) === 'directory') yield* removeTree(io, name, { parentFd, name })
    else removeAt(parentFd, rawBytesOf(name))
  } catch (error) {
    if (!(error instanceof ServiceError || error instanceof SyscallError)) throw error
  }
}

function hasMoved(path: RawPath): ServiceError {
  return refusal('box_busy', [`${showPath(path)}: it was moved while it was restored.`, 'Try again.'])
}

function finish(steps: Steps<void>): void {
  while (steps.next().done !== true);
}

const AT_ONCE: Turns = { mustPause: () => false }
const ATTEMPTS_MAX = 10
