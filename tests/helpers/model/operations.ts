import { BACKUP_KINDS, BASES, type BackupOperation, drawOfBackups } from './backup-operations.ts'
import {
  type Chance,
  drawOfSnapshots,
  pickSnapshot,
  SNAPSHOT_KINDS,
  type SnapshotOperation,
} from './snapshot-operations.ts'
import type { Model, Mount } from './state.ts'

export interface CreateBox {
  kind: 'createBox'
  name: string
  base?: string
  /** A box, or `box@snapshot`. */
  fork?: string
  mounts: Mount[]
  config?: { ram_mb: number }
  environment?: Record<string, string>
  tags?: Record<string, string>
}

export interface UpdateBox {
  kind: 'updateBox'
  box: string
  body: {
    config?: { cpus?: number | null; ram_mb?: number | null; storage_gb?: number | null } | null
    environment?: Record<string, string> | null
    tags?: Record<string, string> | null
  }
}

export interface CreateVolume {
  kind: 'createVolume'
  name: string
  size_gb?: number
  from?: string
  from_snapshot?: string
  tags?: Record<string, string>
}

export interface AttachVolume {
  kind: 'attach'
  volume: string
  box: string
  path: string
  read_only: boolean
}

/** Operations of a user, as plain data. */
export type ModelOperation =
  | CreateBox
  | UpdateBox
  | CreateVolume
  | AttachVolume
  | SnapshotOperation
  | BackupOperation
  | { kind: 'stop' | 'resume' | 'deleteBox' | 'leave'; box: string }
  | { kind: 'updateVolume'; volume: string; body: { size_gb?: number | null; tags?: Record<string, string> | null } }
  | { kind: 'deleteVolume'; volume: string }
  | { kind: 'detach'; volume: string; box: string }
  | { kind: 'write'; box: string; path: string; token: string }
  | { kind: 'sit'; box: string; path: string }

/** Draws operations, most of them on existing boxes and volumes. */
export interface Draw extends Chance {
  /** Draws an operation that the API performs atomically. */
  change(model: Model): ModelOperation
  /** Draws a change of something that `other` changes as well, if a few attempts find one. */
  related(model: Model, other: ModelOperation): ModelOperation
  /** Draws an operation of any kind. */
  any(model: Model): ModelOperation
}

/** Creates a draw from `random`, which returns numbers from 0 to 1. */
export function createDraw(random: () => number): Draw {
  let tokens = 0
  const chance = (share: number): boolean => random() < share
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T
  const draw = { pick, chance }
  const change = (model: Model): ModelOperation => drawChange(draw, model, wantsMore(draw, model) ?? pick(CHANGES))
  return {
    ...draw,
    change,
    related: (model, other) => {
      const names = namesOf(model, other)
      let drawn = change(model)
      for (let tries = 0; tries < 20 && !namesOf(model, drawn).some((name) => names.includes(name)); tries++) {
        drawn = change(model)
      }
      return drawn
    },
    any: (model) => {
      const kind = wantsMore(draw, model) ?? pick(ALL)
      if (kind === 'write') {
        const box = pickBox(draw, model)
        const mount = chance(0.5) ? pick(model.boxes.get(box)?.mounts ?? []) : undefined
        const path = pick(mount ? FILE_PATHS.filter((each) => each.startsWith(`${mount.path}/`)) : FILE_PATHS)
        return { kind, box, path, token: `token-${++tokens}` }
      }
      if (kind !== 'sit') return drawChange(draw, model, kind)
      const [sitting, box] =
        pick([...model.boxes].map(([name, { sitsIn }]) => [sitsIn.length > 0, name] as const)) ?? []
      if (box === undefined) return drawChange(draw, model, 'createBox')
      if (sitting) return { kind: 'leave', box }
      const { mounts = [], status } = model.boxes.get(box) ?? {}
      const mount = pick(mounts)
      return mount && status === 'running' ? { kind, box, path: mount.path } : drawChange(draw, model, 'resume')
    },
  }
}

type Change = Exclude<ModelOperation['kind'], 'write' | 'sit' | 'leave'>

/** Returns the names of the boxes and volumes that an operation involves. */
function namesOf(model: Model, operation: ModelOperation): string[] {
  const { box, volume, name, from, fork, snapshot } = operation as Partial<Record<string, string>>
  const owner = model.boxes.get(box ?? '')
  const data = owner?.history.snapshots.get(snapshot ?? '')?.data ?? []
  const parts = operation.kind === 'createBox' ? operation.mounts : data
  return [box, volume, from, fork?.split('@')[0], operation.kind.startsWith('create') ? name : undefined]
    .concat(parts.map((part) => part.name))
    .filter((each) => each !== undefined)
}

/** Draws a create of a box or volume while there are few, since most other operations would fail. */
function wantsMore({ chance }: Chance, { boxes, volumes }: Model): 'createBox' | 'createVolume' | null {
  if (volumes.size < 2 && chance(0.5)) return 'createVolume'
  return boxes.size < 2 && chance(0.5) ? 'createBox' : null
}

function drawChange(draw: Chance, model: Model, kind: Change): ModelOperation {
  const { pick, chance } = draw
  const box = pickBox(draw, model)
  const volume = pickVolume(draw, model)
  switch (kind) {
    case 'createBox':
      return drawBox(draw, model)
    case 'createVolume':
      return drawVolume(draw, model, volume)
    case 'updateBox':
      return { kind, box, body: drawUpdate(draw) }
    case 'updateVolume':
      return {
        kind,
        volume,
        body: chance(0.5) ? { size_gb: pick([...SIZES, null, 0.00001]) } : { tags: drawTags(draw) },
      }
    case 'attach': {
      const again = chance(0.1) ? pick(model.boxes.get(box)?.mounts ?? []) : undefined
      if (again) return { kind, volume: again.name, box, path: again.path, read_only: again.read_only }
      return { kind, volume, box, path: drawPath(draw), read_only: chance(0.5) }
    }
    case 'detach': {
      const mount = chance(0.85) ? pick(model.boxes.get(box)?.mounts ?? []) : undefined
      return { kind, volume: mount?.name ?? volume, box }
    }
    case 'deleteVolume':
      return { kind, volume }
    case 'stop':
    case 'resume':
    case 'deleteBox':
      return { kind, box }
    case 'takeBox':
    case 'takeVolume':
    case 'restoreBox':
    case 'restoreVolume':
    case 'dropBoxSnapshot':
    case 'dropVolumeSnapshot':
      return drawOfSnapshots(draw, model, { kind, box, volume })
    case 'backUp':
    case 'createFromBackup':
    case 'restoreOver':
    case 'dropBackup':
    case 'createBase':
    case 'deleteBase':
      return drawOfBackups(draw, model, { kind, box, volume, name: drawName(draw, model, volume) })
  }
}

/** Draws a name for a new volume, sometimes `taken`. */
function drawName({ pick, chance }: Chance, model: Model, taken: string): string {
  const free = VOLUMES.filter((name) => !model.volumes.has(name))
  return chance(0.9) && free.length > 0 ? pick(free) : taken
}

function drawVolume(draw: Chance, model: Model, volume: string): CreateVolume {
  const { pick, chance } = draw
  const operation: CreateVolume = {
    kind: 'createVolume',
    name: drawName(draw, model, volume),
    tags: drawTags(draw),
  }
  if (model.volumes.size > 0 && chance(0.5)) operation.from = pickVolume(draw, model)
  if (operation.from === undefined || chance(0.5)) operation.size_gb = pick(SIZES)
  if (operation.from !== undefined && chance(0.5))
    operation.from_snapshot = pickSnapshot(draw, model.volumes.get(operation.from))
  return operation
}

function drawBox(draw: Chance, model: Model): CreateBox {
  const { pick, chance } = draw
  const free = BOXES.filter((name) => !model.boxes.has(name))
  const operation: CreateBox = {
    kind: 'createBox',
    name: chance(0.9) && free.length > 0 ? pick(free) : pick(BOXES),
    mounts: [],
  }
  if (chance(model.boxes.size > 0 ? 0.6 : 0.1)) operation.fork = pickBox(draw, model)
  if (operation.fork !== undefined && chance(0.5))
    operation.fork += `@${pickSnapshot(draw, model.boxes.get(operation.fork))}`
  if (chance(0.05)) operation.base = pick(['busybox', MISSING_BASE])
  else if (operation.fork === undefined && chance(0.5)) operation.base = pick([...model.bases.keys(), pick(BASES)])
  while (model.volumes.size > 0 && chance(0.35)) {
    operation.mounts.push({ name: pickVolume(draw, model), path: drawPath(draw), read_only: chance(0.7) })
  }
  if (chance(0.3)) operation.config = { ram_mb: pick([32, 64]) }
  if (chance(0.3)) operation.environment = drawEnvironment(draw)
  if (chance(0.3)) operation.tags = drawTags(draw)
  return operation
}

function drawUpdate(draw: Chance): UpdateBox['body'] {
  const { pick, chance } = draw
  const body: UpdateBox['body'] = {}
  if (chance(0.7)) {
    const config = { cpus: pick([0.5, 1, 2, null]), ram_mb: pick([32, 64, 128, null]), storage_gb: pick([1, 2, null]) }
    const kept = Object.entries(config).filter(() => chance(0.6))
    body.config = chance(0.05) ? null : Object.fromEntries(kept)
  }
  if (chance(0.4)) body.environment = chance(0.2) ? null : drawEnvironment(draw)
  if (chance(0.3)) body.tags = chance(0.2) ? null : drawTags(draw)
  return body
}

function drawEnvironment({ pick }: Chance): Record<string, string> {
  return pick([{}, { MODEL: 'one' }, { MODEL: 'two', OTHER: 'x' }])
}

function drawTags({ pick }: Chance): Record<string, string> {
  return pick([{}, { team: 'a' }, { team: 'b', stage: 'test' }])
}

function drawPath({ pick, chance }: Chance): string {
  return chance(0.04) ? pick(KERNEL_PATHS) : pick(MOUNT_PATHS)
}

function pickBox({ pick, chance }: Chance, model: Model): string {
  return chance(0.96) && model.boxes.size > 0 ? pick([...model.boxes.keys()]) : pick(BOXES)
}

function pickVolume({ pick, chance }: Chance, model: Model): string {
  return chance(0.96) && model.volumes.size > 0 ? pick([...model.volumes.keys()]) : pick(VOLUMES)
}

/** Paths on which a volume must not be mounted. */
export const KERNEL_PATHS: readonly string[] = ['/', '/proc/x', '/mnt/../x']

/** A name that no base has. */
export const MISSING_BASE = 'missing'

const MOUNT_PATHS = ['/mnt/a', '/mnt/a/in', '/mnt/b', '/srv/deep/c']
const BOXES = ['ant', 'bee', 'cat', 'dog', 'elk']
const VOLUMES = ['oak', 'elm', 'fir', 'ash']
const SIZES = [0.05, 0.1, 0.25, 1]

/** Every file that operations write. */
export const FILE_PATHS: readonly string[] = ['/root', ...MOUNT_PATHS].flatMap((path) => [`${path}/f0`, `${path}/f1`])

/** Every file that a volume may have, by its path in the volume. */
export const VOLUME_FILE_PATHS: readonly string[] = [
  ...new Set(
    MOUNT_PATHS.flatMap((mount) =>
      FILE_PATHS.filter((path) => path.startsWith(`${mount}/`)).map((path) => path.slice(mount.length + 1)),
    ),
  ),
]

// Weighted by repetition.
const CHANGES: readonly Change[] = [
  ...(['createBox', 'createBox', 'createBox', 'stop', 'stop', 'resume', 'resume', 'resume', 'deleteBox'] as const),
  ...(['createVolume', 'createVolume', 'updateVolume', 'deleteVolume', 'updateBox', 'updateBox'] as const),
  ...(['attach', 'attach', 'attach', 'attach', 'detach', 'detach', 'detach'] as const),
  ...SNAPSHOT_KINDS,
  ...BACKUP_KINDS,
]
const ALL = [...CHANGES, ...Array.from({ length: 10 }, () => 'write' as const), ...(['sit', 'sit', 'sit'] as const)]
