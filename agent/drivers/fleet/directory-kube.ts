import { ServiceError } from '../../../shared/errors.ts'
import type { KubeApi } from '../../lib/kube/api.ts'
import type { FollowedView } from '../../lib/kube/follow.ts'
import type { KubeObject, KubeObjects } from '../../lib/kube/objects.ts'
import type { Cell, Directory, Home, HomeClaim, HomeName } from '../../ports/fleet/directory.ts'
import { createKubeBases, type KubeBases, type KubeBasesSettings } from './bases-kube.ts'
import { decodeCell, decodeHome, encodeClaim, homeKeyOf, nameTakenError, type StoredHome } from './fleet-objects.ts'
import { createHomeIndex, type HomeIndex } from './home-index.ts'
import { createOrNull, deleteUnchanged } from './object-writes.ts'

/** The directory of a fleet: objects of the kinds Home, Agent and Base in a Kubernetes cluster, followed in memory. */
export interface KubeDirectory extends Directory {
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
  const index = createHomeIndex()
  const cells = new Map<string, Cell>()
  const bases = createKubeBases({ api, cell, send: sendBase })
  const followers = [homes.follow(viewHomes(index)), api.objects('Agent').follow(viewCells(cells)), bases.follower]
  const parts = { homes, index, cell }
  return {
    cell,
    bases,
    find: (name) => index.find(homeKeyOf(name))?.home ?? null,
    read: (name) => read(parts, name),
    findCell: (number) => cells.get(number) ?? null,
    cells: () => [...cells.values()].filter((each) => each.cell !== cell),
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

interface Parts {
  homes: KubeObjects
  index: HomeIndex
  cell: string
}

async function read({ homes, index }: Parts, name: HomeName): Promise<Home | null> {
  const key = homeKeyOf(name)
  const known = index.find(key)
  const found = await homes.get(key)
  if (found !== null) return noteHome(index, found).home
  if (known !== null) index.forget(key, known.version)
  return null
}

async function claim({ homes, index, cell }: Parts, claimed: HomeClaim): Promise<Home> {
  const key = homeKeyOf(claimed)
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    const made = await createOrNull(homes, key, encodeClaim(claimed, cell))
    const found = made ?? (await homes.get(key))
    // One that is there and then is not was given up meanwhile: the name is free.
    if (found === null) continue
    const { uid, home } = noteHome(index, found)
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
    if (stored.uid !== uid || stored.home.cell !== cell) return
    if (await deleteUnchanged(homes, found)) return index.forget(key, stored.version)
  }
  throw changesTooOften(name)
}

function noteHome(index: HomeIndex, object: KubeObject): StoredHome {
  const stored = decodeHome(object)
  index.note(stored)
  return stored
}

function viewHomes(index: HomeIndex): FollowedView<KubeObject> {
  return {
    replaceAll: (pages) =>
      index.replaceAll(
        (async function* () {
          for await (const { items, version } of pages) yield { homes: items.map(decodeHome), version }
        })(),
      ),
    put: (object) => index.put(decodeHome(object)),
    drop: ({ metadata }) => index.drop(metadata.name, Number(metadata.resourceVersion)),
  }
}

function viewCells(cells: Map<string, Cell>): FollowedView<KubeObject> {
  const put = (object: KubeObject): void => void cells.set(object.metadata.name, decodeCell(object))
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
      return listVersion
    },
    put,
    drop: ({ metadata }) => void cells.delete(metadata.name),
  }
}

function changesTooOften({ name }: HomeName): ServiceError {
  return new ServiceError('runtime_unavailable', `Who has the name "${name}" changes too often now; try again.`)
}

/** Rounds in which a name is found changed by others between reading and writing. */
const ATTEMPTS_MAX = 8
