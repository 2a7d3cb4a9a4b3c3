import { ServiceError } from '../../../shared/errors.ts'
import { createListeners } from '../../../shared/listeners.ts'
import type { KubeApi } from '../../lib/kube/api.ts'
import type { FollowedView } from '../../lib/kube/follow.ts'
import type { KubeObject, KubeObjects } from '../../lib/kube/objects.ts'
import type { Cell, Directory, Home, HomeClaim, HomeName, KeptHome } from '../../ports/fleet/directory.ts'
import { createKubeBases, type KubeBases, type KubeBasesSettings } from './bases-kube.ts'
import {
  decodeCell,
  decodeHome,
  decodeKept,
  encodeClaim,
  homeKeyOf,
  homeNameOf,
  nameTakenError,
  type StoredHome,
} from './fleet-objects.ts'
import { createObjectIndex, type ObjectIndex } from './object-index.ts'
import { createOrNull, deleteUnchanged } from './object-writes.ts'

/** The directory of a fleet: objects of the kinds Home, Agent and Base in a Kubernetes cluster, followed in memory. */
export interface KubeDirectory extends Directory {
  /** Calls `listener` whenever all homes were listed, which may then be those of an earlier time; returns its removal. */
  onListed(listener: () => void): () => void
  readonly bases: KubeBases
  /** Begins to follow; resolves once the memory is complete, or at the first failure: it is then completed later. */
  open(): Promise<void>
  /** Waits until the memory is complete for the first time. @throws ServiceError `runtime_unavailable` if it cannot be now */
  synced(): Promise<void>
  /** Returns since when (ms since the epoch) the memory lags, and why; null while it does not. */
  fault(): { since: number; error: ServiceError } | null
  close(): void
}

export interface KubeDirectorySettings {
  api: Pick<KubeApi, 'objects'>
  /** Number of this cell. */
  cell: string
  /** Has another cell send a base, as `FleetBases.open`. */
  sendBase: KubeBasesSettings['send']
}

/** Creates the directory of a fleet; `open` starts it. While the API server is away memory stays as it is, and `find` goes on. */
export function createKubeDirectory({ api, cell, sendBase }: KubeDirectorySettings): KubeDirectory {
  const homes = api.objects('Home')
  const changes = createListeners<HomeName | null>()
  const counts = createCellCounts()
  const index = createObjectIndex<Home>({
    keep: (home) => ({ ...home, cell: counts.add(home.cell) }),
    drop: (home) => counts.remove(home.cell),
    onChange: (key) => changes.notify(key === null ? null : homeNameOf(key)),
  })
  const cells = new Map<string, Cell>()
  const listed = createListeners()
  const bases = createKubeBases({ api, cell, send: sendBase })
  const followers = [
    homes.follow(viewHomes(index, () => listed.notify())),
    api.objects('Agent').follow(viewCells(cells, () => changes.notify(null))),
    bases.follower,
  ]
  const parts = { homes, index, cell }
  return {
    cell,
    bases,
    onListed: (listener) => listed.add(listener),
    find: (name) => index.find(homeKeyOf(name))?.value ?? null,
    read: (name) => read(parts, name),
    findCell: (number) => cells.get(number) ?? null,
    cells: () => [...cells.values()].filter((each) => each.cell !== cell),
    homeCells: () => counts.list(),
    readKept: (name) => readKept(homes, name),
    homesOf: (query) => homesOf(homes, query),
    onChange: changes.add,
    claim: (claimed) => claim(parts, claimed),
    release: (name, uid) => release(parts, name, uid),
    open: async () => void (await Promise.all(followers.map((follower) => follower.start()))),
    synced: async () => void (await Promise.all(followers.map((follower) => follower.synced()))),
    fault: () => followers.map((follower) => follower.fault()).find((fault) => fault !== null) ?? null,
    close: () => {
      for (const follower of followers) follower.close()
    },
  }
}

/** Counts the names that each cell has, with one string for each cell, since each parsed object has a copy of its own. */
function createCellCounts(): { add(cell: string): string; remove(cell: string): void; list(): string[] } {
  const counts = new Map<string, { cell: string; names: number }>()
  return {
    add: (cell) => {
      const known = counts.get(cell) ?? { cell, names: 0 }
      counts.set(known.cell, known)
      known.names += 1
      return known.cell
    },
    remove: (cell) => {
      const known = counts.get(cell)
      if (known === undefined) return
      known.names -= 1
      if (known.names === 0) counts.delete(cell)
    },
    list: () => [...counts.keys()],
  }
}

interface Parts {
  homes: KubeObjects
  index: ObjectIndex<Home>
  cell: string
}

async function read({ homes, index }: Parts, name: HomeName): Promise<Home | null> {
  const key = homeKeyOf(name)
  const known = index.find(key)
  const found = await homes.get(key)
  if (found !== null) return noteHome(index, found).value
  if (known !== null) index.forget(key, known.version)
  return null
}

async function readKept(homes: KubeObjects, name: HomeName): Promise<KeptHome | null> {
  const found = await homes.get(homeKeyOf(name))
  return found && decodeKept(found)
}

async function* homesOf(
  homes: KubeObjects,
  { cell, kind, project }: Parameters<Directory['homesOf']>[0],
): AsyncGenerator<KeptHome[]> {
  const selector = [`spec.cell=${cell}`, `spec.kind=${kind}`, ...(project === null ? [] : [`spec.project=${project}`])]
  for await (const page of homes.list(selector.join(','))) yield page.map(decodeKept)
}

async function claim({ homes, index, cell }: Parts, claimed: HomeClaim): Promise<Home> {
  const key = homeKeyOf(claimed)
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    const made = await createOrNull(homes, key, encodeClaim(claimed, cell))
    const found = made ?? (await homes.get(key))
    // One that is there and then is not was given up meanwhile: the name is free.
    if (found === null) continue
    const { uid, value: home } = noteHome(index, found)
    if (uid !== claimed.uid) throw nameTakenError(claimed, cell, home)
    return home
  }
  throw changesTooOften(claimed)
}

async function release({ homes, index, cell }: Parts, name: HomeName, uid: string): Promise<void> {
  const key = homeKeyOf(name)
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    const known = index.find(key)
    const found = await homes.get(key)
    if (found === null) return known === null ? undefined : index.forget(key, known.version)
    const stored = noteHome(index, found)
    if (stored.uid !== uid || stored.value.cell !== cell) return
    if (await deleteUnchanged(homes, found)) return index.forget(key, stored.version)
  }
  throw changesTooOften(name)
}

function noteHome(index: ObjectIndex<Home>, object: KubeObject): StoredHome {
  const stored = decodeHome(object)
  index.note(stored)
  return stored
}

function viewHomes(index: ObjectIndex<Home>, onListed: () => void): FollowedView<KubeObject> {
  return {
    replaceAll: async (pages) => {
      const version = await index.replaceAll(
        (async function* () {
          for await (const { items, version } of pages) yield { objects: items.map(decodeHome), version }
        })(),
      )
      onListed()
      return version
    },
    put: (object) => index.put(decodeHome(object)),
    drop: ({ metadata }) => index.drop(metadata.name, Number(metadata.resourceVersion)),
  }
}

function viewCells(cells: Map<string, Cell>, onChange: () => void): FollowedView<KubeObject> {
  const put = (object: KubeObject): void => {
    const { name } = object.metadata
    const before = cells.get(name)
    const cell = decodeCell(object)
    cells.set(name, cell)
    // A cell tells of itself all the time.
    if (before?.edgeAddress !== cell.edgeAddress || before?.channelUrl !== cell.channelUrl) onChange()
  }
  return {
    replaceAll: async (pages) => {
      const listed = new Set<string>()
      let listVersion = ''
      for await (const { items, version } of pages) {
        listVersion = version
        for (const object of items) {
          listed.add(object.metadata.name)
          put(object)
        }
      }
      for (const cell of cells.keys()) if (!listed.has(cell)) cells.delete(cell)
      onChange()
      return listVersion
    },
    put,
    drop: ({ metadata }) => {
      cells.delete(metadata.name)
      onChange()
    },
  }
}

function changesTooOften({ name }: HomeName): ServiceError {
  return new ServiceError('runtime_unavailable', `Who has the name "${name}" changes too often now; try again.`)
}

/** Rounds in which a name is found changed by others between reading and writing. */
const ATTEMPTS_MAX = 8
