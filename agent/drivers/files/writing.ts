import { randomBytes } from 'node:crypto'
import { ServiceError } from '../../../shared/errors.ts'
import { refusal } from '../../../shared/refusals.ts'
import { changeOwner, closeFd } from '../../lib/syscalls/descriptors.ts'
import { changeMode, linkFd, syncFd } from '../../lib/syscalls/directories.ts'
import { O, openBelow, RESOLVE, rawBytesOf, removeAt, renameBetween, writeFd } from '../../lib/syscalls/files.ts'
import { statFd } from '../../lib/syscalls/stat.ts'
import type { Steps, TaskIo } from '../../lib/threads/task.ts'
import type { WriteOptions, WrittenFile } from '../../ports/files/files.ts'
import { copyAttributes } from './attributes.ts'
import { type MainThreadTask, settleFile, syncChanges } from './durability.ts'
import { factsOf, fileEtagOf, hasBoxId, kindOf } from './facts.ts'
import { withFaults } from './faults.ts'
import { isADirectory, pathInvalid, type RawPath, showPath } from './paths.ts'
import type { PathArgument } from './reading.ts'
import { reopenDirectories } from './resolve.ts'
import { type FileTarget, makeDirectories, withTarget } from './targets.ts'
import { asBoxRoot, type FileView, openView } from './views.ts'

export interface WriteArgument extends PathArgument {
  options: WriteOptions
  /** All of its bytes if it is small, or null if the main thread fills the file. */
  bytes: Uint8Array | null
}

/**
 * Writes an unnamed file and links it once its data is allocated, so that an abandoned write leaves nothing, not even when this process
 * dies. Checks the target and links in one step, without a turn of another task of the box in between.
 */
export function* writeTask(io: TaskIo<MainThreadTask, 'done'>, argument: WriteArgument): Steps<WrittenFile> {
  const { path, options, bytes } = argument
  const view = openView(argument.root)
  let draftFd: number | undefined
  const changed: number[] = []
  try {
    draftFd = withFaults(path, () =>
      withTarget(view, { path, ...options }, (target) => openDraft(view, argument, target)),
    )
    if (bytes === null) {
      yield* io.send({ act: 'fill', fd: draftFd })
      yield* io.receive()
      yield* io.send({ act: 'settle', fd: draftFd })
      yield* io.receive()
      view.checkLife()
    } else writeSmall(path, draftFd, bytes)
    const { isNew } = commit(view, argument, { draftFd, changed })
    const facts = factsOf(statFd(draftFd), view.idBase, null)
    // Syncing a file makes btrfs commit its name too, and the loss of the name by the file it replaced.
    if (bytes === null) {
      yield* io.send({ act: 'sync', fd: draftFd })
      yield* io.receive()
    } else syncFd(draftFd)
    syncChanges(changed.splice(0))
    return { facts, isNew }
  } finally {
    changed.forEach(closeFd)
    if (draftFd !== undefined) closeFd(draftFd)
    view.close()
  }
}

// Writes in this thread, because handing so little to the main thread would take longer than the write.
function writeSmall(path: RawPath, fd: number, bytes: Uint8Array): void {
  withFaults(path, () => {
    writeFd(fd, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))
    settleFile(fd)
  })
}

function openDraft(view: FileView, { path, options }: WriteArgument, target: FileTarget): number {
  checkTarget(path, options, target)
  // The mode of a new file, less what a default ACL of its directory withholds.
  const draft = { ...DRAFT, mode: options.mode ?? 0o644 }
  const draftFd = asBoxRoot(view, () => openBelow(target.parentFd, '.', draft))
  try {
    applyOwnerAndMode(view, draftFd, { path, options, target })
    return draftFd
  } catch (error) {
    closeFd(draftFd)
    throw error
  }
}

/** A file before it gets its name. `changed` collects the directories to sync after it. */
interface Draft {
  draftFd: number
  changed: number[]
}

/** Links the draft where the path leads by now. `isNew` is true if there was no such file. */
function commit(view: FileView, { path, options }: WriteArgument, { draftFd, changed }: Draft): { isNew: boolean } {
  for (let attempt = 1; ; attempt++) {
    try {
      return withFaults(path, () =>
        withTarget(view, { path, ...options }, (target) => {
          checkTarget(path, options, target)
          // A directory of another disk has replaced it.
          if (statFd(target.parentFd).mountId !== statFd(draftFd).mountId) throw hasMoved(path)
          applyFacts(view, draftFd, { path, options, target })
          changed.push(...giveName(view, draftFd, target))
          return { isNew: target.present === null }
        }),
      )
    } catch (error) {
      // A process of the box has just created something of that name.
      if (!(error instanceof ServiceError) || error.code !== 'name_taken' || attempt >= ATTEMPTS_MAX) throw error
    }
  }
}

/** Returns the directories that the caller must sync after the file, and close. */
function giveName(view: FileView, draftFd: number, { parentFd, missing, name, present }: FileTarget): number[] {
  if (missing.length === 0) {
    asBoxRoot(view, () =>
      present === null ? linkFd(draftFd, parentFd, rawBytesOf(name)) : replace(draftFd, parentFd, name),
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

// An unnamed file cannot replace another in one call, so it gets a temporary name first.
function replace(draftFd: number, parentFd: number, name: RawPath): void {
  const temporaryName = `.boxyard-${randomBytes(8).toString('hex')}`
  linkFd(draftFd, parentFd, temporaryName)
  try {
    renameBetween({ fromFd: parentFd, fromName: temporaryName, toFd: parentFd, toName: rawBytesOf(name) })
  } catch (error) {
    removeAt(parentFd, temporaryName)
    throw error
  }
}

/** Throws if the target must not be replaced or created. */
function checkTarget(path: RawPath, { ifMatch, ifNoneMatch }: WriteOptions, { parentFd, present }: FileTarget): void {
  if (present === null) {
    if (ifMatch !== null) throw preconditionFailed(path, 'there is no such file')
    return
  }
  const { stat } = present
  if (kindOf(stat) === 'directory') throw isADirectory(path)
  if (kindOf(stat) !== 'file') throw pathInvalid(path, 'it is not a regular file')
  if (stat.mountId !== statFd(parentFd).mountId) throw pathInvalid(path, 'it is a file of the system, mounted there')
  if (ifNoneMatch) throw preconditionFailed(path, 'the file exists')
  if (ifMatch !== null && ifMatch !== '*' && !ifMatch.includes(fileEtagOf(stat)))
    throw preconditionFailed(path, 'the file has changed')
}

interface DraftFacts {
  path: RawPath
  options: WriteOptions
  target: FileTarget
}

/** Copies the metadata of the replaced file to the draft, except its time. Sets the metadata of a new file if it replaces none. */
function applyFacts(view: FileView, draftFd: number, facts: DraftFacts): void {
  const { path, options, target } = facts
  const { present } = target
  applyOwnerAndMode(view, draftFd, facts)
  if (present === null) return
  // The draft may have an ACL that its directory gives to new files.
  copyAttributes(present.fd, draftFd, { path, idShift: 0 })
  const mode = options.mode ?? present.stat.mode & 0o7777
  if ((statFd(draftFd).mode & 0o7777) !== mode) changeMode(draftFd, mode)
}

function applyOwnerAndMode(view: FileView, draftFd: number, { path, options, target: { present } }: DraftFacts): void {
  const now = statFd(draftFd)
  if (present !== null && !hasBoxId(present.stat, view.idBase))
    throw pathInvalid(path, 'its owner or group is none of the box, and would be lost')
  const { uid, gid } = present?.stat ?? { uid: view.idBase, gid: view.idBase }
  const mode = options.mode ?? (present?.stat ?? now).mode & 0o7777
  if (now.uid === uid && now.gid === gid && (now.mode & 0o7777) === mode) return
  // Changes the owner first, because that clears the set-uid and set-gid bits.
  if (now.uid !== uid || now.gid !== gid) changeOwner(draftFd, uid, gid)
  changeMode(draftFd, mode)
}

function preconditionFailed(path: RawPath, why: string): ServiceError {
  return refusal('precondition_failed', [`${showPath(path)}: ${why}.`, 'Read it again, and send its new ETag or none.'])
}

function hasMoved(path: RawPath): ServiceError {
  return refusal('box_busy', [`${showPath(path)}: its directory was moved while it was written.`, 'Try again.'])
}

const DRAFT = { flags: O.TMPFILE | O.RDWR, resolve: RESOLVE.BENEATH | RESOLVE.NO_SYMLINKS }
const ATTEMPTS_MAX = 10
