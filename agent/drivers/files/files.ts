import { setTimeout as sleep } from 'node:timers/promises'
import { ServiceError } from '../../../shared/errors.ts'
import { createFileThreads, type FileThreads } from '../../lib/threads/threads.ts'
import type { Files, FilesPlace, UnpackReport, WrittenFile } from '../../ports/files/files.ts'
import type { MountedBox } from '../boxes/mounts.ts'
import { packedBytes, pruneBytes, unpackBytes } from './archives.ts'
import { openedFile } from './bytes.ts'
import { takeEntries } from './columns.ts'
import { runMainThreadTasks, takeHead } from './main-thread-tasks.ts'
import { rawOf, rawPathOf } from './paths.ts'
import { type OpenedPlace, openBeside, openPlace, openSnapshot } from './places.ts'
import { type PathArgument, SMALL_BYTES } from './reading.ts'
import type { FileTasks } from './tasks.ts'
import { createFileTransfers, type FileTransfers } from './transfers.ts'

export interface HostFilesOptions {
  /** The box as it runs now; null if it does not. */
  find(boxId: string): MountedBox | null
}

/** The files of the boxes of this host. */
export interface HostFiles extends Files {
  /** Starts what the first call would have to wait for. */
  start(): Promise<void>
}

/** Files by threads of our own, which see nothing of this host but /proc and what they are given. */
export function createHostFiles({ find }: HostFilesOptions): HostFiles {
  const threads: FileThreads<FileTasks> = createFileThreads({ module: TASKS })
  const transfers = createFileTransfers()
  const counted: Counted = (isLong, { boxId }, work) => (isLong ? transfers.during(boxId, work) : work())
  const inPlace = createInPlace({ find })
  return {
    start: () => threads.start(),
    stat: (place, path) => inPlace(place, path, (task) => threads.run(place.boxId, { name: 'stat', ...task })),
    list: (place, path, { after, take, ...wish }) =>
      counted(wish.depth > 1, place, () =>
        inPlace(place, path, async ({ argument, fds }) => {
          const cursor = after === null ? null : rawOf(after)
          const page = { ...argument, ...wish, after: cursor }
          // What is begun anew has not given any entry yet.
          return takeEntries(await threads.begin(place.boxId, { name: 'list', argument: page, fds }), take)
        }),
      ),
    open: (place, path) =>
      inPlace(place, path, async (task) => {
        const talk = await threads.begin(place.boxId, { name: 'open', ...task })
        return openedFile(talk, { path: rawOf(path), enter: () => transfers.enter(place.boxId) })
      }),
    write: async (...write) => {
      const [place, path, wish, bytes] = write
      const head = await takeHead(bytes, SMALL_BYTES)
      const work = async (): Promise<WrittenFile> => {
        const { talk, first } = await inPlace(place, path, async ({ argument, fds }) => {
          const begun = await threads.begin(place.boxId, {
            name: 'write',
            argument: { ...argument, wish, bytes: head.whole },
            fds,
          })
          // Until it has said something it may still find that the box is not as it was told, and is begun again.
          return { talk: begun, first: await begun.next() }
        })
        return runMainThreadTasks(talk, { path: rawOf(path), first, bytes: head.bytes })
      }
      try {
        return await counted(head.whole === null, place, work)
      } finally {
        await head.release()
      }
    },
    remove: (place, path, options) =>
      counted(options.recursive, place, () =>
        inPlace(place, path, ({ argument, fds }) =>
          threads.run(place.boxId, { name: 'remove', argument: { ...argument, ...options }, fds }),
        ),
      ),
    move: async (...move) => {
      const [place, from, to, options] = move
      const rawTo = rawPathOf(to)
      return inPlace(place, from, ({ argument, fds }) =>
        threads.run(place.boxId, { name: 'move', argument: { ...argument, ...options, to: rawTo }, fds }),
      )
    },
    makeDirectory: (place, path, options) =>
      inPlace(place, path, ({ argument, fds }) =>
        threads.run(place.boxId, { name: 'makeDirectory', argument: { ...argument, ...options }, fds }),
      ),
    ...createRestoreCall({ threads, transfers, inPlace }),
    ...createArchiveCalls({ threads, transfers, inPlace }),
    close: () => threads.close(),
  }
}

/** Opens places, of a box that runs as it runs. */
function createInPlace({ find }: HostFilesOptions): InPlace {
  const openFound = (place: FilesPlace): OpenedPlace =>
    place.isSnapshot === true ? openSnapshot(place) : openPlace(place, find(place.boxId))
  return async (place, path, work) => {
    const raw = rawPathOf(path)
    return retried(() => {
      const opened = openFound(place)
      return work({ argument: { place: opened.place, path: raw }, fds: opened.fds })
    })
  }
}

interface Archive {
  isLayer: boolean
  bytes(): AsyncIterable<Uint8Array>
}

interface LongCallDeps {
  threads: FileThreads<FileTasks>
  transfers: FileTransfers
  inPlace: InPlace
}

function createRestoreCall({ threads, transfers, inPlace }: LongCallDeps): Pick<Files, 'restore'> {
  return {
    restore: (place, from, { path, passing }) =>
      transfers.during(place.boxId, async () => {
        const { talk, first } = await inPlace(place, path, async ({ argument, fds }) => {
          const past = openBeside(fds, from)
          const both = { ...argument, from: past.place, passing }
          const begun = await threads.begin(place.boxId, { name: 'restore', argument: both, fds: past.fds })
          return { talk: begun, first: await begun.next() }
        })
        return runMainThreadTasks(talk, { path: rawOf(path), first, bytes: null })
      }),
  }
}

function createArchiveCalls(deps: LongCallDeps): Pick<Files, 'pack' | 'unpack' | 'unpackLayer'> {
  const { threads, transfers, inPlace } = deps
  const unpack = async (place: FilesPlace, path: Uint8Array, archive: Archive): Promise<UnpackReport> => {
    const { isLayer, bytes } = archive
    const talk = await inPlace(place, path, async ({ argument, fds }) => {
      const begun = await threads.begin(place.boxId, { name: 'unpack', argument: { ...argument, isLayer }, fds })
      // That it is ready, or else why not.
      await begun.next()
      return begun
    })
    return unpackBytes(talk, { path: rawOf(path), source: bytes() })
  }
  const prune = async (place: FilesPlace, path: Uint8Array, source: AsyncIterable<Uint8Array>): Promise<void> => {
    const talk = await inPlace(place, path, async (task) => {
      const begun = await threads.begin(place.boxId, { name: 'prune', ...task })
      await begun.next()
      return begun
    })
    await pruneBytes(talk, { path: rawOf(path), source })
  }
  return {
    pack: async (place, path) => {
      const leave = transfers.enter(place.boxId)
      try {
        return await inPlace(place, path, async (task) => {
          const talk = await threads.begin(place.boxId, { name: 'pack', ...task })
          return packedBytes(talk, leave)
        })
      } catch (error) {
        leave()
        throw error
      }
    },
    unpack: (place, path, source) =>
      transfers.during(place.boxId, () => unpack(place, path, { isLayer: false, bytes: () => source })),
    unpackLayer: (place, path, bytes) =>
      transfers.during(place.boxId, async () => {
        await prune(place, path, bytes())
        return unpack(place, path, { isLayer: true, bytes })
      }),
  }
}

interface PathTask {
  argument: PathArgument
  fds: readonly number[]
}

type InPlace = <T>(place: FilesPlace, path: Uint8Array, work: (task: PathTask) => Promise<T>) => Promise<T>

type Counted = <T>(isLong: boolean, place: FilesPlace, work: () => Promise<T>) => Promise<T>

/** A box may stop, or start, between the question whether it runs and the look at its files. */
async function retried<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'box_not_running') throw error
      if (attempt >= ATTEMPTS_MAX)
        throw new ServiceError('box_busy', 'The box is being stopped or started.', { cause: error })
      await sleep(RETRY_MS)
    }
  }
}

const TASKS = new URL('./tasks.ts', import.meta.url)
const ATTEMPTS_MAX = 4
const RETRY_MS = 25
