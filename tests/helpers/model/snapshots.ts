import { attachmentsOf, copyOfTree, isBusyIn, modelBoxOf, startBox, volumeOf } from './places.ts'
import type { SnapshotOperation } from './snapshot-operations.ts'
import type { History, Model, ModelBox, ModelSnapshot, ModelVolume, SnapshotPart, Tree } from './state.ts'

/** Works as `applyOperation`, for snapshots of an existing box or volume. */
export function applyToSnapshots(model: Model, operation: SnapshotOperation): readonly string[] {
  switch (operation.kind) {
    case 'takeBox':
      return takeBox(model, operation)
    case 'takeVolume': {
      const volume = volumeOf(model, operation.volume)
      return addSnapshot(volume.history, operation.name, { automatic: false, tree: copyOfTree(volume), data: [] })
    }
    case 'dropBoxSnapshot':
      return drop(modelBoxOf(model, operation.box).history, operation.snapshot)
    case 'dropVolumeSnapshot':
      return drop(volumeOf(model, operation.volume).history, operation.snapshot)
    case 'restoreBox':
      return restoreBox(model, operation)
    case 'restoreVolume':
      return restoreVolume(model, operation)
  }
}

/** Returns a history without snapshots. */
export function emptyHistory(): History {
  return { snapshots: new Map(), last: -1 }
}

/** Returns the content of a snapshot, or the current content for a null name. Undefined if the snapshot does not exist. */
export function contentOf(owner: ModelBox | ModelVolume, snapshot: string | null): Tree | undefined {
  if (snapshot !== null) return owner.history.snapshots.get(snapshot)?.tree
  return { files: owner.files, directories: 'directories' in owner ? owner.directories : new Map() }
}

/** Swaps the newest two snapshots, since either of two concurrent requests can get the lower number. */
export function swapNewest(history: History): void {
  const [older, newer] = [...history.snapshots].slice(-2)
  if (older === undefined || newer === undefined) return
  for (const [name] of [older, newer]) history.snapshots.delete(name)
  history.snapshots.set(older[0], newer[1])
  history.snapshots.set(newer[0], older[1])
}

type Of<Kind extends SnapshotOperation['kind']> = Extract<SnapshotOperation, { kind: Kind }>

function takeBox(model: Model, { box: name, name: wanted, include_data: withData }: Of<'takeBox'>): string[] {
  const box = modelBoxOf(model, name)
  const data = (withData ? box.mounts : []).map((mount): SnapshotPart => {
    const volume = volumeOf(model, mount.name)
    return { ...mount, volumeId: volume.id, tree: copyOfTree(volume) }
  })
  return addSnapshot(box.history, wanted, { automatic: false, tree: rootOf(box), data })
}

function addSnapshot(history: History, wanted: string | undefined, snapshot: ModelSnapshot): string[] {
  const name = wanted ?? `v${history.last + 1}`
  if (history.snapshots.has(name)) return ['name_taken']
  history.snapshots.set(name, snapshot)
  history.last = Math.max(history.last, Number(/^v(\d+)$/.exec(name)?.[1] ?? -1))
  return []
}

function drop(history: History, snapshot: string): string[] {
  return history.snapshots.delete(snapshot) ? [] : ['snapshot_not_found']
}

function restoreVolume(model: Model, { volume: name, snapshot }: Of<'restoreVolume'>): string[] {
  const tree = contentOf(volumeOf(model, name), snapshot)
  return tree === undefined ? ['snapshot_not_found'] : replaceVolume(model, name, tree)
}

/** Replaces the data of a volume unless it is busy. Keeps the old data as an automatic snapshot. */
export function replaceVolume(model: Model, name: string, tree: Tree): string[] {
  const volume = volumeOf(model, name)
  if ([...model.boxes.values()].some((box) => isBusyIn(box, name))) return ['volume_busy']
  keep(volume.history, { tree: copyOfTree(volume), data: [] })
  Object.assign(volume, copyOfTree(tree))
  return []
}

function restoreBox(model: Model, { box: name, snapshot: from, include_data: wanted }: Of<'restoreBox'>): string[] {
  const box = modelBoxOf(model, name)
  const snapshot = box.history.snapshots.get(from)
  if (snapshot === undefined) return ['snapshot_not_found']
  const isWithData = wanted ?? snapshot.data.length > 0
  const parts = isWithData ? snapshot.data.filter(({ read_only: readOnly }) => !readOnly) : []
  const volumes = parts.flatMap(({ volumeId }) => [...model.volumes].filter(([, { id }]) => id === volumeId))
  const faults: string[] = []
  if (volumes.length < parts.length) faults.push('volume_not_found')
  const others = volumes.flatMap(([volume]) => attachmentsOf(model, volume).filter((each) => each.box !== name))
  if (others.length > 0) faults.push('volume_in_use')
  if (faults.length > 0) return faults

  const before = volumes.map(([volume, { id: volumeId, ...tree }]): SnapshotPart => {
    const path = box.mounts.find((mount) => mount.name === volume)?.path ?? ''
    return { name: volume, path, read_only: false, volumeId, tree: copyOfTree(tree) }
  })
  const root = rootOf(box)
  box.sitsIn = []
  fill(model, box, { tree: snapshot.tree, data: parts })
  if (box.status === 'running') {
    // A box that cannot create its mount points keeps its old content.
    if (!startBox(model, box)) {
      fill(model, box, { tree: root, data: before })
      startBox(model, box)
      return ['path_invalid']
    }
  }
  keep(box.history, { tree: root, data: before })
  return []
}

function fill(model: Model, box: ModelBox, { tree, data }: Pick<ModelSnapshot, 'tree' | 'data'>): void {
  box.files = new Map(tree.files)
  for (const part of data) {
    const volume = [...model.volumes.values()].find(({ id }) => id === part.volumeId)
    if (volume) Object.assign(volume, copyOfTree(part.tree))
  }
}

/** Adds an automatic snapshot of replaced content. Drops all but the newest automatic snapshots. */
function keep(history: History, replaced: Pick<ModelSnapshot, 'tree' | 'data'>): void {
  addSnapshot(history, undefined, { automatic: true, ...replaced })
  const automatic = [...history.snapshots].filter(([, each]) => each.automatic)
  for (const [name] of automatic.slice(0, -AUTOMATIC_MAX)) history.snapshots.delete(name)
}

function rootOf({ files }: ModelBox): Tree {
  return { files: new Map(files), directories: new Map() }
}

const AUTOMATIC_MAX = 3
