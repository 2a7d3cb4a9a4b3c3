import { createFileThreads, type FileThreads } from '../../lib/threads/threads.ts'
import type { Files, FilesPlace, UnpackReport, WrittenFile } from '../../ports/files/files.ts'
import { packedBytes, pruneBytes, unpackBytes } from './archives.ts'
import { takeEntries } from './columns.ts'
import { readHead, runMainThreadTasks } from './main-thread-tasks.ts'
import { openedFile } from './open-file.ts'
import { rawOf, rawPathOf } from './paths.ts'
import { createWithPlace, type HostFilesOptions, openBeside, type WithPlace } from './places.ts'
import { SMALL_BYTES } from './reading.ts'
import type { FileTasks } from './tasks.ts'
import { createFileTransfers, type FileTransfers } from './transfers.ts'

/** The files of the boxes of this host. */
export interface HostFiles extends Files {
  /** Starts the first thread ahead of the first call. */
  start(): Promise<void>
}

/** Serves files by threads that see nothing of this host but /proc and the descriptors they are given. */
export function createHostFiles({ find }: HostFilesOptions): HostFiles {
  const threads: FileThreads<FileTasks> = createFileThreads({ module: TASKS })
  const transfers = createFileTransfers()
  const limited: Limited = (isLong, { boxId }, work) => (isLong ? transfers.run(boxId, work) : work())
  const withPlace = createWithPlace({ find })
  return {
    start: () => threads.start(),
    stat: (place, path) => withPlace(place, path, (task) => threads.run(place.boxId, { name: 'stat', ...task })),
    list: (place, path, { after, take, ...options }) =>
      limited(options.depth > 1, place, () =>
        withPlace(place, path, async ({ argument, fds }) => {
          const cursor = after === null ? null : rawOf(after)
          const page = { ...argument, ...options, after: cursor }
          // A retried task has delivered no entry yet.
          return takeEntries(await threads.begin(place.boxId, { name: 'list', argument: page, fds }), take)
        }),
      ),
    open: (place, path) =>
      withPlace(place, path, async (task) => {
        const channel = await threads.begin(place.boxId, { name: 'open', ...task })
        return openedFile(channel, { path: rawOf(path), acquire: () => transfers.acquire(place.boxId) })
      }),
    write: async (...write) => {
      const [place, path, options, bytes] = write
      const head = await readHead(bytes, SMALL_BYTES)
      const work = async (): Promise<WrittenFile> => {
        const { channel, first } = await withPlace(place, path, async ({ argument, fds }) => {
          const channel = await threads.begin(place.boxId, {
            name: 'write',
            argument: { ...argument, options: options, bytes: head.whole },
            fds,
          })
          // Until its first message the task may fail because the box has stopped or started, and is retried.
          return { channel: channel, first: await channel.receive() }
        })
        return runMainThreadTasks(channel, { path: rawOf(path), first, bytes: head.bytes })
      }
      try {
        return await limited(head.whole === null, place, work)
      } finally {
        await head.release()
      }
    },
    remove: (place, path, options) =>
      limited(options.recursive, place, () =>
        withPlace(place, path, ({ argument, fds }) =>
          threads.run(place.boxId, { name: 'remove', argument: { ...argument, ...options }, fds }),
        ),
      ),
    move: async (...move) => {
      const [place, from, to, options] = move
      const rawTo = rawPathOf(to)
      return withPlace(place, from, ({ argument, fds }) =>
        threads.run(place.boxId, { name: 'move', argument: { ...argument, ...options, to: rawTo }, fds }),
      )
    },
    makeDirectory: (place, path, options) =>
      withPlace(place, path, ({ argument, fds }) =>
        threads.run(place.boxId, { name: 'makeDirectory', argument: { ...argument, ...options }, fds }),
      ),
    ...createRestoreCall({ threads, transfers, withPlace }),
    ...createArchiveCalls({ threads, transfers, withPlace }),
    close: () => threads.close(),
  }
}

interface Archive {
  isLayer: boolean
  bytes(): AsyncIterable<Uint8Array>
}

interface LongCallDeps {
  threads: FileThreads<FileTasks>
  transfers: FileTransfers
  withPlace: WithPlace
}

function createRestoreCall({ threads, transfers, withPlace }: LongCallDeps): Pick<Files, 'restore'> {
  return {
    restore: (place, from, { path, temporaryName }) =>
      transfers.run(place.boxId, async () => {
        const { channel, first } = await withPlace(place, path, async ({ argument, fds }) => {
          const past = openBeside(fds, from)
          const both = { ...argument, from: past.place, temporaryName }
          const channel = await threads.begin(place.boxId, { name: 'restore', argument: both, fds: past.fds })
          return { channel: channel, first: await channel.receive() }
        })
        return runMainThreadTasks(channel, { path: rawOf(path), first, bytes: null })
      }),
  }
}

function createArchiveCalls(deps: LongCallDeps): Pick<Files, 'pack' | 'unpack' | 'unpackLayer'> {
  const { threads, transfers, withPlace } = deps
  const unpack = async (place: FilesPlace, path: Uint8Array, archive: Archive): Promise<UnpackReport> => {
    const { isLayer, bytes } = archive
    const channel = await withPlace(place, path, async ({ argument, fds }) => {
      const channel = await threads.begin(place.boxId, { name: 'unpack', argument: { ...argument, isLayer }, fds })
      // Waits for `ready`, or throws why not.
      await channel.receive()
      return channel
    })
    return unpackBytes(channel, { path: rawOf(path), source: bytes() })
  }
  const prune = async (place: FilesPlace, path: Uint8Array, source: AsyncIterable<Uint8Array>): Promise<void> => {
    const channel = await withPlace(place, path, async (task) => {
      const channel = await threads.begin(place.boxId, { name: 'prune', ...task })
      await channel.receive()
      return channel
    })
    await pruneBytes(channel, { path: rawOf(path), source })
  }
  return {
    pack: async (place, path) => {
      const leave = transfers.acquire(place.boxId)
      try {
        return await withPlace(place, path, async (task) => {
          const channel = await threads.begin(place.boxId, { name: 'pack', ...task })
          return packedBytes(channel, leave)
        })
      } catch (error) {
        leave()
        throw error
      }
    },
    unpack: (place, path, source) =>
      transfers.run(place.boxId, () => unpack(place, path, { isLayer: false, bytes: () => source })),
    unpackLayer: (place, path, bytes) =>
      transfers.run(place.boxId, async () => {
        await prune(place, path, bytes())
        return unpack(place, path, { isLayer: true, bytes })
      }),
  }
}

type Limited = <T>(isLong: boolean, place: FilesPlace, work: () => Promise<T>) => Promise<T>

const TASKS = new URL('./tasks.ts', import.meta.url)
