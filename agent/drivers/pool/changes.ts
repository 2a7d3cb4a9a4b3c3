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

/** What differs between two read-only subvolumes of a pool. */
export interface BtrfsChanges {
  page(request: ChangesRequest): Promise<ChangesPage>
}

export interface BtrfsChangesOptions {
  rootFd: number
  mountPath: string
  threads: FileThreads<BtrfsTasks>
}

/**
 * Has `btrfs send` tell the difference, without data: the kernel compares the two trees where they are not one, so that its
 * cost is that of what changed, times how deep it lies. Two at once, not both of one share; whoever asks again meanwhile gets
 * what comes of the first. What was found of the latest pairs is kept, 64 MiB in all.
 */
export function createBtrfsChanges(options: BtrfsChangesOptions): BtrfsChanges {
  const kept = createKept()
  const limiter = createLimiter(AT_ONCE)
  const inTurn = createKeyedLock()
  const underWay = new Map<string, Promise<ChangeRecords>>()
  const find = ({ from, to, share, signal }: ChangesRequest): Promise<ChangeRecords> => {
    const late = AbortSignal.timeout(DEADLINE_MS)
    const ended = signal === undefined ? late : AbortSignal.any([signal, late])
    return inTurn.run(share, () => limiter.run(() => findChanges(options, { from, to, signal: ended })))
  }
  const findOnce = (key: string, request: ChangesRequest): Promise<ChangeRecords> => {
    const found = find(request).finally(() => underWay.delete(key))
    underWay.set(key, found)
    return found
  }
  return {
    page: async (request) => {
      const { from, to, after, limit, keep, signal } = request
      const key = `${from} ${to}`
      let records = kept.get(key)
      if (records === null) {
        records = await (signal ? find(request) : (underWay.get(key) ?? findOnce(key, request)))
        if (keep) kept.set(key, records)
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
  const talk = await threads.begin('changes', { name: 'changes', argument: { fromFd, toFd }, fds })
  try {
    for await (const piece of sentBetween(`${mountPath}/${from}`, `${mountPath}/${to}`, signal)) {
      const bytes = new Uint8Array(piece)
      await talk.send(bytes, [bytes.buffer])
    }
    await talk.send(null)
    const records = await talk.receive()
    signal.throwIfAborted()
    if (records === null) throw new Error('the changes were not told')
    return records
  } finally {
    await talk.end()
  }
}

/** The stream, whole; or an error. Whoever stops reading it, or the signal, ends the program. */
async function* sentBetween(from: string, to: string, signal: AbortSignal): AsyncGenerator<Buffer> {
  const child = spawnChild('btrfs', ['send', '--no-data', '-q', '-p', from, to], { stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  ended.catch(() => undefined)
  const kill = (): void => void killGroup(child, 'SIGKILL')
  signal.addEventListener('abort', kill, { once: true })
  let complaint = ''
  child.stderr?.on('data', (text: Buffer) => {
    complaint = `${complaint}${text.toString()}`.slice(-500)
  })
  try {
    if (child.stdout !== null) yield* child.stdout as AsyncIterable<Buffer>
    const exitCode = await ended
    if (signal.aborted)
      throw new ServiceError('internal', 'The two were not compared in time.', { cause: signal.reason })
    if (exitCode !== 0) throw sendFault(complaint.trim() || `exit ${exitCode}`)
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

interface Kept {
  get(key: string): ChangeRecords | null
  set(key: string, records: ChangeRecords): void
}

/** The latest used, of what is found between snapshots that never change. */
function createKept(): Kept {
  const kept = new Map<string, ChangeRecords>()
  let total = 0
  return {
    get: (key) => {
      const records = kept.get(key)
      if (records === undefined) return null
      kept.delete(key)
      kept.set(key, records)
      return records
    },
    set: (key, records) => {
      total += sizeOf(records) - sizeOf(kept.get(key))
      kept.delete(key)
      kept.set(key, records)
      for (const [oldest, old] of kept) {
        if (total <= KEPT_BYTES && kept.size <= KEPT_PAIRS) break
        kept.delete(oldest)
        total -= sizeOf(old)
      }
    },
  }
}

function sizeOf(records: ChangeRecords | undefined): number {
  return records === undefined ? 0 : records.bytes.byteLength + records.offsets.byteLength
}

const AT_ONCE = 2
const DEADLINE_MS = 120_000
const KEPT_BYTES = 64 * 1024 ** 2
const KEPT_PAIRS = 64
