import { isDeepStrictEqual } from 'node:util'
import { createKeyedLock } from '../../../shared/locks.ts'
import type { Logger } from '../../../shared/log.ts'
import type { HostNetwork } from '../../ports/boxes/network.ts'
import type { Edge, EdgeRoute } from '../../ports/edge/edge.ts'
import type { ServiceRecord } from '../../ports/store/services.ts'
import type { BoxRecord, Store } from '../../ports/store/store.ts'
import { type EdgeAddress, hostOfBox, hostOfPreview, hostOfService, isOwnHost } from '../common/urls.ts'
import { targetOfBox, targetsOf } from '../services/traffic.ts'

/** What a host name stands for, whether or not it can be reached now. */
export interface HostTarget {
  box: BoxRecord
  /** Null: the box itself. */
  service: string | null
  /** The box and port that are tried; null: it listens nowhere. */
  at: { boxId: string; port: number } | null
  /** Null while the box cannot take requests. */
  route: EdgeRoute | null
  /** Somebody waits until its port takes connections, and the edge does not serve it until then. */
  isHeld: boolean
}

/** Keeps what the edge serves in step with the records of boxes and services. */
export interface EdgeRoutes {
  /**
   * Gives `tell` what all records say now; what changes until that has resolved is told afterwards. Call once: before, nothing
   * is served, and nothing waited for.
   */
  open(tell: (routes: readonly EdgeRoute[]) => Promise<void>): Promise<void>
  /** The box, or a service of it, has changed. */
  wake(boxId: string): void
  /** Resolves once the edge serves what the records of the box say now. */
  settle(boxId: string): Promise<void>
  /** Resolves once nothing is open to that port of a box; what is open after `graceMs` is cut off. */
  drain(target: { boxId: string; port: number }, graceMs: number): Promise<void>
  /** Keeps the edge from serving a box that begins to run, so that the gate is asked, until what is returned is called. */
  hold(boxId: string): () => void
  /** Null: nobody has that name. */
  lookup(host: string): Promise<HostTarget | null>
}

export interface EdgeRoutesDeps {
  store: Store
  network: Pick<HostNetwork, 'addressOf'>
  edge: Pick<Edge, 'change' | 'drain'>
  address: EdgeAddress
  /** A box is about to be served at domains that another one may have had. */
  onGain(): Promise<void>
  logger: Logger
}

/** A host of a box, and where it leads. */
interface HostEntry {
  host: string
  service: string | null
  /** The box and port that are asked, another box for a preview in a fork; null: a service that listens nowhere. */
  at: { boxId: string; port: number } | null
}

/** What is known of a box, as of its last turn. */
interface KnownBox {
  entries: Map<string, HostEntry>
  served: Map<string, EdgeRoute>
}

/** Each box in turn, boxes side by side: what came last of a box is what is served. */
export function createEdgeRoutes(deps: EdgeRoutesDeps): EdgeRoutes {
  const { store, network, edge, logger } = deps
  const turns = createKeyedLock()
  const boxes = new Map<string, KnownBox>()
  /** The box that has a host now. */
  const owners = new Map<string, string>()

  /** Reads what the records say, and keeps it: the routes as they are, and hosts that are the box's no more. */
  const read = async (boxId: string): Promise<{ before: KnownBox; now: KnownBox; lost: string[] }> => {
    const before: KnownBox = boxes.get(boxId) ?? { entries: new Map(), served: new Map() }
    const box = await store.boxes.byId(boxId)
    const entries = box === null ? [] : entriesOf(box, await store.services.of(boxId), deps.address)
    const routes = box === null || holds.has(boxId) ? [] : await routesOf(box, entries, network)
    const now = {
      entries: new Map(entries.map((entry) => [entry.host, entry])),
      served: new Map(routes.map((route) => [route.host, route])),
    }
    // A domain may have gone to another box meanwhile.
    const lost = [...before.entries.keys()].filter((host) => !now.entries.has(host) && owners.get(host) === boxId)
    for (const host of lost) owners.delete(host)
    for (const host of now.entries.keys()) owners.set(host, boxId)
    if (box === null) boxes.delete(boxId)
    else boxes.set(boxId, now)
    return { before, now, lost }
  }
  const wake = (boxId: string): void => {
    settle(boxId).catch((error: unknown) =>
      logger.error('the edge does not serve what it should', { box: boxId, error }),
    )
  }
  const holds = createHolds(wake)
  const sync = async (boxId: string): Promise<void> => {
    const { before, now, lost } = await read(boxId)
    const change = changeOf(before, now, lost)
    if (gains(before, now, deps.address)) await deps.onGain()
    if (change.set.length + change.remove.length > 0) await edge.change(change)
  }
  let isOpen = false
  const late = new Set<string>()
  const settle = async (boxId: string): Promise<void> => {
    if (isOpen) await turns.run(boxId, () => sync(boxId))
    else late.add(boxId)
  }
  return {
    settle,
    open: async (tell) => {
      const routes: EdgeRoute[] = []
      for (const { id } of await store.boxes.all()) routes.push(...(await read(id)).now.served.values())
      await tell(routes)
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
    lookup: async (host) => {
      const boxId = owners.get(host)
      const box = boxId === undefined ? null : await store.boxes.byId(boxId)
      const entry = boxId === undefined ? undefined : boxes.get(boxId)?.entries.get(host)
      if (box === null || entry === undefined) return null
      const [route = null] = await routesOf(box, [entry], network)
      return { box, service: entry.service, at: entry.at, route, isHeld: holds.has(box.id) }
    },
  }
}

/** What is held, each by any number; `onFree` is called when the last one has let go. */
function createHolds(onFree: (boxId: string) => void): { has(boxId: string): boolean; add: EdgeRoutes['hold'] } {
  const holders = new Map<string, number>()
  return {
    has: (boxId) => holders.has(boxId),
    add: (boxId) => {
      holders.set(boxId, (holders.get(boxId) ?? 0) + 1)
      return () => {
        const left = (holders.get(boxId) ?? 1) - 1
        if (left > 0) holders.set(boxId, left)
        else holders.delete(boxId)
        if (left === 0) onFree(boxId)
      }
    },
  }
}

/** What the edge is to be told; `lost` are hosts that the box had and has no more. */
function changeOf(before: KnownBox, now: KnownBox, lost: readonly string[]): { set: EdgeRoute[]; remove: string[] } {
  const set = [...now.served.values()].filter((route) => !isDeepStrictEqual(before.served.get(route.host), route))
  const resting = [...now.entries.keys()].filter((host) => !now.served.has(host))
  return { set, remove: [...lost, ...resting].filter((host) => before.served.has(host)) }
}

/** Whether there is a domain that another box may have had. */
function gains(before: KnownBox, now: KnownBox, address: EdgeAddress): boolean {
  return [...now.entries.keys()].some((host) => !before.entries.has(host) && !isOwnHost(host, address))
}

/** The hosts of a box and of its services. */
function entriesOf(box: BoxRecord, services: readonly ServiceRecord[], address: EdgeAddress): HostEntry[] {
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

/** Those that can be reached now. */
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
    routes.push({ host, project: box.project, boxId: box.id, auth: box.urlSettings.auth, address, port: at.port })
  }
  return routes
}
