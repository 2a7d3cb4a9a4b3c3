import { ServiceError } from '../../../shared/errors.ts'
import { createKeyedLock, createLimiter } from '../../../shared/locks.ts'
import { killGroup, spawnChild } from '../../lib/run.ts'
import { closeFd } from '../../lib/syscalls/descriptors.ts'
import { O, openBelow } from '../../lib/syscalls/files.ts'
import type { FileThreads } from '../../lib/threads/threads.ts'
import type { ChangesPage, ChangesRequest } from '../../ports/pool/tree-changes.ts'
import { sendFault } from './send-stream.ts'
import type { BtrfsTasks } from './tasks.ts'
import { type ChangeRecords, changesPageOf } from './tree-changes-records.ts'

/** Compares read-only subvolumes of a pool. */
export interface BtrfsChanges {
  page(request: ChangesRequest): Promise<ChangesPage>
}

export interface BtrfsChangesOptions {
  rootFd: number
  mountPath: string
  threads: FileThreads<BtrfsTasks>
}

/**
 * Compares by `btrfs send` without data. The kernel skips the shared parts of the two trees, so the cost grows with the changes, times
 * their depth. Runs at most two comparisons, and one per share. Requests without a signal join a running one of the same pair. Caches the
 * latest results, 64 MiB in all.
 */
export function createBtrfsChanges(options: BtrfsChangesOptions): BtrfsChanges {
  const cache = createCache()
  const limiter = createLimiter(CONCURRENT_MAX)
  const shares = createKeyedLock()
  const running = new Map<string, Promise<ChangeRecords>>()
  const find = ({ from, to, share, signal }: ChangesRequest): Promise<ChangeRecords> => {
    const deadline = AbortSignal.timeout(DEADLINE_MS)
    const either = signal === undefined ? deadline : AbortSignal.any([signal, deadline])
    return shares.run(share, () => limiter.run(() => findChanges(options, { from, to, signal: either })))
  }
  const findOnce = (key: string, request: ChangesRequest): Promise<ChangeRecords> => {
    const found = find(request).finally(() => running.delete(key))
    running.set(key, found)
    return found
  }
  return {
    page: async (request) => {
      const { from, to, after, limit, keep, signal } = request
      const key = `${from} ${to}`
      let records = cache.get(key)
      if (records === null) {
        records = await (signal ? find(request) : (running.get(key) ?? findOnce(key, request)))
        if (keep) cache.set(key, records)
      }
      return changesPageOf(records, after, limit)
    },
  }
}

interface Pair {
  from: string
  to: string
  signal: AbortSignal
}

async function findChanges(options: BtrfsChangesOptions, { from, to, signal }: Pair): Promise<ChangeRecords> {
  const { rootFd, mountPath, threads } = options
  signal.throwIfAborted()
  const fds = openBoth(rootFd, [from, to])
  const [fromFd = -1, toFd = -1] = fds
  const channel = await threads.begin('changes', { name: 'changes', argument: { fromFd, toFd }, fds })
  try {
    for await (const piece of streamDifference(`${mountPath}/${from}`, `${mountPath}/${to}`, signal)) {
      const bytes = new Uint8Array(piece)
      await channel.send(bytes, [bytes.buffer])
    }
    await channel.send(null)
    const records = await channel.receive()
    signal.throwIfAborted()
    if (records === null) throw new Error('the reader sent no changes')
    return records
  } finally {
    await channel.end()
  }
}

/** Yields the whole stream, or throws. Stopping the iteration, or the signal, kills the program. */
async function* streamDifference(from: string, to: string, signal: AbortSignal): AsyncGenerator<Buffer> {
  const child = spawnChild('btrfs', ['send', '--no-data', '-q', '-p', from, to], { stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  ended.catch(() => undefined)
  const kill = (): void => void killGroup(child, 'SIGKILL')
  signal.addEventListener('abort', kill, { once: true })
  let errorText = ''
  child.stderr?.on('data', (text: Buffer) => {
    errorText = `${errorText}${text.toString()}`.slice(-500)
  })
  try {
    if (child.stdout !== null) yield* child.stdout as AsyncIterable<Buffer>
    const exitCode = await ended
    if (signal.aborted)
      throw new ServiceError('internal', 'The two were not compared in time.', { cause: signal.reason })
    if (exitCode !== 0) throw sendFault(errorText.trim() || `exit ${exitCode}`)
  } finally {
    kill()
    signal.removeEventListener('abort', kill)
  }
}

function openBoth(rootFd: number, names: readonly string[]): number[] {
  const fds: number[] = []
  try {
    for (const name of names) fds.push(openBelow(rootFd, name, { flags: O.RDONLY | O.DIRECTORY | O.NOFOLLOW }))
    return fds
  } catch (error) {
    fds.forEach(closeFd)
    throw error
  }
}

interface Cache {
  get(key: string): ChangeRecords | null
  set(key: string, records: ChangeRecords): void
}

/** Creates an LRU cache of results, which stay valid because the snapshots never change. */
function createCache(): Cache {
  const entries = new Map<string, ChangeRecords>()
  let total = 0
  return {
    get: (key) => {
      const records = entries.get(key)
      if (records === undefined) return null
      entries.delete(key)
      entries.set(key, records)
      return records
    },
    set: (key, records) => {
      total += sizeOf(records) - sizeOf(entries.get(key))
      entries.delete(key)
      entries.set(key, records)
      for (const [oldest, old] of entries) {
        if (total <= CACHE_BYTES && entries.size <= CACHE_PAIRS) break
        entries.delete(oldest)
        total -= sizeOf(old)
      }
    },
  }
}

function sizeOf(records: ChangeRecords | undefined): number {
  return records === undefined ? 0 : records.bytes.byteLength + records.offsets.byteLength
}

const CONCURRENT_MAX = 2
const DEADLINE_MS = 120_000
const CACHE_BYTES = 64 * 1024 ** 2
const CACHE_PAIRS = 64
