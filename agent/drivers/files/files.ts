import { openPulled } from '../../../shared/pulled-flow.ts'
import { programFile } from '../../lib/program-files.ts'
import { createFileThreads, type FileThreads } from '../../lib/threads/threads.ts'
import type { Files, FilesRoot, UnpackReport, WrittenFile } from '../../ports/files/files.ts'
import { packedBytes, pruneBytes, unpackBytes } from './archives.ts'
import { takeEntries } from './columns.ts'
import { createDiskTurns, type DiskTurns, rootOwnerOf } from './disk-turns.ts'
import { readHead, runMainThreadTasks } from './main-thread-tasks.ts'
import { openedFile } from './open-file.ts'
import { rawOf, rawPathOf } from './paths.ts'
import { SMALL_BYTES } from './reading.ts'
import { createWithRoot, type HostFilesOptions, openBeside, type WithRoot } from './roots.ts'
import type { FileTasks } from './tasks.ts'
import { createFileTransfers, type FileTransfers } from './transfers.ts'

/** The files of the boxes of this host. */
export interface HostFiles extends Files {
  /** Starts the first thread ahead of the first call. */
  start(): Promise<void>
}

/** Serves files in threads that have access only to /proc and to the descriptors passed to them. */
export function createHostFiles({ find }: HostFilesOptions): HostFiles {
  const threads: FileThreads<FileTasks> = createFileThreads({ module: TASKS })
  const transfers = createFileTransfers()
  const disk = createDiskTurns()
  const limited: Limited = (isLong, root, work) => (isLong ? transfers.run(root, work) : work())
  const withRoot = createWithRoot({ find })
  return {
    start: () => threads.start(),
    stat: (root, path) => withRoot(root, path, (task) => threads.run(root.boxId, { name: 'stat', ...task })),
    list: (root, path, { after, take, ...options }) =>
      limited(options.depth > 1, root, () =>
        withRoot(root, path, async ({ argument, fds }) => {
          const cursor = after === null ? null : rawOf(after)
          const page = { ...argument, ...options, after: cursor }
          // A retried task has delivered no entry yet.
          const channel = await threads.begin(root.boxId, { name: 'list', argument: page, fds })
          return takeEntries(channel, { take, flow: openPulled(rootOwnerOf(root)) })
        }),
      ),
    open: (root, path) =>
      withRoot(root, path, async (task) => {
        const channel = await threads.begin(root.boxId, { name: 'open', ...task })
        return openedFile(channel, { path: rawOf(path), acquire: () => transfers.acquire(root), onDisk: disk.of(root) })
      }),
    write: async (...write) => {
      const [root, path, options, bytes] = write
      const head = await readHead(bytes, SMALL_BYTES)
      const work = async (): Promise<WrittenFile> => {
        const { channel, first } = await withRoot(root, path, async ({ argument, fds }) => {
          const channel = await threads.begin(root.boxId, {
            name: 'write',
            argument: { ...argument, options, bytes: head.whole },
            fds,
          })
          // Until its first message the task may fail because the box has stopped or started, and then a retry follows.
          return { channel, first: await channel.receive() }
        })
        return runMainThreadTasks(channel, { path: rawOf(path), first, bytes: head.bytes, onDisk: disk.of(root) })
      }
      try {
        return await limited(head.whole === null, root, work)
      } finally {
        await head.release()
      }
    },
    remove: (root, path, options) =>
      limited(options.recursive, root, () =>
        withRoot(root, path, ({ argument, fds }) =>
          threads.run(root.boxId, { name: 'remove', argument: { ...argument, ...options }, fds }),
        ),
      ),
    move: async (...move) => {
      const [root, from, to, options] = move
      const rawTo = rawPathOf(to)
      return withRoot(root, from, ({ argument, fds }) =>
        threads.run(root.boxId, { name: 'move', argument: { ...argument, ...options, to: rawTo }, fds }),
      )
    },
    makeDirectory: (root, path, options) =>
      withRoot(root, path, ({ argument, fds }) =>
        threads.run(root.boxId, { name: 'makeDirectory', argument: { ...argument, ...options }, fds }),
      ),
    ...createRestoreCall({ threads, transfers, withRoot, disk }),
    ...createArchiveCalls({ threads, transfers, withRoot, disk }),
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
  withRoot: WithRoot
  disk: DiskTurns
}

function createRestoreCall({ threads, transfers, withRoot, disk }: LongCallDeps): Pick<Files, 'restore'> {
  return {
    restore: (root, from, { path, temporaryName }) =>
      transfers.run(root, async () => {
        const { channel, first } = await withRoot(root, path, async ({ argument, fds }) => {
          const snapshot = openBeside(fds, from)
          const both = { ...argument, from: snapshot.root, temporaryName }
          const channel = await threads.begin(root.boxId, { name: 'restore', argument: both, fds: snapshot.fds })
          return { channel, first: await channel.receive() }
        })
        return runMainThreadTasks(channel, { path: rawOf(path), first, bytes: null, onDisk: disk.of(root) })
      }),
  }
}

function createArchiveCalls(deps: LongCallDeps): Pick<Files, 'pack' | 'unpack' | 'unpackLayer'> {
  const { threads, transfers, withRoot } = deps
  const unpack = async (root: FilesRoot, path: Uint8Array, archive: Archive): Promise<UnpackReport> => {
    const { isLayer, bytes } = archive
    const channel = await withRoot(root, path, async ({ argument, fds }) => {
      const channel = await threads.begin(root.boxId, { name: 'unpack', argument: { ...argument, isLayer }, fds })
      // Waits for `ready`. Throws if the task has failed.
      await channel.receive()
      return channel
    })
    return unpackBytes(channel, { path: rawOf(path), source: bytes() })
  }
  const prune = async (root: FilesRoot, path: Uint8Array, source: AsyncIterable<Uint8Array>): Promise<void> => {
    const channel = await withRoot(root, path, async (task) => {
      const channel = await threads.begin(root.boxId, { name: 'prune', ...task })
      await channel.receive()
      return channel
    })
    await pruneBytes(channel, { path: rawOf(path), source })
  }
  return {
    pack: async (root, path) => {
      const leave = transfers.acquire(root)
      try {
        return await withRoot(root, path, async (task) => {
          const channel = await threads.begin(root.boxId, { name: 'pack', ...task })
          return packedBytes(channel, leave)
        })
      } catch (error) {
        leave()
        throw error
      }
    },
    unpack: (root, path, source) =>
      transfers.run(root, () => unpack(root, path, { isLayer: false, bytes: () => source })),
    unpackLayer: (root, path, bytes) =>
      transfers.run(root, async () => {
        await prune(root, path, bytes())
        return unpack(root, path, { isLayer: true, bytes })
      }),
  }
}

type Limited = <T>(isLong: boolean, root: FilesRoot, work: () => Promise<T>) => Promise<T>

const TASKS = programFile('agent/drivers/files/tasks.ts')
