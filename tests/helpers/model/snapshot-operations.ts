import type { Model, Mount } from './state.ts'

/** A user's operations on snapshots, as plain data. */
export type SnapshotOperation =
  | { kind: 'takeBox'; box: string; name?: string; include_data?: boolean }
  | { kind: 'takeVolume'; volume: string; name?: string }
  | { kind: 'restoreBox'; box: string; snapshot: string; include_data?: boolean }
  | { kind: 'restoreVolume'; volume: string; snapshot: string }
  | { kind: 'dropBoxSnapshot'; box: string; snapshot: string }
  | { kind: 'dropVolumeSnapshot'; volume: string; snapshot: string }

/** Random choices. */
export interface Chance {
  /** Picks one of `items`. */
  pick<T>(items: readonly T[]): T
  chance(share: number): boolean
}

/** Draws an operation of a kind, on that box or that volume. For snapshots that can include data, prefers boxes with writable volumes. */
export function drawOfSnapshots(
  draw: Chance,
  model: Model,
  { kind, box, volume }: { kind: SnapshotOperation['kind']; box: string; volume: string },
): SnapshotOperation {
  const { pick, chance } = draw
  const owner = kind.includes('Box') ? model.boxes.get(box) : model.volumes.get(volume)
  // Without a snapshot, most operations would only fail.
  if (!owner?.history.snapshots.size && !kind.startsWith('take') && chance(0.85))
    return drawOfSnapshots(draw, model, { kind: kind.includes('Box') ? 'takeBox' : 'takeVolume', box, volume })
  const name = chance(0.5) ? {} : { name: pick(NAMES) }
  switch (kind) {
    case 'takeBox': {
      const writer = chance(0.6) ? pick([...model.boxes].filter(([, { mounts }]) => mounts.some(isWritten))) : undefined
      return { kind, box: writer?.[0] ?? box, ...name, ...pick([WITH_DATA, WITH_DATA, WITH_DATA, {}, WITHOUT]) }
    }
    case 'takeVolume':
      return { kind, volume, ...name }
    case 'restoreBox': {
      const data = pick([WITH_DATA, WITH_DATA, {}, {}, WITHOUT])
      const whole = chance(0.6) ? pick(snapshotsWithData(model)) : undefined
      return { kind, box, snapshot: pickSnapshot(draw, owner), ...whole, ...data }
    }
    case 'dropBoxSnapshot':
      return { kind, box, snapshot: pickSnapshot(draw, owner) }
    case 'restoreVolume':
    case 'dropVolumeSnapshot':
      return { kind, volume, snapshot: pickSnapshot(draw, owner) }
  }
}

function snapshotsWithData(model: Model): { box: string; snapshot: string }[] {
  return [...model.boxes].flatMap(([box, { history }]) =>
    [...history.snapshots].flatMap(([snapshot, { data }]) => (data.some(isWritten) ? [{ box, snapshot }] : [])),
  )
}

function isWritten({ read_only: readOnly }: Mount): boolean {
  return !readOnly
}

/** Picks a snapshot of `owner`, rarely another name. */
export function pickSnapshot(
  { pick, chance }: Chance,
  owner: { history: { snapshots: ReadonlyMap<string, unknown> } } | undefined,
): string {
  const names = [...(owner?.history.snapshots.keys() ?? [])]
  return chance(0.93) && names.length > 0 ? pick(names) : pick(NAMES)
}

const WITH_DATA = { include_data: true }
const WITHOUT = { include_data: false }
const NAMES = ['good', 'best', 'v2', 'v9']

/** Kinds of operations, weighted by repetition. */
export const SNAPSHOT_KINDS: readonly SnapshotOperation['kind'][] = [
  ...(['takeBox', 'takeBox', 'takeBox', 'takeBox', 'restoreBox', 'restoreBox', 'restoreBox', 'restoreBox'] as const),
  ...(['takeVolume', 'takeVolume', 'takeVolume', 'restoreVolume', 'restoreVolume', 'restoreVolume'] as const),
  ...(['dropBoxSnapshot', 'dropVolumeSnapshot'] as const),
]
