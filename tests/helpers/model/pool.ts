import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { instanceOf } from '../boxes/world.ts'
import type { TestService } from '../service.ts'
import { FILE_PATHS, VOLUME_FILE_PATHS } from './operations.ts'
import type { Model, ModelSnapshot } from './state.ts'

/** The files of each root, volume and snapshot. Keys are like `box ant`, `volume oak@v0` and `box ant@v0 with oak`. */
export type Contents = Record<string, Record<string, string>>

/** The subvolumes that a service's records name, with their content. */
export interface Pool {
  contents: Contents
  /** All subvolumes in `contents`, sorted. */
  subvolumes: string[]
  /** The subvolumes of volumes, by name. */
  volumes: Map<string, string>
}

/** Reads the database and the pool directly, without the API. */
export function readPool(service: TestService): Pool {
  const named = readNames(service)
  const contents = named.map(({ key, subvolume, isRoot }) => {
    return [key, readSubvolume(service, subvolume, isRoot ? 'root' : 'volume')]
  })
  return {
    contents: Object.fromEntries(contents),
    subvolumes: named.map(({ subvolume }) => subvolume).sort(),
    volumes: new Map(named.map(({ key, subvolume }) => [key.replace('volume ', ''), subvolume])),
  }
}

/** Returns the files of a subvolume, by path. */
export function readSubvolume(
  service: TestService,
  subvolume: string,
  kind: 'root' | 'volume',
): Record<string, string> {
  const pool = join(`/proc/${service.agentPid}/root/run/boxyard`, instanceOf(service), 'pool')
  const files = (kind === 'root' ? FILE_PATHS : VOLUME_FILE_PATHS).flatMap((path) => {
    const text = readLine(join(pool, subvolume, path))
    return text === null ? [] : [[path, text]]
  })
  return Object.fromEntries(files)
}

/** Returns all records of a table. */
export function readRecords<T>(service: TestService, table: string): T[] {
  const database = new DatabaseSync(join(service.dataDir, 'boxyard.db'), { readOnly: true })
  try {
    const rows = database.prepare(`SELECT record FROM ${table}`).all()
    return rows.map((row) => JSON.parse(String(row['record'])) as T)
  } finally {
    database.close()
  }
}

/** Returns the contents that `readPool` must find for a model. */
export function expectedContents(model: Model): Contents {
  const contents: Contents = {}
  const add = (key: string, files: ReadonlyMap<string, string>): void => {
    contents[key] = Object.fromEntries(files)
  }
  const addHistory = (owner: string, snapshots: ReadonlyMap<string, ModelSnapshot>): void => {
    for (const [name, { tree, data }] of snapshots) {
      add(`${owner}@${name}`, tree.files)
      for (const part of data) add(`${owner}@${name} with ${part.name}`, part.tree.files)
    }
  }
  for (const [name, { files, history }] of model.boxes) {
    add(`box ${name}`, files)
    addHistory(`box ${name}`, history.snapshots)
  }
  for (const [name, { files, history }] of model.volumes) {
    add(`volume ${name}`, files)
    addHistory(`volume ${name}`, history.snapshots)
  }
  return contents
}

interface Named {
  key: string
  subvolume: string
  isRoot: boolean
}

function readNames(service: TestService): Named[] {
  return [
    ...readRecords<{ name: string; root: string }>(service, 'boxes').map(({ name, root }) => {
      return { key: `box ${name}`, subvolume: root, isRoot: true }
    }),
    ...readRecords<{ name: string; subvolume: string }>(service, 'volumes').map(({ name, subvolume }) => {
      return { key: `volume ${name}`, subvolume, isRoot: false }
    }),
    ...readRecords<StoredSnapshot>(service, 'snapshots').flatMap(({ name, owner, subvolume, data }) => {
      const key = `${owner.kind} ${owner.name}@${name}`
      const parts = data.map((part) => {
        return { key: `${key} with ${part.name}`, subvolume: part.subvolume, isRoot: false }
      })
      return [{ key, subvolume, isRoot: owner.kind === 'box' }, ...parts]
    }),
  ]
}

interface StoredSnapshot {
  name: string
  owner: { kind: 'box' | 'volume'; name: string }
  subvolume: string
  data: { name: string; subvolume: string }[]
}

function readLine(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').trimEnd()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}
