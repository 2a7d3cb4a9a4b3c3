import { randomBytes } from 'node:crypto'
import { ServiceError } from '../../../shared/errors.ts'
import { changeOwner, closeFd } from '../../lib/syscalls/descriptors.ts'
import { changeMode, linkFd, syncFd } from '../../lib/syscalls/directories.ts'
import { O, openBelow, RESOLVE, removeAt, renameBetween, writeFd } from '../../lib/syscalls/files.ts'
import { type FileStat, statFd } from '../../lib/syscalls/stat.ts'
import type { Steps, TaskIo } from '../../lib/threads/steps.ts'
import type { WriteOptions, WrittenFile } from '../../ports/files/files.ts'
import { type MainThreadTask, settleFile, syncChanges } from './durability.ts'
import { factsOf, fileEtagOf, hasBoxId, kindOf } from './facts.ts'
import { withFaults } from './faults.ts'
import { isADirectory, pathInvalid, type RawPath, rawBytesOf, showPath } from './paths.ts'
import type { PathArgument } from './reading.ts'
import { reopenDirectories } from './resolve.ts'
import { type FileTarget, makeDirectories, withTarget } from './targets.ts'
import { asBoxRoot, type FileView, openView } from './views.ts'

export interface WriteArgument extends PathArgument {
  wish: WriteOptions
  /** All of it, if it is small; null: the file is to be filled. */
  bytes: Uint8Array | null
}

/**
 * Writes a file that has no name until all of it is where it is to lie, so that nothing is left of one that is given up, not
 * even by the end of this process. The name is given in one step, in which no other task of the box has its turn.
 */
export function* writeTask(io: TaskIo<MainThreadTask, 'done'>, argument: WriteArgument): Steps<WrittenFile> {
  const { path, wish, bytes } = argument
  const view = openView(argument.place)
  let draftFd: number | undefined
  const changed: number[] = []
  try {
    draftFd = withFaults(path, () => withTarget(view, { path, ...wish }, (target) => openDraft(view, argument, target)))
    if (bytes === null) {
      yield* io.say({ act: 'fill', fd: draftFd })
      yield* io.hear()
      yield* io.say({ act: 'settle', fd: draftFd })
      yield* io.hear()
      view.checkLife()
    } else writeSmall(path, draftFd, bytes)
    const { isNew } = commit(view, argument, { draftFd, changed })
    const facts = factsOf(statFd(draftFd), view.idBase, null)
    // With a file btrfs brings its name to the disk, and whose name that was.
    if (bytes === null) {
      yield* io.say({ act: 'sync', fd: draftFd })
      yield* io.hear()
    } else syncFd(draftFd)
    syncChanges(changed.splice(0))
    return { facts, isNew }
  } finally {
    changed.forEach(closeFd)
    if (draftFd !== undefined) closeFd(draftFd)
    view.close()
  }
}

// To hand so little over would take longer than to wait for the disk.
function writeSmall(path: RawPath, fd: number, bytes: Uint8Array): void {
  withFaults(path, () => {
    writeFd(fd, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))
    settleFile(fd)
  })
}

function openDraft(view: FileView, { path, wish }: WriteArgument, target: FileTarget): number {
  checkTarget(path, wish, target)
  const draftFd = asBoxRoot(view, () => openBelow(target.parentFd, '.', DRAFT))
  try {
    takeAfter(view, draftFd, { wish, stat: target.stat })
    return draftFd
  } catch (error) {
    closeFd(draftFd)
    throw error
  }
}

/** A file that is to get its name; `changed` takes the directories that are to be synced after it. */
interface Draft {
  draftFd: number
  changed: number[]
}

/** Gives the draft its name, wherever the path leads by now; `isNew` if there was no such file. */
function commit(view: FileView, { path, wish }: WriteArgument, { draftFd, changed }: Draft): { isNew: boolean } {
  for (let attempt = 1; ; attempt++) {
    try {
      return withFaults(path, () =>
        withTarget(view, { path, ...wish }, (target) => {
          checkTarget(path, wish, target)
          // Where the directory was exchanged for one of another disk.
          if (statFd(target.parentFd).mountId !== statFd(draftFd).mountId) throw hasMoved(path)
          takeAfter(view, draftFd, { wish, stat: target.stat })
          changed.push(...giveName(view, draftFd, target))
          return { isNew: target.stat === null }
        }),
      )
    } catch (error) {
      // A process of the box made something of that name just now.
      if (!(error instanceof ServiceError) || error.code !== 'name_taken' || attempt >= ATTEMPTS_MAX) throw error
    }
  }
}

/** What is returned is to be synced after the file, and closed. */
function giveName(view: FileView, draftFd: number, { parentFd, missing, name, stat }: FileTarget): number[] {
  if (missing.length === 0) {
    asBoxRoot(view, () =>
      stat === null ? linkFd(draftFd, parentFd, rawBytesOf(name)) : replace(draftFd, parentFd, name),
    )
    return []
  }
  const made = makeDirectories(view, { parentFd, names: missing })
  try {
    asBoxRoot(view, () => linkFd(draftFd, made.fd, rawBytesOf(name)))
    return reopenDirectories([made.fd, parentFd])
  } catch (error) {
    made.undo()
    throw error
  } finally {
    made.close()
  }
}

// A file without a name cannot replace another in one go; the one it has in between lasts for the next call.
function replace(draftFd: number, parentFd: number, name: RawPath): void {
  const passing = `.boxyard-${randomBytes(8).toString('hex')}`
  linkFd(draftFd, parentFd, passing)
  try {
    renameBetween({ fromFd: parentFd, fromName: passing, toFd: parentFd, toName: rawBytesOf(name) })
  } catch (error) {
    removeAt(parentFd, passing)
    throw error
  }
}

/** Throws if the file may not be replaced, or made, as things are. */
function checkTarget(path: RawPath, { ifMatch, ifNoneMatch }: WriteOptions, { parentFd, stat }: FileTarget): void {
  if (stat === null) {
    if (ifMatch !== null) throw preconditionFailed(path, 'there is no such file')
    return
  }
  if (kindOf(stat) === 'directory') throw isADirectory(path)
  if (kindOf(stat) !== 'file') throw pathInvalid(path, 'it is no regular file')
  if (stat.mountId !== statFd(parentFd).mountId) throw pathInvalid(path, 'it is a file of the system, mounted there')
  if (ifNoneMatch) throw preconditionFailed(path, 'the file exists')
  if (ifMatch !== null && ifMatch !== '*' && !ifMatch.includes(fileEtagOf(stat)))
    throw preconditionFailed(path, 'the file has changed')
}

/** Makes the draft have owner and mode of the file it replaces, or a new one has. */
function takeAfter(
  view: FileView,
  draftFd: number,
  { wish, stat }: { wish: WriteOptions; stat: FileStat | null },
): void {
  const now = statFd(draftFd)
  const { uid, gid } = stat !== null && hasBoxId(stat, view.idBase) ? stat : { uid: view.idBase, gid: view.idBase }
  const mode = wish.mode ?? (stat === null ? 0o644 : stat.mode & 0o7777)
  if (now.uid === uid && now.gid === gid && (now.mode & 0o7777) === mode) return
  // In this order: a change of the owner takes the bits away by which programs run as theirs.
  if (now.uid !== uid || now.gid !== gid) changeOwner(draftFd, uid, gid)
  changeMode(draftFd, mode)
}

function preconditionFailed(path: RawPath, why: string): ServiceError {
  return new ServiceError('precondition_failed', `${showPath(path)}: ${why}.`)
}

function hasMoved(path: RawPath): ServiceError {
  return new ServiceError('box_busy', `${showPath(path)}: its directory was moved while it was written.`)
}

const DRAFT = { flags: O.TMPFILE | O.RDWR, mode: 0o600, resolve: RESOLVE.BENEATH | RESOLVE.NO_SYMLINKS }
const ATTEMPTS_MAX = 10
