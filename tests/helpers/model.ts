import {
  type Attach,
  type CreateBox,
  KERNEL_PATHS,
  MISSING_BASE,
  type Operation,
  type UpdateBox,
} from './model-operations.ts'
import type { Model, ModelBox, ModelVolume, Mount } from './model-state.ts'

/** The codes that may be told, any of them, or none for a success. */
export type Prediction = readonly string[]

/** The outcome depends on what the model does not know. */
export class Unpredictable extends Error {}

export function createModel(): Model {
  return { boxes: new Map(), volumes: new Map() }
}

/** Predicts `operation`, and carries it out in `model` if it succeeds. @throws Unpredictable, with `model` half changed */
export function applyOperation(model: Model, operation: Operation): Prediction {
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
      return missing.length > 0 ? missing : changeBox(model, boxOf(model, operation.box), operation)
  }
}

/** What lies at `path` in a box: the file of a volume or of its root, null if there is none. */
export function readFile(model: Model, box: ModelBox, path: string): string | null {
  const { mount, rest } = resolve(box, path)
  return (mount ? volumeOf(model, mount.name).files.get(rest) : box.files.get(path)) ?? null
}

/** A step was cut off and counts as not done: directories that `done` has may be there all the same. */
export function forgetDirectories(model: Model, done: Model): void {
  for (const [name, volume] of model.volumes) {
    for (const path of done.volumes.get(name)?.directories.keys() ?? []) {
      if (!volume.directories.has(path)) volume.directories.set(path, 'unknown')
    }
  }
}

/** The boxes that have a volume, by name. */
export function attachmentsOf(model: Model, volume: string): { box: string; path: string; read_only: boolean }[] {
  const found = [...model.boxes].flatMap(([box, { mounts }]) =>
    mounts
      .filter(({ name }) => name === volume)
      .map(({ path, read_only: readOnly }) => ({ box, path, read_only: readOnly })),
  )
  return found.sort((a, b) => (a.box < b.box ? -1 : 1))
}

function findMissing(model: Model, operation: Operation): string[] {
  const missing: string[] = []
  if ('box' in operation && !model.boxes.has(operation.box)) missing.push('box_not_found')
  if ('volume' in operation && !model.volumes.has(operation.volume)) missing.push('volume_not_found')
  return missing
}

function createBox(model: Model, { name, base, fork, mounts, config, environment, tags }: CreateBox): Prediction {
  const source = fork === undefined ? null : model.boxes.get(fork)
  const faults = mounts.flatMap((mount, place) => mountFaults(model, mount, mounts.slice(0, place)))
  if (base !== undefined && fork !== undefined) faults.push('base_and_fork')
  if (base === MISSING_BASE) faults.push('base_not_found')
  if (source === undefined) faults.push('box_not_found')
  if (model.boxes.has(name)) faults.push('name_taken')
  if (faults.length > 0) return faults
  const box: ModelBox = {
    status: 'stopped',
    base: source?.base ?? 'busybox',
    forkOf: fork ?? null,
    config: { ...(source?.config ?? DEFAULT_CONFIG), ...config },
    environment: environment ?? { ...source?.environment },
    tags: tags ?? {},
    mounts: structuredClone(mounts),
    files: new Map(source?.files),
    sitsIn: [],
  }
  model.boxes.set(name, box)
  start(model, box)
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

function createVolume(model: Model, { name, size_gb: sizeGb = 10, tags = {} }: Operation & { kind: 'createVolume' }) {
  if (model.volumes.has(name)) return ['name_taken']
  model.volumes.set(name, { sizeGb, tags, files: new Map(), directories: new Map() })
  return []
}

function attach(model: Model, operation: Attach): Prediction {
  const faults = findMissing(model, operation)
  if (KERNEL_PATHS.includes(operation.path)) faults.push('path_invalid')
  if (faults.length > 0) return faults
  const box = boxOf(model, operation.box)
  const mount = { name: operation.volume, path: operation.path, read_only: operation.read_only }
  const present = box.mounts.find(({ name }) => name === mount.name)
  if (present?.path === mount.path && present.read_only === mount.read_only) return []
  if (present || (!mount.read_only && hasWriter(model, mount.name))) faults.push('volume_in_use')
  if (box.mounts.some(({ path }) => path === mount.path || path.startsWith(`${mount.path}/`)))
    faults.push('mount_path_taken')
  const isPossible = box.status === 'stopped' || makePlace(model, box, mount.path)
  if (!isPossible) faults.push('path_invalid')
  if (faults.length === 0) box.mounts.push(mount)
  return faults
}

function detach(model: Model, { box: boxName, volume }: Operation & { kind: 'detach' }): Prediction {
  const box = boxOf(model, boxName)
  const mount = box.mounts.find(({ name }) => name === volume)
  if (!mount) return ['not_attached']
  const hasInner = box.mounts.some(({ path }) => path.startsWith(`${mount.path}/`))
  if (box.status === 'running' && (hasInner || box.sitsIn.includes(volume))) return ['volume_busy']
  box.mounts = box.mounts.filter((each) => each !== mount)
  return []
}

function deleteVolume(model: Model, name: string): Prediction {
  if (attachmentsOf(model, name).length > 0) return ['volume_in_use']
  model.volumes.delete(name)
  return []
}

function updateVolume(volume: ModelVolume, { body }: Operation & { kind: 'updateVolume' }): Prediction {
  const sizeGb = body.size_gb === null ? 10 : (body.size_gb ?? volume.sizeGb)
  // Not even an empty subvolume fits.
  if (sizeGb * 1024 ** 3 < 16_384) return ['below_use']
  volume.sizeGb = sizeGb
  if (body.tags !== undefined) volume.tags = body.tags ?? {}
  return []
}

type BoxChange = Extract<
  Operation,
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
      if (!isRunning) start(model, box)
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

function write(model: Model, box: ModelBox, { path, token }: Operation & { kind: 'write' }): Prediction {
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

// Without a place for one of its mounts it does not start.
function start(model: Model, box: ModelBox): void {
  const byDepth = box.mounts.toSorted((a, b) => a.path.split('/').length - b.path.split('/').length)
  box.status = byDepth.every(({ path }) => makePlace(model, box, path)) ? 'running' : 'stopped'
}

/** Whether a directory to mount on is there or can be made. */
function makePlace(model: Model, box: ModelBox, path: string): boolean {
  const { mount, rest } = resolve(box, path)
  if (!mount) return true
  const { directories } = volumeOf(model, mount.name)
  if (!mount.read_only) directories.set(rest, 'there')
  if (directories.get(rest) === 'unknown') throw new Unpredictable(path)
  return directories.has(rest)
}

/** The innermost mount of a box that `path` lies below, if any, and the path from there. */
function resolve(box: ModelBox, path: string): { mount: Mount | null; rest: string } {
  const over = box.mounts.filter((mount) => path.startsWith(`${mount.path}/`))
  const mount = over.sort((a, b) => b.path.length - a.path.length)[0] ?? null
  return { mount, rest: mount ? path.slice(mount.path.length + 1) : path }
}

function boxOf(model: Model, name: string): ModelBox {
  return known(model.boxes.get(name))
}

function volumeOf(model: Model, name: string): ModelVolume {
  return known(model.volumes.get(name))
}

function known<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('the model lost something')
  return value
}

const DEFAULT_CONFIG = { cpus: 1, ram_mb: 512, storage_gb: 10 }
