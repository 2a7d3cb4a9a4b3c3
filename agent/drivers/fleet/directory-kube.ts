import type { ServiceError } from '../../../shared/errors.ts'
import { createListeners } from '../../../shared/listeners.ts'
import type { KubeApi } from '../../lib/kube/api.ts'
import type { FollowedView } from '../../lib/kube/follow.ts'
import type { KubeObject, KubeObjects } from '../../lib/kube/objects.ts'
import type { Cell, Directory, Home, HomeClaim, HomeName, KeptHome } from '../../ports/fleet/directory.ts'
import { createKubeBases, type KubeBases, type KubeBasesSettings } from './bases-kube.ts'
import { type ClaimedName, type ClaimedObjects, createClaimedObjects } from './claimed-objects.ts'
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
import { createObjectIndex } from './object-index.ts'

/** The directory of a fleet: objects of the kinds Home, Agent and Base in a Kubernetes cluster, followed in memory. */
export interface KubeDirectory extends Directory {
  /** Calls `listener` whenever all ownership records were listed, possibly in an earlier state. Returns a function that removes it. */
  onListed(listener: () => void): () => void
  readonly bases: KubeBases
  /** Begins to follow. Resolves once the memory is complete, or at the first failure, after which it is completed later. */
  open(): Promise<void>
  /** Waits until the memory is complete for the first time. @throws ServiceError `runtime_unavailable` if that is not possible now */
  synced(): Promise<void>
  /** Returns since when (ms since the epoch) the memory lags, and why. Returns null while it does not. */
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

/**
 * Creates the directory of a fleet, which `open` starts. While the API server is away, the memory does not change, and `find` still works.
 */
export function createKubeDirectory({ api, cell, sendBase }: KubeDirectorySettings): KubeDirectory {
  const homes = api.objects('Home')
  const changes = createListeners<HomeName | null>()
  const listed = createListeners()
  const counts = createCellCounts()
  const index = createObjectIndex<Home>({
    keep: (home) => ({ ...home, cell: counts.add(home.cell) }),
    drop: (home) => counts.remove(home.cell),
    onChange: (key) => {
      changes.notify(key === null ? null : homeNameOf(key))
      if (key === null) listed.notify()
    },
  })
  const claimed = createClaimedObjects<Home, StoredHome>(homes, index, decodeHome)
  const cells = new Map<string, Cell>()
  const bases = createKubeBases({ api, cell, send: sendBase })
  const followers = [
    homes.follow(claimed.view),
    api.objects('Agent').follow(viewCells(cells, () => changes.notify(null))),
    bases.follower,
  ]
  return {
    cell,
    bases,
    onListed: (listener) => listed.add(listener),
    find: (name) => index.find(homeKeyOf(name))?.value ?? null,
    read: async (name) => (await claimed.read(homeKeyOf(name)))?.value ?? null,
    findCell: (number) => cells.get(number) ?? null,
    cells: () => [...cells.values()].filter((each) => each.cell !== cell),
    homeCells: () => counts.list(),
    readKept: (name) => readKept(homes, name),
    homesOf: (query) => homesOf(homes, query),
    onChange: changes.add,
    claim: (claim) => claimHome(claimed, claim, cell),
    release: (name, uid) =>
      claimed.release(calledName(name), (stored) => stored.uid === uid && stored.value.cell === cell),
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

async function claimHome(claimed: ClaimedObjects<StoredHome>, claim: HomeClaim, cell: string): Promise<Home> {
  const { uid, value: home } = await claimed.claim(calledName(claim), () => encodeClaim(claim, cell))
  if (uid !== claim.uid) throw nameTakenError(claim, cell, home)
  return home
}

function calledName(name: HomeName): ClaimedName {
  return { key: homeKeyOf(name), called: `name "${name.name}"` }
}

function viewCells(cells: Map<string, Cell>, onChange: () => void): FollowedView<KubeObject> {
  const put = (object: KubeObject): void => {
    const { name } = object.metadata
    const before = cells.get(name)
    const cell = decodeCell(object)
    cells.set(name, cell)
    // A cell updates its own object all the time, so only a new address counts.
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
