import { posix } from 'node:path'
import { ApiError } from '../../sdk/typescript/src/api-error.ts'
import type { BoxHandle, Boxyard } from '../../sdk/typescript/src/boxyard.ts'
import { pathFields, pathOf } from '../../sdk/typescript/src/byte-names.ts'
import type { AnswerOf } from '../../sdk/typescript/src/calls.ts'
import type { UploadBody } from '../../sdk/typescript/src/doors.ts'
import { UsageError } from '../output/failures.ts'
import { type Exclusion, type LocalEntry, scanTree } from './local-tree.ts'
import { describeRemote } from './remote-path.ts'
import { parentsOf, planSync, type RemoteEntry, type SyncPlan } from './sync-plan.ts'
import type { Owner } from './tar-headers.ts'
import { unpackIn } from './unpacking.ts'

export interface SyncOptions {
  boxyard: Boxyard
  box: BoxHandle
  /** Directory of this machine. */
  from: string
  /** Absolute path of the directory in the box, which is created if it does not exist. */
  to: string
  removes: boolean
  isExcluded: Exclusion
  /** Whether to compare the content of files that have the same size and time. */
  comparesContent: boolean
  /** Only reports what would change. */
  isTrial: boolean
  /** Called with the number of bytes as they are sent. */
  onBytes(bytes: number): void
  /** Called in each round for what is neither file, directory nor link. The round omits it. */
  onLeftOut(path: string, kind: string): void
}

/** Result of a round. */
export interface SyncResult {
  /** Paths below the directory. */
  sent: string[]
  deleted: string[]
  bytes: number
}

/** Makes a directory of a box the same as a local one, round by round. Lists the box's files once, and remembers them. */
export interface Sync {
  /** @throws ApiError, ConnectionError, and Error for entries that the box refused. The next round then lists the box's files again */
  round(): Promise<SyncResult>
}

export function createSync(options: SyncOptions): Sync {
  let known: KnownTree | null = null
  return {
    round: async () => {
      const before = known
      // Forgotten until everything succeeded.
      known = null
      const listing = before ?? readRemote(options)
      const [local, tree] = await Promise.all([scanTree(options.from, options), listing])
      const differing = options.comparesContent && before === null ? await findDiffering(options, local) : undefined
      const plan = planSync(local, tree.entries, { ...options, ...(differing === undefined ? {} : { differing }) })
      const result = await carryOut(options, plan, tree)
      if (!options.isTrial) known = tree
      return result
    },
  }
}

async function findDiffering(options: SyncOptions, local: readonly LocalEntry[]): Promise<Set<string>> {
  const { differingFiles } = await import('./comparing.ts')
  return differingFiles(options, local)
}

interface KnownTree {
  entries: Map<string, RemoteEntry>
  /** Owner of the directory itself, who also gets new files. */
  owner: Owner
}

async function carryOut({ isTrial, ...options }: SyncOptions, plan: SyncPlan, tree: KnownTree): Promise<SyncResult> {
  const { send, replace, remove } = plan
  const trees = replace.filter((path) => tree.entries.get(path)?.kind === 'directory')
  if (trees.length > 0 && !options.removes)
    throw new UsageError(
      `These are directories in the box and not here: ${trees.join(', ')}. Add --delete to replace them.`,
    )
  const sent = new Set(send.map(({ path }) => path))
  if (!isTrial) {
    await removeAll(options, replace, tree)
    for (const path of await sendAll(options, send, tree)) sent.delete(path)
    await removeAll(options, remove, tree)
  }
  const bytes = send.reduce((sum, { path, sizeBytes }) => sum + (sent.has(path) ? sizeBytes : 0), 0)
  return { sent: [...sent], deleted: remove, bytes }
}

/** Sends entries as one tar, and returns the paths that no longer existed. */
async function sendAll(
  { box, to, from, onBytes }: Pick<SyncOptions, 'box' | 'to' | 'from' | 'onBytes'>,
  entries: LocalEntry[],
  tree: KnownTree,
): Promise<string[]> {
  if (entries.length === 0) return []
  const gone = new Set<string>()
  const ownerOf = (path: string): Owner => {
    const owned = [path, ...parentsOf(path)].map((each) => tree.entries.get(each)).find((each) => each !== undefined)
    const { uid, gid } = owned ?? tree.owner
    return { uid, gid }
  }
  const { packEntries } = await import('./packing.ts')
  const archive = (): AsyncIterable<Uint8Array> => {
    gone.clear()
    return packEntries({ root: from, entries, ownerOf, onGone: (path) => gone.add(path) })
  }
  await unpackIn(box, to, await bodyOf(archive, entries, onBytes))
  for (const entry of entries) {
    const { path, kind, sizeBytes, mode, modifiedMs, target } = entry
    if (!gone.has(path)) tree.entries.set(path, { kind, sizeBytes, mode, modifiedMs, target, ...ownerOf(path) })
  }
  return [...gone]
}

/** Holds a small archive in memory to repeat it if that is safe, and streams a large one. */
async function bodyOf(
  archive: () => AsyncIterable<Uint8Array>,
  entries: readonly LocalEntry[],
  onBytes: (bytes: number) => void,
): Promise<UploadBody> {
  const counted = async function* (): AsyncGenerator<Uint8Array> {
    for await (const piece of archive()) {
      onBytes(piece.length)
      yield piece
    }
  }
  const expected = entries.reduce((sum, { sizeBytes }) => sum + sizeBytes + ENTRY_BYTES, 0)
  if (expected > HELD_BYTES) return () => ReadableStream.from(counted())
  const pieces: Uint8Array[] = []
  for await (const piece of counted()) pieces.push(piece)
  return Buffer.concat(pieces)
}

async function removeAll(
  { boxyard, box, to }: Pick<SyncOptions, 'boxyard' | 'box' | 'to'>,
  paths: readonly string[],
  tree: KnownTree,
): Promise<void> {
  const waiting = [...paths]
  const work = async (): Promise<void> => {
    for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
      const query = { ...pathFields(posix.join(to, path)), recursive: true }
      await boxyard.call('deleteFile', { path: { project: box.project, name: box.name }, query }).catch(unlessGone)
      for (const known of [...tree.entries.keys()])
        if (known === path || known.startsWith(`${path}/`)) tree.entries.delete(known)
    }
  }
  await Promise.all(Array.from({ length: DELETIONS_AT_ONCE }, work))
}

function unlessGone(error: unknown): void {
  if (!(error instanceof ApiError) || !GONE.has(error.code)) throw error
}

async function readRemote({ boxyard, box, to, isTrial }: SyncOptions): Promise<KnownTree> {
  const place = { project: box.project, name: box.name }
  const entries = new Map<string, RemoteEntry>()
  const list = async (): Promise<void> => {
    const query = { path: to, recursive: true, max_results: LIST_MAX }
    for await (const file of boxyard.list('listFiles', { path: place, query }))
      entries.set(pathOf(file), remoteEntryOf(file))
  }
  const [base] = await Promise.all([describeRemote(boxyard, place, to), list().catch(unlessGone)])
  if (base !== null) return { entries, owner: base }
  if (isTrial) return { entries, owner: { uid: 0, gid: 0 } }
  return { entries, owner: await boxyard.call('makeDirectory', { path: place, body: { path: to, parents: true } }) }
}

function remoteEntryOf(file: AnswerOf<'statFile'>): RemoteEntry {
  const { type: kind, size_bytes: sizeBytes, mode, modified_at: modifiedAt, target, uid, gid } = file
  return { kind, sizeBytes, mode: Number.parseInt(mode, 8), modifiedMs: Date.parse(modifiedAt), target, uid, gid }
}

const GONE = new Set(['file_not_found', 'not_a_directory'])
const DELETIONS_AT_ONCE = 8
const LIST_MAX = 10_000
/** Size of an entry without its content. */
const ENTRY_BYTES = 2048
const HELD_BYTES = 4 * 1024 * 1024
