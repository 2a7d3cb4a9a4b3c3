import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import type { TreeChange } from '../../../agent/ports/pool/tree-changes.ts'

/** The files of a tree, by path. */
export type TreeListing = Map<string, Seen>

interface Seen {
  type: string
  sizeBytes: number
  /** Everything that a diff must report if it changes. Excludes the times of directories. */
  looks: string
}

export function readListing(root: string): TreeListing {
  const tree: TreeListing = new Map([['/', look(root)]])
  for (const entry of fs.readdirSync(root, { recursive: true, withFileTypes: true })) {
    const file = path.join(entry.parentPath, entry.name)
    tree.set(`/${path.relative(root, file)}`, look(file))
  }
  return tree
}

/**
 * Returns the errors in `changes` as the diff of two trees. Applied to the earlier paths, the changes must yield the later paths. Paths
 * that the changes do not mention must stay the same. Types and sizes must be right.
 */
export function explainChanges(earlier: TreeListing, later: TreeListing, changes: readonly TreeChange[]): string[] {
  const described = changes.map((change) => ({
    ...change,
    path: text(change.path),
    from: change.from && text(change.from),
  }))
  const moves = new Map(described.flatMap(({ from, path: to }) => (from === null ? [] : [[from, to] as const])))
  const deleted = new Set(described.filter(({ kind }) => kind === 'deleted').map((change) => change.path))
  const placed = new Map(described.filter(({ kind }) => kind !== 'deleted').map((change) => [change.path, change]))
  const wrong: string[] = []
  const predicted = new Set(described.filter(({ kind }) => kind === 'added').map((change) => change.path))
  for (const [was, seen] of earlier) {
    if (deleted.has(was)) continue
    const is = laterPathOf(was, moves)
    predicted.add(is)
    const change = placed.get(is)
    const isReported = change !== undefined && (change.kind !== 'renamed' || change.isModified || change.from !== was)
    if (!isReported && later.has(is) && later.get(is)?.looks !== seen.looks) wrong.push(`untold: ${was} at ${is}`)
    if (change?.kind === 'renamed' && change.from === was && change.isModified && later.get(is)?.looks === seen.looks)
      wrong.push(`as it was: ${is}`)
  }
  for (const { kind, path: at } of described) {
    if (kind === 'added' && earlier.has(at) && !deleted.has(at) && laterPathOf(at, moves) === at)
      wrong.push(`not new: ${at}`)
  }
  for (const at of predicted) if (!later.has(at)) wrong.push(`not there: ${at}`)
  for (const at of later.keys()) if (!predicted.has(at)) wrong.push(`left out: ${at}`)
  for (const { kind, path: at, type, sizeBytes } of described) {
    const seen = (kind === 'deleted' ? earlier : later).get(at)
    if (seen?.type !== type || (type === 'file' && seen.sizeBytes !== sizeBytes)) wrong.push(`misread: ${at}`)
  }
  return wrong
}

/** Returns the later path of an earlier one, from its nearest renamed ancestor. */
function laterPathOf(was: string, moves: ReadonlyMap<string, string>): string {
  for (let at = was; at !== '/' && at !== ''; at = at.slice(0, at.lastIndexOf('/'))) {
    const to = moves.get(at)
    if (to !== undefined) return to + was.slice(at.length)
  }
  return was
}

function look(file: string): Seen {
  const stat = fs.lstatSync(file, { bigint: true })
  const kind = stat.mode & 0o170000n
  const type = kind === 0o040000n ? 'directory' : kind === 0o120000n ? 'symlink' : 'file'
  const content = type === 'file' ? createHash('sha1').update(fs.readFileSync(file)).digest('hex') : ''
  const time = type === 'directory' ? '' : stat.mtimeNs
  return { type, sizeBytes: Number(stat.size), looks: `${stat.mode} ${stat.uid} ${stat.gid} ${time} ${content}` }
}

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('utf8')
}
