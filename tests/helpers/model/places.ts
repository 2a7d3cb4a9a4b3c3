import type { Model, ModelBox, ModelVolume, Mount, Tree } from './state.ts'

/** Thrown when the outcome depends on state that the model does not track. */
export class Unpredictable extends Error {}

/** Returns the content of `path` in a box, from a volume or its root. Null if the file does not exist. */
export function readFile(model: Model, box: ModelBox, path: string): string | null {
  const { mount, rest } = resolve(box, path)
  return (mount ? volumeOf(model, mount.name).files.get(rest) : box.files.get(path)) ?? null
}

/** Returns the boxes that have a volume attached, sorted by name. */
export function attachmentsOf(model: Model, volume: string): { box: string; path: string; read_only: boolean }[] {
  const found = [...model.boxes].flatMap(([box, { mounts }]) =>
    mounts
      .filter(({ name }) => name === volume)
      .map(({ path, read_only: readOnly }) => ({ box, path, read_only: readOnly })),
  )
  return found.sort((a, b) => (a.box < b.box ? -1 : 1))
}

/** Returns true if a box prevents the detach of `volume`. A process uses it, or another volume is mounted within it. */
export function isBusyIn(box: ModelBox, volume: string): boolean {
  const mount = box.mounts.find(({ name }) => name === volume)
  if (mount === undefined || box.status === 'stopped') return false
  return box.sitsIn.includes(volume) || box.mounts.some(({ path }) => path.startsWith(`${mount.path}/`))
}

/** Starts a box. Returns false if it cannot create a mount point. @throws Unpredictable */
export function startBox(model: Model, box: ModelBox): boolean {
  const byDepth = box.mounts.toSorted((a, b) => a.path.split('/').length - b.path.split('/').length)
  const isRunning = byDepth.every(({ path }) => makePlace(model, box, path))
  box.status = isRunning ? 'running' : 'stopped'
  return isRunning
}

/** Returns true if the mount point exists, or if the box can create it. @throws Unpredictable */
export function makePlace(model: Model, box: ModelBox, path: string): boolean {
  const { mount, rest } = resolve(box, path)
  if (!mount) return true
  const { directories } = volumeOf(model, mount.name)
  if (!mount.read_only) directories.set(rest, 'there')
  if (directories.get(rest) === 'unknown') throw new Unpredictable(path)
  return directories.has(rest)
}

/** Returns the innermost mount of a box that contains `path`, if any, and the path within it. */
export function resolve(box: ModelBox, path: string): { mount: Mount | null; rest: string } {
  const over = box.mounts.filter((mount) => path.startsWith(`${mount.path}/`))
  const mount = over.sort((a, b) => b.path.length - a.path.length)[0] ?? null
  return { mount, rest: mount ? path.slice(mount.path.length + 1) : path }
}

/** Copies the content of a volume. */
export function copyOfTree({ files, directories }: Tree): Tree {
  return { files: new Map(files), directories: new Map(directories) }
}

/** Returns an existing box. */
export function modelBoxOf(model: Model, name: string): ModelBox {
  return known(model.boxes.get(name))
}

/** Returns an existing volume. */
export function volumeOf(model: Model, name: string): ModelVolume {
  return known(model.volumes.get(name))
}

function known<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('the model lost something')
  return value
}
