import { randomBytes } from 'node:crypto'
import { changeOwner } from '../../../lib/syscalls/descriptors.ts'
import { changeMode, linkAt, linkFd, symlinkAt } from '../../../lib/syscalls/directories.ts'
import {
  makeDirectoryAt,
  O,
  openBelow,
  RESOLVE,
  removeAt,
  renameBetween,
  writeFd,
} from '../../../lib/syscalls/files.ts'
import { isErrno } from '../../../lib/syscalls/libc.ts'
import { changeOwnerOfPath, setModified } from '../../../lib/syscalls/marks.ts'
import { statAt, statFd } from '../../../lib/syscalls/stat.ts'
import type { TarEntry } from '../../../lib/tar/reader.ts'
import type { Steps } from '../../../lib/threads/steps.ts'
import { kindOf } from '../facts.ts'
import { type RawPath, rawBytesOf } from '../paths.ts'
import { checkWritableMount, openName, withFd } from '../resolve.ts'
import { RefusedName } from './names.ts'
import type { Place } from './places.ts'

/** Where an entry is made. */
export interface Spot {
  place: Place
  name: RawPath
  /** The id here of the box's id 0. */
  idBase: number
}

/** Opens a file without a name, of which nothing is left if it is given up. */
export function openNameless({ place }: Spot, { mode }: TarEntry): number {
  return openBelow(place.fd, '.', { flags: O.TMPFILE | O.WRONLY, mode: mode & 0o7777, resolve: STRICT })
}

/** Fills it piece by piece. */
export function* fillNameless(
  fd: number,
  { read, mustPause }: { read(): Steps<Buffer | null>; mustPause(): boolean },
): Steps<void> {
  for (let piece = yield* read(); piece !== null; piece = yield* read()) {
    writeFd(fd, piece)
    if (mustPause()) yield 'turn'
  }
}

/** Gives it what the archive tells of it, and its name, in place of a file or link. */
export function nameFile(spot: Spot, entry: TarEntry, fd: number): void {
  setFacts(fd, spot, entry)
  setModified(fd, entryTimeOf(entry))
  takeName(spot, (name) => linkFd(fd, spot.place.fd, name))
}

/** Makes a directory, or gives the one that is there the facts, but for the time, which what is made in it would change. */
export function makeDirectory(spot: Spot, entry: TarEntry): void {
  const name = rawBytesOf(spot.name)
  try {
    makeDirectoryAt(spot.place.fd, name, entry.mode & 0o7777)
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error
  }
  withFd(openBelow(spot.place.fd, name, DIRECTORY), (fd) => {
    checkWritableMount(fd, spot.name)
    setFacts(fd, spot, entry)
  })
}

export function makeSymlink(spot: Spot, entry: TarEntry): void {
  const target = rawBytesOf(entry.target)
  takeName(spot, (name) => {
    symlinkAt(target, spot.place.fd, name)
    withFd(openName(spot.place.fd, name.toString('latin1', 0, name.length - 1)), (fd) => {
      // Else the box has put something else there by now.
      if (kindOf(statFd(fd)) !== 'symlink') return
      changeOwnerOfPath(fd, spot.idBase + entry.uid, spot.idBase + entry.gid)
      setModified(fd, entryTimeOf(entry))
    })
  })
}

/** Makes another name of what has the name `name` in `from`. */
export function makeLink(spot: Spot, from: { fd: number; name: RawPath }): void {
  const kind = kindOf(statAt(from.fd, rawBytesOf(from.name)))
  if (kind !== 'file' && kind !== 'symlink') throw new RefusedName('it links to what is neither a file nor a link')
  takeName(spot, (name) => linkAt(from.fd, rawBytesOf(from.name), { fd: spot.place.fd, name }))
}

export function entryTimeOf({ modifiedSeconds, modifiedNanoseconds }: TarEntry): {
  seconds: number
  nanoseconds: number
} {
  return { seconds: modifiedSeconds, nanoseconds: modifiedNanoseconds }
}

function setFacts(fd: number, { idBase }: Spot, { uid, gid, mode }: TarEntry): void {
  changeOwner(fd, idBase + uid, idBase + gid)
  // A change of the owner takes the bits away by which programs run as theirs, and what is there may have another mode.
  changeMode(fd, mode & 0o7777)
}

/** Has `make` make something of the name, or if that is taken by a file or link, of another that then takes its place. */
function takeName({ place, name }: Spot, make: (name: Buffer) => void): void {
  const final = rawBytesOf(name)
  for (let attempt = 1; ; attempt++) {
    try {
      return make(final)
    } catch (error) {
      if (!isErrno(error, 'EEXIST')) throw error
    }
    try {
      return replace(place, final, make)
    } catch (error) {
      // The box has taken it away just now.
      if (!isErrno(error, 'ENOENT') || attempt >= ATTEMPTS_MAX) throw error
    }
  }
}

function replace(place: Place, final: Buffer, make: (name: Buffer) => void): void {
  const stat = statAt(place.fd, final)
  // A rename would take the mount away, which the kernel forbids only those who see it.
  if (stat.mountId !== place.mountId) throw new RefusedName('a volume or file of the system is mounted there')
  const kind = kindOf(stat)
  if (kind !== 'file' && kind !== 'symlink') throw new RefusedName('something of another kind has its name')
  const passing = Buffer.from(`.boxyard-${randomBytes(8).toString('hex')}\0`)
  make(passing)
  try {
    renameBetween({ fromFd: place.fd, fromName: passing, toFd: place.fd, toName: final })
  } finally {
    removePassing(place.fd, passing)
  }
}

// After a rename it is still there if both were names of the same file.
function removePassing(directoryFd: number, passing: Buffer): void {
  try {
    removeAt(directoryFd, passing)
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error
  }
}

const STRICT = RESOLVE.BENEATH | RESOLVE.NO_SYMLINKS
const DIRECTORY = { flags: O.RDONLY | O.DIRECTORY | O.NOFOLLOW, resolve: STRICT }
const ATTEMPTS_MAX = 10
