import { isDeepStrictEqual } from 'node:util'
import { createKeyedLock } from '../../../shared/locks.ts'
import type { Logger } from '../../../shared/log.ts'
import type { HostNetwork } from '../../ports/boxes/network.ts'
import type { Edge, EdgeRoute } from '../../ports/edge/edge.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { BoxRecord } from '../../ports/store/boxes.ts'
import type { ServiceOutline } from '../../ports/store/services.ts'
import type { Store } from '../../ports/store/store.ts'
import { awaitCommit } from '../common/commit.ts'
import { boxOfHost, type EdgeAddress, hostOfBox, hostOfPreview, hostOfService, isOwnHost } from '../common/urls.ts'
import type { DomainClaims } from '../fleet/domain-claims.ts'
import { type Target, targetOfBox, targetsOf } from '../services/traffic.ts'

/** The box or service that a host name belongs to, reachable or not. */
export interface HostTarget {
  box: BoxRecord
  /** Null: the box itself. */
  service: string | null
  /** The box and port that requests go to. Null for a service without a port. */
  at: Target | null
  /** Null while the box cannot take requests. */
  route: EdgeRoute | null
  /** A waker waits until its port takes connections. Until then the edge has no route to it. */
  isHeld: boolean
}

/** Keeps the routes of the edge in sync with the records of boxes and services. */
export interface EdgeRoutes {
  /**
   * Passes the routes of all records to `publish`. Changes until that has resolved follow afterwards. Call once: before that
   * nothing is routed, and `settle` does not wait.
   */
  open(publish: (routes: readonly EdgeRoute[]) => Promise<void>): Promise<void>
  /** Schedules a sync of a box after a change of the box or of one of its services. */
  wake(boxId: string): void
  /** Resolves once the edge serves the box according to its current records. If it rejects, that is tried again. */
  settle(boxId: string): Promise<void>
  /** Resolves once no connection to that port of a box is open. Those open after `graceMs` are closed. */
  drain(target: { boxId: string; port: number }, graceMs: number): Promise<void>
  /** Withholds the routes of a box that starts, so that the edge defers to the gate, until the returned function is called. */
  hold(boxId: string): () => void
  /** Tests whether a box or service has that name, as of its last sync. */
  has(host: string): boolean
  /** Null: no box or service has that name. */
  lookup(host: string): Promise<HostTarget | null>
  /** Finds the box at an address and port that a host leads to, or did at the last sample. Null for none. */
  boxAt(target: { address: string; port: number }): Promise<{ project: string; boxId: string } | null>
}

export interface EdgeRoutesDeps {
  store: Store
  network: Pick<HostNetwork, 'addressOf'>
  edge: Pick<Edge, 'change' | 'drain'>
  address: EdgeAddress
  /** Called before a box is routed at domains that another box may have had. */
  onNewDomain(): Promise<void>
  /** Publishes changed hosts of a box to the fleet, and retries failures. */
  claims: Pick<DomainClaims, 'settle'>
  clock: Pick<Clock, 'sleep'>
  logger: Logger
}

/** A host of a box and its target. */
interface HostEntry {
  host: string
  service: string | null
  /** The target box (the fork, for a preview in one) and port. Null for a service without a port. */
  at: Target | null
}

/** The hosts and routes of a box as of its last sync. */
interface KnownBox {
  entries: Map<string, HostEntry>
  served: Map<string, EdgeRoute>
}

/** Syncs each box serially and different boxes concurrently, so the last state of a box wins. */
export function createEdgeRoutes(deps: EdgeRoutesDeps): EdgeRoutes {
  const { store, network, edge, clock, logger } = deps
  const turns = createKeyedLock()
  const wake = (boxId: string): void => {
    settle(boxId).catch((error: unknown) => logger.error('failed to update the edge', { box: boxId, error }))
  }
  const retry = createRetry(clock, wake)
  const holds = createHolds(wake)
  const known = createKnownBoxes(deps, holds.has)
  const sync = async (boxId: string): Promise<void> => {
    const look = await known.look(boxId)
    const { before, now } = look
    // Remembers nothing if this fails, so that the next sync makes the change.
    if (gainsDomain(before, now, deps.address)) await deps.onNewDomain()
    const lost = known.remember(boxId, look)
    const change = changeOf(before, now, lost)
    if (change.set.length + change.remove.length > 0) await edge.change(change)
    // Runs in the background. A publish waits for it.
    if (changesNameless(before, now, [lost, deps.address])) void deps.claims.settle(boxId)
  }
  let isOpen = false
  const late = new Set<string>()
  const settle = async (boxId: string): Promise<void> => {
    if (!isOpen) late.add(boxId)
    else
      await awaitCommit(
        turns.run(boxId, () => sync(boxId)),
        () => retry(boxId),
      )
  }
  return {
    settle,
    open: async (publish) => {
      const routes: EdgeRoute[] = []
      for (const id of await store.boxes.ids()) {
        const look = await known.look(id)
        known.remember(id, look)
        routes.push(...look.now.served.values())
      }
      await publish(routes)
      isOpen = true
      await Promise.all([...late].map(settle))
      late.clear()
    },
    wake,
    hold: holds.add,
    drain: async ({ boxId, port }, graceMs) => {
      const address = await network.addressOf(boxId)
      if (address !== null) await edge.drain({ address, port }, graceMs)
    },
    has: (host) => known.entryOf(host) !== null,
    lookup: async (host) => {
      const found = known.entryOf(host)
      const box = found === null ? null : await store.boxes.byId(found.boxId)
      if (found === null || box === null) return null
      const { entry } = found
      const [route = null] = await routesOf(box, [entry], network)
      if (route !== null) known.note(route.address, box)
      return { box, service: entry.service, at: entry.at, route, isHeld: holds.has(box.id) }
    },
    boxAt: async ({ address, port }) => {
      for (const { project, boxId } of known.targetsAt(address, port))
        if ((await network.addressOf(boxId)) === address) return { project, boxId }
      return null
    },
  }
}

/** A box as its last sync left it, and as its records are now. `isGone` means that it has no records. */
interface Look {
  before: KnownBox
  now: KnownBox
  isGone: boolean
}

/** Remembers the hosts and routes of boxes. */
function createKnownBoxes({ store, network, address }: EdgeRoutesDeps, isHeld: (boxId: string) => boolean) {
  const boxes = new Map<string, KnownBox>()
  /** Box ids by host. */
  const owners = new Map<string, string>()
  /** Boxes by the address that they, or copies of them for previews, had last. */
  const addresses = new Map<string, { project: string; boxId: string }>()
  return {
    /** Remembers whose an address is. */
    note: (address: string, { id, project }: BoxRecord): void => void addresses.set(address, { project, boxId: id }),
    /** The boxes to whose port a host leads, of those that may have the address. */
    targetsAt: (address: string, port: number): { project: string; boxId: string }[] => {
      const owner = addresses.get(address)
      const entries = owner === undefined ? [] : [...(boxes.get(owner.boxId)?.entries.values() ?? [])]
      const ids = new Set(entries.flatMap(({ at }) => (at?.port === port ? [at.boxId] : [])))
      return owner === undefined ? [] : [...ids].map((boxId) => ({ project: owner.project, boxId }))
    },
    look: async (boxId: string): Promise<Look> => {
      const before: KnownBox = boxes.get(boxId) ?? { entries: new Map(), served: new Map() }
      const box = await store.boxes.byId(boxId)
      const entries = box === null ? [] : entriesOf(box, await store.services.of(boxId), address)
      const routes = box === null || isHeld(boxId) ? [] : await routesOf(box, entries, network)
      const now = {
        entries: new Map(entries.map((entry) => [entry.host, entry])),
        served: new Map(routes.map((route) => [route.host, route])),
      }
      return { before, now, isGone: box === null }
    },
    /** Returns the hosts that the box no longer has. */
    remember: (boxId: string, { before, now, isGone }: Look): string[] => {
      // Skips a domain that another box has taken over.
      const lost = [...before.entries.keys()].filter((host) => !now.entries.has(host) && owners.get(host) === boxId)
      for (const host of lost) owners.delete(host)
      for (const host of now.entries.keys()) owners.set(host, boxId)
      // Another box may have it by now.
      for (const { address } of before.served.values())
        if (addresses.get(address)?.boxId === boxId) addresses.delete(address)
      for (const { address, project } of now.served.values()) addresses.set(address, { project, boxId })
      if (isGone) boxes.delete(boxId)
      else boxes.set(boxId, now)
      return lost
    },
    entryOf: (host: string): { boxId: string; entry: HostEntry } | null => {
      const boxId = owners.get(host)
      const entry = boxId === undefined ? undefined : boxes.get(boxId)?.entries.get(host)
      return boxId === undefined || entry === undefined ? null : { boxId, entry }
    },
  }
}

/** Returns a function that calls `again` after a pause, once for each box that waits. */
function createRetry(clock: EdgeRoutesDeps['clock'], again: (boxId: string) => void): (boxId: string) => void {
  const waiting = new Set<string>()
  return (boxId) => {
    if (waiting.has(boxId)) return
    waiting.add(boxId)
    void clock.sleep(RETRY_MS).then(() => {
      waiting.delete(boxId)
      again(boxId)
    })
  }
}

/** Counts holds per box. Calls `onFree` when the last one is released. */
function createHolds(onFree: (boxId: string) => void): { has(boxId: string): boolean; add: EdgeRoutes['hold'] } {
  const counts = new Map<string, number>()
  return {
    has: (boxId) => counts.has(boxId),
    add: (boxId) => {
      counts.set(boxId, (counts.get(boxId) ?? 0) + 1)
      return () => {
        const left = (counts.get(boxId) ?? 1) - 1
        if (left > 0) counts.set(boxId, left)
        else counts.delete(boxId)
        if (left === 0) onFree(boxId)
      }
    },
  }
}

/** Computes the change of the edge's routes. `lost` are hosts that the box no longer has. */
function changeOf(before: KnownBox, now: KnownBox, lost: readonly string[]): { set: EdgeRoute[]; remove: string[] } {
  const set = [...now.served.values()].filter((route) => !isDeepStrictEqual(before.served.get(route.host), route))
  const unrouted = [...now.entries.keys()].filter((host) => !now.served.has(host))
  return { set, remove: [...lost, ...unrouted].filter((host) => before.served.has(host)) }
}

/** Returns true if the box gained a domain that another box may have had. */
function gainsDomain(before: KnownBox, now: KnownBox, address: EdgeAddress): boolean {
  return [...now.entries.keys()].some((host) => !before.entries.has(host) && !isOwnHost(host, address))
}

/** Returns true if the box gained or lost a host that does not contain its name. */
function changesNameless(before: KnownBox, now: KnownBox, [lost, address]: [string[], EdgeAddress]): boolean {
  const gained = [...now.entries.keys()].filter((host) => !before.entries.has(host))
  return [...lost, ...gained].some((host) => boxOfHost(host, address) === null)
}

/** Lists the hosts of a box and of its services. */
function entriesOf(box: BoxRecord, services: readonly ServiceOutline[], address: EdgeAddress): HostEntry[] {
  const at = targetOfBox(box, services)
  const own = [hostOfBox(box, address), ...box.domains]
  return [
    ...own.map((host) => ({ host, service: null, at })),
    ...services.flatMap((record) => {
      const { active, preview } = targetsOf(record)
      const hosts = [hostOfService(box, record.name, address), ...record.domains]
      const ofPreview = { host: hostOfPreview(box, record.name, address), service: record.name, at: preview }
      return [...hosts.map((host) => ({ host, service: record.name, at: active })), ...(preview ? [ofPreview] : [])]
    }),
  ]
}

/** Returns the routes of the entries that are reachable now. */
async function routesOf(
  box: BoxRecord,
  entries: readonly HostEntry[],
  network: EdgeRoutesDeps['network'],
): Promise<EdgeRoute[]> {
  if (box.observed.status !== 'running') return []
  const routes: EdgeRoute[] = []
  for (const { host, at } of entries) {
    const address = at === null ? null : await network.addressOf(at.boxId)
    if (at === null || address === null) continue
    const { port, protocol } = at
    const led = protocol === undefined ? { address, port } : { address, port, protocol }
    routes.push({ host, project: box.project, boxId: box.id, auth: box.urlSettings.auth, ...led })
  }
  return routes
}

const RETRY_MS = 1_000
