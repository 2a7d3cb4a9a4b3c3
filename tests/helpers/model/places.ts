import type { Model, ModelBox, ModelVolume, Mount, Tree } from './state.ts'

/** Thrown when the outcome depends on state that the model does not track. */
export class Unpredictable extends Error {}

/** Returns the content of `path` in a box, from a volume or its root, or null if there is no file. */
export function readFile(model: Model, box: ModelBox, path: string): string | null {
  const { mount, rest } = resolve(box, path)
  return (mount ? volumeOf(model, mount.name).files.get(rest) : box.files.get(path)) ?? null
}

/** Returns the boxes that a volume is attached to, sorted by name. */
export function attachmentsOf(model: Model, volume: string): { box: string; path: string; read_only: boolean }[] {
  const found = [...model.boxes].flatMap(([box, { mounts }]) =>
    mounts
      .filter(({ name }) => name === volume)
      .map(({ path, read_only: readOnly }) => ({ box, path, read_only: readOnly })),
  )
  return found.sort((a, b) => (a.box < b.box ? -1 : 1))
}

/** True if a box prevents the detach of `volume`: another volume is mounted in it, or a process uses it. */
export function isBusyIn(box: ModelBox, volume: string): boolean {
  const mount = box.mounts.find(({ name }) => name === volume)
  if (mount === undefined || box.status === 'stopped') return false
  return box.sitsIn.includes(volume) || box.mounts.some(({ path }) => path.startsWith(`${mount.path}/`))
}

/** Starts a box; returns false if a mount point cannot be created. @throws Unpredictable */
export function startBox(model: Model, box: ModelBox): boolean {
  const byDepth = box.mounts.toSorted((a, b) => a.path.split('/').length - b.path.split('/').length)
  const isRunning = byDepth.every(({ path }) => makePlace(model, box, path))
  box.status = isRunning ? 'running' : 'stopped'
  return isRunning
}

/** Returns true if the mount point exists or can be created. @throws Unpredictable */
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
