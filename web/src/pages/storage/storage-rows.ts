import type { StorageReport } from '../../api/records.ts'
import { naturalKey } from '../../ui/natural.ts'

export type StoredKind = 'box' | 'volume' | 'snapshot' | 'base' | 'orphan'

/** A resource in the pool that uses space. */
export interface Stored {
  key: string
  kind: StoredKind
  /** Null without a project. */
  project: string | null
  /** The box or volume, also for its snapshots. The name of a base or an orphan. */
  name: string
  /** Whether it belongs to a box or a volume. Null for bases and orphans. */
  owner: 'box' | 'volume' | null
  /** Name of the snapshot, or null for anything else. */
  snapshot: string | null
  /** Size of the data that it refers to, shared or not. */
  sizeBytes: number | null
  /** Bytes that deleting only this would free. */
  uniqueBytes: number | null
}

/** Filters of a list of stored data, as in the address of the page. */
export interface StoredFilter {
  text: string
  /** A kind, or empty for all. */
  kind: string
  /** `frees`, `size` or `name`. A leading `-` reverses the order. */
  sort: string
}

/** Returns all entries of a report as one list. */
export function storedOf({ boxes, volumes, bases, orphans }: StorageReport): Stored[] {
  return [
    ...boxes.flatMap((box) => ownerRows(box, 'box')),
    ...volumes.flatMap((volume) => ownerRows(volume, 'volume')),
    ...bases.map(({ project, name, ...sizes }) => rowOf({ kind: 'base', project, name, sizes })),
    ...orphans.map(({ subvolume, ...sizes }) => rowOf({ kind: 'orphan', project: null, name: subvolume, sizes })),
  ]
}

/** Returns the resources that have all words of the text in their names, in order. */
export function selectStored(rows: readonly Stored[], { text, kind, sort }: StoredFilter): Stored[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const found = rows.filter(
    (row) => (kind === '' || row.kind === kind) && words.every((word) => storedName(row).toLowerCase().includes(word)),
  )
  const by = sort.replace(/^-/, '')
  found.sort((a, b) =>
    by === 'name'
      ? compare(naturalKey(storedName(a)), naturalKey(storedName(b)))
      : by === 'size'
        ? (a.sizeBytes ?? -1) - (b.sizeBytes ?? -1)
        : (a.uniqueBytes ?? -1) - (b.uniqueBytes ?? -1) || (a.sizeBytes ?? -1) - (b.sizeBytes ?? -1),
  )
  return sort.startsWith('-') ? found.reverse() : found
}

/** Returns the whole name of a resource, such as `demo/db@v1`. */
export function storedName({ project, name, snapshot }: Stored): string {
  return `${project === null ? '' : `${project}/`}${name}${snapshot === null ? '' : `@${snapshot}`}`
}

interface Sizes {
  size_bytes: number | null
  unique_bytes: number | null
}

function ownerRows(owner: StorageReport['boxes'][number], kind: 'box' | 'volume'): Stored[] {
  const { project, name, snapshots } = owner
  return [
    { ...rowOf({ kind, project, name, sizes: owner }), owner: kind },
    ...snapshots.map((snapshot) => ({
      ...rowOf({ kind: 'snapshot', project, name, sizes: snapshot }),
      key: `${kind} ${project}/${name}@${snapshot.name}`,
      owner: kind,
      snapshot: snapshot.name,
    })),
  ]
}

function rowOf(row: { kind: StoredKind; project: string | null; name: string; sizes: Sizes }): Stored {
  const { kind, project, name, sizes } = row
  return {
    key: `${kind} ${project ?? ''}/${name}`,
    kind,
    project,
    name,
    owner: null,
    snapshot: null,
    sizeBytes: sizes.size_bytes,
    uniqueBytes: sizes.unique_bytes,
  }
}

function compare(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1
}
