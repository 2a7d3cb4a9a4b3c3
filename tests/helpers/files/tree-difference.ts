import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import type { TreeChange } from '../../../agent/ports/pool/tree-changes.ts'

/** What is at each path of a tree, as a test reads it. */
export type Tree = Map<string, Seen>

interface Seen {
  type: string
  sizeBytes: number
  /** All that is to be told if it is another: for directories without their times. */
  looks: string
}

export function readTree(root: string): Tree {
  const tree: Tree = new Map([['/', look(root)]])
  for (const entry of fs.readdirSync(root, { recursive: true, withFileTypes: true })) {
    const where = path.join(entry.parentPath, entry.name)
    tree.set(`/${path.relative(root, where)}`, look(where))
  }
  return tree
}

/**
 * What is wrong with `changes` as the difference of two trees: applied to the names of the earlier they must give those of the
 * later, what they do not mention must be as it was, and what they say must be so.
 */
export function explainChanges(earlier: Tree, later: Tree, changes: readonly TreeChange[]): string[] {
  const told = changes.map((change) => ({ ...change, path: text(change.path), from: change.from && text(change.from) }))
  const moves = new Map(told.flatMap(({ from, path: to }) => (from === null ? [] : [[from, to] as const])))
  const deleted = new Set(told.filter(({ kind }) => kind === 'deleted').map((change) => change.path))
  const placed = new Map(told.filter(({ kind }) => kind !== 'deleted').map((change) => [change.path, change]))
  const wrong: string[] = []
  const predicted = new Set(told.filter(({ kind }) => kind === 'added').map((change) => change.path))
  for (const [was, seen] of earlier) {
    if (deleted.has(was)) continue
    const is = placeOf(was, moves)
    predicted.add(is)
    const change = placed.get(is)
    const isTold = change !== undefined && (change.kind !== 'renamed' || change.isModified || change.from !== was)
    if (!isTold && later.has(is) && later.get(is)?.looks !== seen.looks) wrong.push(`untold: ${was} at ${is}`)
    if (change?.kind === 'renamed' && change.from === was && change.isModified && later.get(is)?.looks === seen.looks)
      wrong.push(`as it was: ${is}`)
  }
  for (const { kind, path: place } of told) {
    if (kind === 'added' && earlier.has(place) && !deleted.has(place) && placeOf(place, moves) === place)
      wrong.push(`not new: ${place}`)
  }
  for (const place of predicted) if (!later.has(place)) wrong.push(`not there: ${place}`)
  for (const place of later.keys()) if (!predicted.has(place)) wrong.push(`left out: ${place}`)
  for (const { kind, path: place, type, sizeBytes } of told) {
    const seen = (kind === 'deleted' ? earlier : later).get(place)
    if (seen?.type !== type || (type === 'file' && seen.sizeBytes !== sizeBytes)) wrong.push(`misread: ${place}`)
  }
  return wrong
}

/** Where a path of the earlier tree is: the nearest above it that was renamed says so. */
function placeOf(was: string, moves: ReadonlyMap<string, string>): string {
  for (let at = was; at !== '/' && at !== ''; at = at.slice(0, at.lastIndexOf('/'))) {
    const to = moves.get(at)
    if (to !== undefined) return to + was.slice(at.length)
  }
  return was
}

function look(where: string): Seen {
  const stat = fs.lstatSync(where, { bigint: true })
  const kind = stat.mode & 0o170000n
  const type = kind === 0o040000n ? 'directory' : kind === 0o120000n ? 'symlink' : 'file'
  const content = type === 'file' ? createHash('sha1').update(fs.readFileSync(where)).digest('hex') : ''
  const time = type === 'directory' ? '' : stat.mtimeNs
  return { type, sizeBytes: Number(stat.size), looks: `${stat.mode} ${stat.uid} ${stat.gid} ${time} ${content}` }
}

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('utf8')
}
