import { applyToBackups } from './backups.ts'
import {
  type AttachVolume,
  type CreateBox,
  type CreateVolume,
  KERNEL_PATHS,
  type ModelOperation,
  type UpdateBox,
} from './operations.ts'
import { attachmentsOf, copyOfTree, isBusyIn, makePlace, modelBoxOf, resolve, startBox, volumeOf } from './places.ts'
import { applyToSnapshots, contentOf, emptyHistory } from './snapshots.ts'
import type { Model, ModelBox, ModelVolume, Mount } from './state.ts'

/** The possible error codes. Any of them is right. Empty for a success. */
export type Prediction = readonly string[]

export function createModel(): Model {
  const none = { boxes: new Map(), volumes: new Map(), backups: [], bases: new Map() }
  return { ...none, volumesMade: 0, backupsMade: 0, basesMade: 0 }
}

/** Predicts the outcome of `operation` and applies it to `model` if it succeeds. @throws Unpredictable, with `model` half changed */
export function applyOperation(model: Model, operation: ModelOperation): Prediction {
  const missing = findMissing(model, operation)
  switch (operation.kind) {
    case 'createBox':
      return createBox(model, operation)
    case 'createVolume':
      return createVolume(model, operation)
    case 'attach':
      return attach(model, operation)
    case 'detach':
      return missing.length > 0 ? missing : detach(model, operation)
    case 'deleteVolume':
      return missing.length > 0 ? missing : deleteVolume(model, operation.volume)
    case 'updateVolume':
      return missing.length > 0 ? missing : updateVolume(volumeOf(model, operation.volume), operation)
    case 'deleteBox':
    case 'stop':
    case 'resume':
    case 'updateBox':
    case 'write':
    case 'sit':
    case 'leave':
      return missing.length > 0 ? missing : changeBox(model, modelBoxOf(model, operation.box), operation)
    case 'takeBox':
    case 'takeVolume':
    case 'restoreBox':
    case 'restoreVolume':
    case 'dropBoxSnapshot':
    case 'dropVolumeSnapshot':
      return missing.length > 0 ? missing : applyToSnapshots(model, operation)
    case 'backUp':
    case 'createFromBackup':
    case 'restoreOver':
    case 'dropBackup':
    case 'createBase':
    case 'deleteBase':
      return applyToBackups(model, operation, missing)
  }
}

/** Marks directories that only `done` has as unknown. A step that was cut short counts as not done, but its directories may exist. */
export function forgetDirectories(model: Model, done: Model): void {
  for (const [name, volume] of model.volumes) {
    for (const path of done.volumes.get(name)?.directories.keys() ?? []) {
      if (!volume.directories.has(path)) volume.directories.set(path, 'unknown')
    }
  }
}

function findMissing(model: Model, operation: ModelOperation): string[] {
  const missing: string[] = []
  if ('box' in operation && !model.boxes.has(operation.box)) missing.push('box_not_found')
  if ('volume' in operation && !model.volumes.has(operation.volume)) missing.push('volume_not_found')
  return missing
}

function createBox(model: Model, { name, base, fork, mounts, config, environment, tags }: CreateBox): Prediction {
  const [origin = null, snapshot = null] = fork?.split('@') ?? []
  const source = origin === null ? null : model.boxes.get(origin)
  const root = source ? contentOf(source, snapshot) : null
  const faults = mounts.flatMap((mount, index) => mountFaults(model, mount, mounts.slice(0, index)))
  if (base !== undefined && fork !== undefined) faults.push('base_and_fork')
  const own = model.bases.get(base ?? '')
  if (base !== undefined && base !== 'busybox' && !own) faults.push('base_not_found')
  if (source === undefined) faults.push('box_not_found')
  if (root === undefined) faults.push('snapshot_not_found')
  if (model.boxes.has(name)) faults.push('name_taken')
  if (faults.length > 0) return faults
  const box: ModelBox = {
    status: 'stopped',
    base: source?.base ?? base ?? 'busybox',
    baseId: source ? source.baseId : (own?.id ?? null),
    forkOf: origin,
    config: { ...(source?.config ?? DEFAULT_CONFIG), ...config },
    environment: environment ?? { ...source?.environment },
    tags: tags ?? {},
    mounts: structuredClone(mounts),
    files: new Map((root ?? own)?.files),
    sitsIn: [],
    history: emptyHistory(),
  }
  model.boxes.set(name, box)
  startBox(model, box)
  return []
}

function mountFaults(model: Model, mount: Mount, others: readonly Mount[]): string[] {
  const faults: string[] = []
  if (!model.volumes.has(mount.name)) faults.push('volume_not_found')
  if (KERNEL_PATHS.includes(mount.path)) faults.push('path_invalid')
  if (others.some(({ name }) => name === mount.name)) faults.push('invalid_request')
  if (others.some(({ path }) => path === mount.path)) faults.push('mount_path_taken')
  if (!mount.read_only && hasWriter(model, mount.name)) faults.push('volume_in_use')
  return faults
}

function hasWriter(model: Model, volume: string): boolean {
  return attachmentsOf(model, volume).some(({ read_only: readOnly }) => !readOnly)
}

function createVolume(model: Model, operation: CreateVolume): Prediction {
  const { name, from, from_snapshot: snapshot = null, tags = {} } = operation
  const source = from === undefined ? null : model.volumes.get(from)
  const tree = source ? contentOf(source, snapshot) : null
  const faults: string[] = []
  if (model.volumes.has(name)) faults.push('name_taken')
  if (source === undefined) faults.push('volume_not_found')
  if (tree === undefined) faults.push('snapshot_not_found')
  if (faults.length > 0) return faults
  model.volumes.set(name, {
    id: model.volumesMade++,
    from: source ? [from, snapshot].filter((part) => part !== null).join('@') : null,
    sizeGb: operation.size_gb ?? source?.sizeGb ?? 10,
    tags,
    history: emptyHistory(),
    ...copyOfTree(tree ?? { files: new Map(), directories: new Map() }),
  })
  return []
}

function attach(model: Model, operation: AttachVolume): Prediction {
  const faults = findMissing(model, operation)
  if (KERNEL_PATHS.includes(operation.path)) faults.push('path_invalid')
  if (faults.length > 0) return faults
  const box = modelBoxOf(model, operation.box)
  const mount = { name: operation.volume, path: operation.path, read_only: operation.read_only }
  const present = box.mounts.find(({ name }) => name === mount.name)
  if (present?.path === mount.path && present.read_only === mount.read_only) return []
  if (present || (!mount.read_only && hasWriter(model, mount.name))) faults.push('volume_in_use')
  if (box.mounts.some(({ path }) => path === mount.path || path.startsWith(`${mount.path}/`)))
    faults.push('mount_path_taken')
  // A request that fails at once creates no directory.
  const target = faults.length === 0 ? model : structuredClone(model)
  const isPossible = box.status === 'stopped' || makePlace(target, box, mount.path)
  if (!isPossible) faults.push('path_invalid')
  if (faults.length === 0) box.mounts.push(mount)
  return faults
}

function detach(model: Model, { box: boxName, volume }: ModelOperation & { kind: 'detach' }): Prediction {
  const box = modelBoxOf(model, boxName)
  const mount = box.mounts.find(({ name }) => name === volume)
  if (!mount) return ['not_attached']
  if (isBusyIn(box, volume)) return ['volume_busy']
  box.mounts = box.mounts.filter((each) => each !== mount)
  return []
}

function deleteVolume(model: Model, name: string): Prediction {
  if (attachmentsOf(model, name).length > 0) return ['volume_in_use']
  model.volumes.delete(name)
  return []
}

function updateVolume(volume: ModelVolume, { body }: ModelOperation & { kind: 'updateVolume' }): Prediction {
  const sizeGb = body.size_gb === null ? 10 : (body.size_gb ?? volume.sizeGb)
  // Smaller than an empty subvolume.
  if (sizeGb * 1024 ** 3 < 16_384) return ['below_use']
  volume.sizeGb = sizeGb
  if (body.tags !== undefined) volume.tags = body.tags ?? {}
  return []
}

type BoxChange = Extract<
  ModelOperation,
  UpdateBox | { kind: 'write' | 'sit' } | { kind: 'stop' | 'resume' | 'deleteBox' | 'leave' }
>

function changeBox(model: Model, box: ModelBox, operation: BoxChange): Prediction {
  const isRunning = box.status === 'running'
  switch (operation.kind) {
    case 'deleteBox':
      model.boxes.delete(operation.box)
      return []
    case 'stop':
      box.status = 'stopped'
      box.sitsIn = []
      return []
    case 'resume':
      if (!isRunning) startBox(model, box)
      return []
    case 'updateBox':
      updateBox(box, operation)
      return []
    case 'write':
      return isRunning ? write(model, box, operation) : ['box_not_running']
    case 'sit':
      box.sitsIn = [resolve(box, `${operation.path}/`).mount?.name ?? ''].filter(Boolean)
      return isRunning ? [] : ['box_not_running']
    case 'leave':
      box.sitsIn = []
      return isRunning ? [] : ['box_not_running']
  }
}

function updateBox(box: ModelBox, { body }: UpdateBox): void {
  if (body.config === null) box.config = { ...DEFAULT_CONFIG }
  for (const [key, value] of Object.entries(body.config ?? {})) {
    const field = key as keyof ModelBox['config']
    box.config[field] = value ?? DEFAULT_CONFIG[field]
  }
  if (body.environment !== undefined) box.environment = body.environment ?? {}
  if (body.tags !== undefined) box.tags = body.tags ?? {}
}

function write(model: Model, box: ModelBox, { path, token }: ModelOperation & { kind: 'write' }): Prediction {
  const { mount, rest } = resolve(box, path)
  if (mount?.read_only) return ['command_failed']
  if (!mount) box.files.set(path, token)
  else {
    const volume = volumeOf(model, mount.name)
    volume.files.set(rest, token)
    const end = rest.lastIndexOf('/')
    if (end > 0) volume.directories.set(rest.slice(0, end), 'there')
  }
  return []
}

const DEFAULT_CONFIG = { cpus: 1, ram_mb: 512, storage_gb: 10 }
