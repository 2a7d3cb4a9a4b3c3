import { bytesOfText } from '../../sdk/typescript/src/byte-names.ts'
import type { Exclusion, LocalEntry } from './local-tree.ts'
import type { Owner } from './tar-headers.ts'

/** A path below a directory of a box. */
export interface RemoteEntry extends Owner {
  /** Any kind that the API reports. */
  kind: string
  sizeBytes: number
  mode: number
  /** Whole milliseconds since the epoch. */
  modifiedMs: number
  target: string | null
}

export type RemoteTree = ReadonlyMap<string, RemoteEntry>

/** The steps that make a directory of a box the same as a local one. */
export interface SyncPlan {
  /** Entries to send, each directory before its contents. */
  send: LocalEntry[]
  /** Paths to delete first, because something of another kind will replace them. */
  replace: string[]
  /** Paths to delete at the end, each with everything in it, because they do not exist locally. */
  remove: string[]
}

export interface PlanOptions {
  /** Whether to delete remote files that do not exist locally. */
  removes: boolean
  isExcluded: Exclusion
  /** Paths of files to send although size and time are the same. */
  differing?: ReadonlySet<string>
}

/** Plans a round. Neither sends nor deletes excluded paths, and does not delete a directory that holds one. A pure function. */
export function planSync(local: readonly LocalEntry[], remote: RemoteTree, options: PlanOptions): SyncPlan {
  const send = local.filter((entry) => {
    return !isSame(entry, remote.get(entry.path)) || options.differing?.has(entry.path) === true
  })
  const replace = send.filter((entry) => isInTheWay(entry, remote.get(entry.path))).map(({ path }) => path)
  return { send, replace, remove: options.removes ? removedPaths(local, remote, options.isExcluded) : [] }
}

/**
 * Returns whether an entry is unchanged. Compares kind, size, time and mode of a file, the mode of a directory, and the target of a link.
 */
function isSame(local: LocalEntry, remote: RemoteEntry | undefined): boolean {
  if (remote === undefined || remote.kind !== local.kind) return false
  if (local.kind === 'symlink') return remote.target === shownTarget(local.target)
  if (remote.mode !== local.mode) return false
  return local.kind === 'directory' || isSameFile(local, remote)
}

/** Returns the target of a link as the API shows it, which replaces bytes that are not UTF-8. */
function shownTarget(target: string | null): string | null {
  return target === null ? null : Buffer.from(bytesOfText(target)).toString()
}

function isSameFile(local: LocalEntry, remote: RemoteEntry): boolean {
  return remote.sizeBytes === local.sizeBytes && remote.modifiedMs === local.modifiedMs
}

/** Returns whether an existing entry blocks unpacking. Unpacking replaces files and links, and keeps existing directories. */
function isInTheWay(local: LocalEntry, remote: RemoteEntry | undefined): boolean {
  if (remote === undefined || remote.kind === local.kind) return false
  return local.kind === 'directory' || !['file', 'symlink'].includes(remote.kind)
}

function removedPaths(local: readonly LocalEntry[], remote: RemoteTree, isExcluded: Exclusion): string[] {
  const kept = new Set(local.map(({ path }) => path))
  const isLeftOut = (path: string, { kind }: RemoteEntry): boolean => isExcluded(path, kind === 'directory')
  for (const [path, entry] of remote) if (isLeftOut(path, entry)) for (const above of parentsOf(path)) kept.add(above)
  const removed = new Set<string>()
  for (const [path, entry] of [...remote].sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (!kept.has(path) && !isLeftOut(path, entry) && !parentsOf(path).some((above) => removed.has(above)))
      removed.add(path)
  }
  return [...removed]
}

/** Returns the directories above a path, the nearest first. */
export function parentsOf(path: string): string[] {
  const parents: string[] = []
  for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) parents.push(path.slice(0, end))
  return parents
}
