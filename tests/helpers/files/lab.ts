import { buffer } from 'node:stream/consumers'
import { createHostFiles, type HostFiles } from '../../../agent/drivers/files/files.ts'
import { createBoxHandles } from '../../../agent/drivers/host/handle.ts'
import type {
  FileFacts,
  FilePath,
  Files,
  FilesRoot,
  ListOptions,
  WriteOptions,
  WrittenFile,
} from '../../../agent/ports/files/files.ts'
import { untilGone } from '../boxes/oci-lab.ts'
import { openVolumeLab, type VolumeLab } from '../volumes/lab.ts'

/** The files of boxes on one pool. */
export interface FileLab {
  volumes: VolumeLab
  files: HostFiles
  /** Starts a box with volumes by path. Mounts names that end with `:ro` read-only. */
  startBox(id: string, mounts?: Record<string, string>): Promise<BoxFiles>
  /** Closes the lab. Throws if anything of it is left on the host. */
  close(): Promise<void>
}

/** The files of one box. */
export interface BoxFiles {
  place: FilesRoot
  stop(): Promise<void>
  start(): Promise<void>
  /** Stops the box and destroys its root. */
  drop(): Promise<void>
  /** Reads a file, or its bytes from `start` to `end`. */
  read(path: string, range?: { start: number; end: number }): Promise<string>
  write(path: string, text: string, options?: Partial<WriteOptions>): Promise<WrittenFile>
  list(path: string, options?: Partial<ListOptions>): Promise<FilePage>
  /** Lists the names below a directory. */
  names(path: string, depth?: number): Promise<string[]>
}

/** A page of a listing. */
export interface FilePage {
  entries: (FileFacts & { path: FilePath })[]
  next: FilePath | null
}

/** Opens a lab. The caller must close it. */
export async function openFileLab(): Promise<FileLab> {
  const volumes = await openVolumeLab()
  const handles = createBoxHandles(`${volumes.lab.home}/run/boxes`)
  const files = createHostFiles({ find: (boxId) => handles.readRunning(boxId) })
  await files.start()
  return {
    volumes,
    files,
    startBox: async (id, volumePaths = {}) => {
      const mounts = Object.entries(volumePaths).map(([path, name]) => ({
        source: volumes.pool.path(name.replace(/:ro$/, '')),
        path,
        readOnly: name.endsWith(':ro'),
      }))
      const spec = await volumes.startBox(id, { mounts })
      return boxFiles({ volumes, files }, { boxId: id, rootPath: spec.rootPath, mounts }, async () => {
        await volumes.lab.runtime.start(spec)
      })
    },
    close: async () => {
      await files.close()
      await volumes.close()
      await untilGone(volumes.lab)
    },
  }
}

/** A lab with one box, `box_main`. */
export interface FileBox extends FileLab {
  box: BoxFiles
  /** Returns the host path of a path in the box's root. Files there have the ids that the box sees. */
  disk(path: string): string
}

/** Opens a lab whose box has new volumes by path, as in `startBox`. Stops the box if `view` is `stopped`. */
export async function openFileBox(view: string, volumes: Record<string, string> = DATA): Promise<FileBox> {
  const lab = await openFileLab()
  for (const name of Object.values(volumes)) await lab.volumes.makeVolume(name.replace(/:ro$/, ''))
  const box = await lab.startBox('box_main', volumes)
  if (view === 'stopped') await box.stop()
  return { ...lab, box, disk: (path) => `${box.place.rootPath}${path}` }
}

function boxFiles(
  { volumes, files }: Pick<FileLab, 'volumes' | 'files'>,
  place: FilesRoot,
  start: () => Promise<void>,
): BoxFiles {
  const list: BoxFiles['list'] = (path, options) => listFilePage(files, { place, path, ...options })
  return {
    place,
    start,
    stop: () => volumes.lab.runtime.stop(place.boxId, { graceMs: 0 }),
    drop: () => volumes.dropBox(place.boxId),
    read: async (path, range) => {
      const file = await files.open(place, Buffer.from(path))
      return (await buffer(file.read(range ?? { start: 0, end: file.facts.sizeBytes }))).toString()
    },
    write: (path, text, options = {}) => files.write(place, Buffer.from(path), { ...PLAIN, ...options }, pieces(text)),
    list,
    names: async (path, depth = 1) =>
      (await list(path, { depth })).entries.map((entry) => Buffer.from(entry.path).toString()),
  }
}

/** Lists one page of a directory, with up to 1,000 entries by default. */
export async function listFilePage(
  files: Files,
  { place, path, ...options }: { place: FilesRoot; path: string } & Partial<ListOptions>,
): Promise<FilePage> {
  const entries: FilePage['entries'] = []
  const take: ListOptions['take'] = (some) => {
    for (const entry of some) entries.push({ ...entry, path: Buffer.from(entry.path, 'latin1') })
  }
  const next = await files.list(place, Buffer.from(path), { depth: 1, after: null, limit: 1000, take, ...options })
  return { entries, next }
}

/** Yields a string or bytes `count` times. */
export async function* pieces(text: string | Uint8Array, count = 1): AsyncGenerator<Uint8Array> {
  for (let index = 0; index < count; index++) yield Buffer.from(text)
}

const DATA = { '/srv/data': 'vol_data' }

/** Options of a write without conditions. */
export const PLAIN: WriteOptions = { mode: null, parents: false, ifMatch: null, ifNoneMatch: false }
