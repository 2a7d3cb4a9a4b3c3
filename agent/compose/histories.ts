import type { HttpHandler } from '../../shared/http/messages.ts'
import { createLineBudget } from '../../shared/log-budget.ts'
import {
  type AuditCursors,
  type AuditLog,
  createAuditLog,
  createSingleAuditCursors,
  createVectorAuditCursors,
} from '../core/events/audit-list.ts'
import type { AuditTrail } from '../core/events/audit-trail.ts'
import { createEventFeed, type EventFeed } from '../core/events/feed.ts'
import { createOwnHistory, noteJoining } from '../core/events/own-history.ts'
import { createSingleCursors, createVectorCursors, type EventCursors } from '../core/events/positions.ts'
import { noOtherHistories } from '../drivers/fleet/no-other-histories.ts'
import type { CellHistory, OtherHistories } from '../ports/store/cell-history.ts'
import { createCellLinks } from '../server/cells/cell-links.ts'
import type { LinkTls } from '../server/cells/cell-pulse.ts'
import { createPeerHistories } from '../server/peer-histories.ts'
import { createPeerKeys } from '../server/peer-keys.ts'
import { createPeerServer } from '../server/peer-server.ts'
import type { Deployment, DeploymentDeps } from './deployment.ts'
import { readLinkTls } from './door.ts'
import type { Fleet } from './fleet-kube.ts'

/** The events and audit logs of all cells, for clients to read. */
export interface HistoryParts {
  feed: EventFeed
  auditLog: AuditLog
  /** Wraps the handler of the channel, so that other cells can read the history of this one. */
  wrapChannel(handler: HttpHandler): HttpHandler
  /** Ends the streams of clients, the reads of other cells, and their reads here. */
  closeHistories(): void
}

/** Opens the histories of a fleet, or of this host if it has none. */
export async function openHistories(
  { deployment, fleet, ...deps }: DeploymentDeps & { deployment: Deployment; fleet: Fleet },
  trail: AuditTrail,
): Promise<HistoryParts> {
  const { directory, api } = fleet
  const { store, actorContext } = deployment
  const opening = { ...deps, deployment, trail, cell: directory.cell }
  const tls = readLinkTls(deps.settings)
  const { own, others, eventCursors, auditCursors, wrap, close } =
    api === null
      ? openSingleHistory(opening)
      : await openFleetHistories({ ...opening, cells: () => directory.cells(), tls })
  const reading = { own, others, store, clock: deps.clock, actorContext }
  const feed = createEventFeed({ ...reading, cursors: eventCursors })
  return {
    feed,
    auditLog: createAuditLog({ own, others, cursors: auditCursors }),
    wrapChannel: wrap,
    closeHistories: () => {
      feed.close()
      close()
    },
  }
}

/** The events and audit logs of all cells, and their form for clients. */
export interface WiredHistories {
  own: CellHistory
  others: OtherHistories
  eventCursors: EventCursors
  auditCursors: AuditCursors
  /** Wraps the handler of the channel, so that other cells can read the history of this one. */
  wrap(handler: HttpHandler): HttpHandler
  /** Ends the reads of other cells and their reads here. */
  close(): void
}

export interface HistoryDeps extends Pick<DeploymentDeps, 'clock' | 'closers' | 'logger'> {
  deployment: Pick<Deployment, 'keys' | 'store'>
  trail: AuditTrail
  /** Number of this cell. */
  cell: string
}

/** Wires the history of a host without a fleet, which has only its own. */
export function openSingleHistory({ deployment: { store }, trail, cell }: HistoryDeps): WiredHistories {
  return {
    own: createOwnHistory({ cell, store, trail, aloneThrough: 0 }),
    others: noOtherHistories(),
    eventCursors: createSingleCursors(cell),
    auditCursors: createSingleAuditCursors(cell),
    wrap: (handler) => handler,
    close: () => undefined,
  }
}

export interface FleetHistoryDeps extends HistoryDeps {
  cells: Parameters<typeof createPeerHistories>[0]['cells']
  tls: LinkTls | null
}

/** Wires the histories of a fleet. Each cell reads the histories of the others over the channel, by keys that only agents have. */
export async function openFleetHistories(deps: FleetHistoryDeps): Promise<WiredHistories> {
  const { deployment, trail, cell, cells, tls, clock, closers, logger } = deps
  const { store, keys: files } = deployment
  const own = createOwnHistory({ cell, store, trail, aloneThrough: await noteJoining(store) })
  const links = createCellLinks({ tls })
  closers.add('links to histories', () => links.close())
  const keys = createPeerKeys(() => files.tokens())
  const now = (): number => clock.now()
  const lines = createLineBudget({ now })
  const others = createPeerHistories({ cell, cells, links, keys, events: store.events, clock, logger })
  const server = createPeerServer({ history: own, events: store.events, keys, logger, lines, now })
  return {
    own,
    others,
    eventCursors: createVectorCursors(),
    auditCursors: createVectorAuditCursors(),
    wrap: (handler) => server.wrap(handler),
    close: () => {
      others.close()
      server.close()
    },
  }
}
