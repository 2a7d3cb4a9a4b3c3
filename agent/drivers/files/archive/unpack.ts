import { closeFd, duplicateFd } from '../../../lib/syscalls/descriptors.ts'
import { isErrno } from '../../../lib/syscalls/libc.ts'
import { createTarReader, type TarEntry, type TarReader } from '../../../lib/tar/reader.ts'
import type { Steps, TaskIo } from '../../../lib/threads/steps.ts'
import { explainFault } from '../faults.ts'
import type { RawPath } from '../paths.ts'
import type { PathArgument } from '../reading.ts'
import { checkWritableMount, openDirectoryPath, withFd } from '../resolve.ts'
import { asBoxRootThroughout, type FileView, openView } from '../views.ts'
import { fillNameless, makeDirectory, makeLink, makeSymlink, nameFile, openNameless, type Spot } from './making.ts'
import { absoluteNames, checkLinkTarget, entryNames, RefusedName } from './names.ts'
import { createPlaces, type Places } from './places.ts'
import { WHITEOUT } from './prune.ts'
import { newReport, reportRefusedName, type UnpackedTree } from './report.ts'
import { addTime, createTimes, type DirectoryTimes, setTimes } from './times.ts'

/** What the task says: that it takes the archive, and then a directory of each disk that is to be synced. */
export type UnpackSent = { act: 'ready' } | { act: 'sync'; fd: number }

export interface UnpackArgument extends PathArgument {
  /** Whether it is a layer of an image: what that takes away is passed over. */
  isLayer: boolean
}

/** What it hears: the bytes of the archive, null at their end, and each time when the disk is synced. */
export type UnpackReceived = Uint8Array | null | 'synced'

/**
 * Unpacks a tar into a directory, whose own facts stay as they are. Every entry is made below it without going through a link,
 * with mode, owner and time as the archive tells, and a file only when all of it is there. What may not be made is left out and
 * reported. One sync of each disk makes all of it durable, which many files need less than one each would take.
 */
export function* unpackTask(io: TaskIo<UnpackSent, UnpackReceived>, argument: UnpackArgument): Steps<UnpackedTree> {
  const { place, path, isLayer } = argument
  const view = openView(place)
  try {
    return yield* asBoxRootThroughout(view, unpack(io, view, { path, isLayer }))
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
  places: Places
  times: DirectoryTimes
  /** The names of the directory in the box. */
  root: readonly RawPath[]
  isLayer: boolean
}

function* unpack(
  io: TaskIo<UnpackSent, UnpackReceived>,
  view: FileView,
  { path, isLayer }: { path: RawPath; isLayer: boolean },
): Steps<UnpackedTree> {
  const destinationFd = openDirectoryPath(view, path)
  const places = createPlaces(destinationFd)
  try {
    checkWritableMount(destinationFd, path)
    yield* io.say({ act: 'ready' })
    const hear = io.hear as () => Steps<Uint8Array | null>
    const reader = createTarReader(hear)
    const times = createTimes(destinationFd)
    const root = absoluteNames(path)
    const report = yield* unpackEntries({ io, idBase: view.idBase, reader, places, times, root, isLayer })
    yield* setTimes(times, io)
    yield* reader.drain()
    for (const fd of places.disks()) {
      yield* io.say({ act: 'sync', fd })
      yield* io.hear()
    }
    return report
  } finally {
    places.close()
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
      reportRefusedName(report, entry.path, error)
    }
    if (io.mustPause()) yield 'turn'
  }
  return report
}

/** False for the directory that is unpacked into, and for what a layer takes away. */
function* unpackEntry(unpacking: Unpacking, entry: TarEntry): Steps<boolean> {
  const names = entryNames(entry.path)
  checkEntry(entry)
  const name = names.at(-1)
  if (name === undefined) {
    if (entry.kind !== 'directory') throw new RefusedName('it has the name of the directory itself')
    return false
  }
  if (unpacking.isLayer && names.some((each) => each.startsWith(WHITEOUT))) return false
  const where = { parent: names.slice(0, -1), name }
  if (entry.kind === 'file') yield* unpackFile(unpacking, entry, where)
  else if (entry.kind === 'link') unpackLink(unpacking, entry, where)
  else if (entry.kind === 'symlink') {
    checkLinkTarget(entry.target, { parent: where.parent, root: unpacking.root })
    withSpot(unpacking, where, (spot) => makeSymlink(spot, entry))
  } else {
    withSpot(unpacking, where, (spot) => makeDirectory(spot, entry))
    yield* addTime(unpacking.times, { names, entry, io: unpacking.io })
  }
  return true
}

/** The names of an entry, or of what it links to. */
interface Where {
  parent: readonly RawPath[]
  name: RawPath
}

function* unpackFile(unpacking: Unpacking, entry: TarEntry, where: Where): Steps<void> {
  const { io, reader } = unpacking
  const fd = withSpot(unpacking, where, (spot) => openNameless(spot, entry))
  try {
    yield* fillNameless(fd, { read: () => reader.read(), mustPause: io.mustPause })
    withSpot(unpacking, where, (spot) => nameFile(spot, entry, fd))
  } finally {
    closeFd(fd)
  }
}

function unpackLink(unpacking: Unpacking, entry: TarEntry, where: Where): void {
  const from = linkedFrom(entry)
  // A descriptor of its own: to open the one directory may be to close the other.
  const fromFd = withSpot({ ...unpacking, make: false }, from, ({ place }) => duplicateFd(place.fd))
  withFd(fromFd, (fd) => withSpot(unpacking, where, (spot) => makeLink(spot, { fd, name: from.name })))
}

function checkEntry({ kind, fault, uid, gid }: TarEntry): void {
  if (fault !== null) throw new RefusedName(fault)
  const refused = REFUSED_KINDS[kind]
  if (refused !== undefined) throw new RefusedName(refused)
  if ([uid, gid].some((id) => id < 0 || id > ID_MAX))
    throw new RefusedName(`its owner or group is none of 0 to ${ID_MAX}`)
}

function linkedFrom({ target }: TarEntry): Where {
  let names: RawPath[]
  try {
    names = entryNames(target)
  } catch (error) {
    throw error instanceof RefusedName ? new RefusedName('what it links to is not below the directory') : error
  }
  const name = names.at(-1)
  if (name === undefined) throw new RefusedName('it links to the directory itself')
  return { parent: names.slice(0, -1), name }
}

/** Does `work` where an entry belongs; in a directory that was removed since it was opened once more in one that is there. */
function withSpot<T>(
  { places, idBase, make = true }: { places: Places; idBase: number; make?: boolean },
  { parent, name }: Where,
  work: (spot: Spot) => T,
): T {
  const attempt = (): T => work({ place: places.open(parent, { make }), name, idBase })
  try {
    return attempt()
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error
  }
  places.forget()
  return attempt()
}

const ID_MAX = 65_534
const REFUSED_KINDS: Readonly<Partial<Record<TarEntry['kind'], string>>> = {
  fifo: 'it is a FIFO',
  character: 'it is a device',
  block: 'it is a device',
  unknown: 'it is of a kind that is not unpacked',
}
