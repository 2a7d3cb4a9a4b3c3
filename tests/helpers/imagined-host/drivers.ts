import { createHash } from 'node:crypto'
import type { BackupStore } from '../../../agent/ports/backups/store.ts'
import type { Edge } from '../../../agent/ports/edge/edge.ts'
import type { ExecOutputs } from '../../../agent/ports/exec/outputs.ts'
import type { Files } from '../../../agent/ports/files/files.ts'
import { ServiceError } from '../../../shared/errors.ts'
import type { ImaginedWorld } from './world.ts'

/** Creates the driver of an imagined edge. It serves the routes that it gets, and never has an open request. */
export function createImaginedEdge(world: ImaginedWorld): Edge {
  const { routes, grants } = world
  const setGrants: Edge['grant'] = async (given) => {
    for (const grant of given) grants.set(`${grant.credential} ${grant.scope}`, grant)
    world.effects++
  }
  return {
    port: 8081,
    cellPort: null,
    open: async (state) => {
      routes.clear()
      grants.clear()
      for (const route of state.routes) routes.set(route.host, route)
      await setGrants(state.grants)
    },
    started: async () => undefined,
    change: async ({ set = [], remove = [] }) => {
      for (const host of remove) routes.delete(host)
      for (const route of set) routes.set(route.host, route)
      world.effects++
    },
    lead: async () => undefined,
    grant: setGrants,
    revoke: async (credentials) => {
      for (const [key, { credential }] of grants) if (credentials.includes(credential)) grants.delete(key)
      world.effects++
    },
    credentials: async () => new Set(),
    drain: async () => undefined,
    use: async () => new Map(),
    metrics: async () => ({ starts: 0, served: null }),
    problems: async () => [],
    close: async () => undefined,
  }
}

/** Creates the driver of imagined output files, which are empty. */
export function createImaginedOutputs(world: ImaginedWorld): ExecOutputs {
  const { outputs } = world
  const drop = (isDropped: (key: string) => boolean): void => {
    for (const key of outputs) if (isDropped(key) && outputs.delete(key)) world.effects++
  }
  const nothing = (offset: number) => ({ offset, bytes: new Uint8Array(0), totalBytes: 0 })
  return {
    collect: () => {
      throw new Error('An imagined command has no streams.')
    },
    drop: () => undefined,
    follow: () => ({
      totals: () => ({ stdout: 0, stderr: 0 }),
      read: ({ offset }) => nothing(offset),
      settle: async () => ({ output: { stdout: new Uint8Array(0), stderr: new Uint8Array(0) }, fileBytes: 0 }),
    }),
    read: (_key, { offset }) => nothing(offset),
    remove: async ({ boxId, execId }) => drop((key) => key === `${boxId}/${execId}`),
    removeBox: async (boxId) => drop((key) => key.startsWith(`${boxId}/`)),
    sweep: async (known) => {
      const kept = new Set(known.map(({ boxId, execId }) => `${boxId}/${execId}`))
      drop((key) => !kept.has(key))
    },
  }
}

/** Creates an imagined backup store. */
export function createImaginedBackupStore(world: ImaginedWorld): BackupStore {
  const { objects } = world
  const find = (name: string): Uint8Array | undefined => objects.get(checked(name))
  return {
    kind: 'imagined',
    put: async (name, pieces, signal) => {
      checked(name)
      const bytes = await join(pieces, signal)
      objects.set(name, bytes)
      world.effects++
      return storedOf(bytes)
    },
    get: async (name) => {
      const bytes = find(name)
      return bytes === undefined ? null : piecesOf(bytes)
    },
    digest: async (name) => {
      const bytes = find(name)
      return bytes === undefined ? null : storedOf(bytes)
    },
    list: async function* (prefix) {
      for (const [name, { length }] of [...objects]) if (name.startsWith(prefix)) yield { name, sizeBytes: length }
    },
    delete: async (name) => {
      if (objects.delete(checked(name))) world.effects++
    },
    close: async () => undefined,
  }
}

/** Creates the driver of the files of imagined boxes. There are no files. */
export function createImaginedFiles(): Files {
  const none = (): Promise<never> => Promise.reject(new ServiceError('file_not_found', 'There is no such file.'))
  return {
    ...{ stat: none, list: none, open: none, write: none, remove: none, move: none, makeDirectory: none },
    ...{ restore: none, pack: none, unpack: none, unpackLayer: none, close: async () => undefined },
  }
}

function checked(name: string): string {
  if (!/^(?:[A-Za-z0-9_-][A-Za-z0-9._-]{0,127})(?:\/[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}){0,7}$/.test(name))
    throw new Error(`"${name}" is no name of an object`)
  return name
}

async function join(pieces: AsyncIterable<Uint8Array>, signal?: AbortSignal): Promise<Uint8Array> {
  const all: Uint8Array[] = []
  try {
    for await (const piece of pieces) {
      signal?.throwIfAborted()
      all.push(piece)
    }
  } catch (cause) {
    throw cause instanceof ServiceError ? cause : new ServiceError('internal', 'The backup store failed.', { cause })
  }
  return Buffer.concat(all)
}

async function* piecesOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

function storedOf(bytes: Uint8Array): { sizeBytes: number; sha256: string } {
  return { sizeBytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') }
}
