import type * as z from 'zod'
import { createListeners } from '../../shared/listeners.ts'
import { createLimiter } from '../../shared/locks.ts'
import type { Logger } from '../../shared/log.ts'
import { cursorExpired } from '../core/events/scans.ts'
import type { Cell } from '../ports/fleet/directory.ts'
import type { Clock } from '../ports/host/clock.ts'
import type { CellHistory, OtherHistories } from '../ports/store/cell-history.ts'
import type { EventPage, EventScope, EventStore, NumberedEvent } from '../ports/store/events.ts'
import { type CellLinks, cellAway } from './cells/cell-links.ts'
import { createEventRing } from './event-ring.ts'
import { wholeBody } from './passing.ts'
import { createPeerCaller, type PeerCaller, type PeerCallerDeps } from './peer-caller.ts'
import { PEER_ANSWERS, PEER_PATHS } from './peer-messages.ts'
import { createPeerTail, type PeerTail } from './peer-tail.ts'

export interface PeerHistoriesDeps {
  /** Number of this cell. */
  cell: string
  /** Returns the other cells that the directory knows of. */
  cells(): readonly Pick<Cell, 'cell' | 'channelUrl'>[]
  links: Pick<CellLinks, 'send'>
  keys: PeerCallerDeps['keys']
  events: Pick<EventStore, 'selects'>
  clock: Clock
  logger: Logger
}

/** The histories of the other cells, from their agents. */
export interface PeerHistories extends OtherHistories {
  close(): void
}

/**
 * Creates the histories. Each cell with a reader here has one long connection for its new events, however many follow. It keeps the last
 * events, a few MiB for all cells together. It requests older ones page by page.
 */
export function createPeerHistories(deps: PeerHistoriesDeps): PeerHistories {
  const peers = new Map<string, Peer>()
  const written = createListeners<(scope: EventScope) => boolean>()
  const bytesMax = (): number => RINGS_BYTES / Math.max(1, peers.size)
  const onEvents = (events: readonly NumberedEvent[]): void => {
    const audiences = new Set(events.map(({ audience }) => audience))
    written.notify(
      (scope) =>
        audiences.size === 0 ||
        [...audiences].some((audience) => deps.events.selects({ scope, types: [] }, { audience, type: '' })),
    )
  }
  let isClosed = false
  return {
    cells: () => {
      const found = isClosed ? [] : deps.cells()
      const numbers = new Set(found.map(({ cell }) => cell))
      for (const [cell, { tail }] of peers) {
        if (numbers.has(cell)) continue
        tail.close()
        peers.delete(cell)
      }
      return found.map(({ cell }) => {
        const peer = peers.get(cell) ?? openPeer(cell, { ...deps, bytesMax, onEvents })
        peers.set(cell, peer)
        return peer.history
      })
    },
    onCommit: written.add,
    close: () => {
      isClosed = true
      for (const { tail } of peers.values()) tail.close()
      peers.clear()
    },
  }
}

interface Peer {
  history: CellHistory
  tail: PeerTail
}

type PeerDeps = PeerHistoriesDeps & { bytesMax(): number; onEvents(events: readonly NumberedEvent[]): void }

function openPeer(cell: string, deps: PeerDeps): Peer {
  const { cells, links, keys, clock, events, bytesMax } = deps
  const findUrl = (): string | null => cells().find((each) => each.cell === cell)?.channelUrl ?? null
  const caller = createPeerCaller({ cell, findUrl, links, keys, now: () => clock.now() })
  const ring = createEventRing({ selects: events.selects, bytesMax })
  const tail = createPeerTail({ ...deps, cell, door: deps.cell, caller, ring })
  const reads = createLimiter(READS_AT_ONCE)
  const asking: Asking = { cell, caller, tail }
  const history: CellHistory = {
    cell,
    bounds: (query) => reads.run(() => ask(asking, 'bounds', query)),
    readEvents: async ({ signal, inTurn: _, ...query }) => {
      await tail.reach()
      const known = ring.read(query)
      if (known !== null) return known
      const part = { ...query, limit: Math.min(query.limit, LIMIT_MAX) }
      try {
        return await reads.run(async () => ask({ ...asking, signal }, 'events', part), query.account)
      } catch (error) {
        if (signal.aborted) return endedAt(query.after)
        throw error
      }
    },
    readAudit: (query) => reads.run(() => ask(asking, 'audit', query), query.account),
  }
  return { history, tail }
}

interface Asking {
  cell: string
  caller: PeerCaller
  tail: PeerTail
  /** Ends the wait for the answer. */
  signal?: AbortSignal
}

/** Sends a request to a reachable cell. */
async function ask<K extends keyof typeof PEER_ANSWERS>(
  { cell, caller, tail, signal }: Asking,
  what: K,
  query: object,
): Promise<z.output<(typeof PEER_ANSWERS)[K]>> {
  await tail.reach()
  const late = AbortSignal.timeout(ANSWER_MS)
  const ended = signal === undefined ? late : AbortSignal.any([late, signal])
  let status: number
  let body: string
  try {
    const answer = await caller.post(PEER_PATHS[what], query, ended)
    status = answer.status
    body = (await wholeBody(answer.body)).toString('utf8')
  } catch (error) {
    if (signal?.aborted !== true) tail.suspect(late.aborted)
    throw cellAway(cell, error)
  }
  if (status === 410) throw cursorExpired()
  if (status !== 200) throw cellAway(cell, new Error(`it answered ${status}`))
  try {
    return PEER_ANSWERS[what].parse(JSON.parse(body)) as z.output<(typeof PEER_ANSWERS)[K]>
  } catch (error) {
    throw cellAway(cell, error)
  }
}

/** The result of a read that was ended before it knew anything. */
function endedAt(after: number): EventPage {
  return { events: [], through: after, hasMore: true }
}

/** Bytes of the kept events of all other cells together. */
const RINGS_BYTES = 32 * 1024 * 1024
const READS_AT_ONCE = 8
const LIMIT_MAX = 1_000
const ANSWER_MS = 5_000
