import { readFileSync } from 'node:fs'
import { createSenderCheck, createSigner } from '../../shared/auth/channel.ts'
import type { BodyBudget } from '../../shared/http/body-budget.ts'
import type { HttpHandler } from '../../shared/http/messages.ts'
import { createLineBudget } from '../../shared/log-budget.ts'
import { matchOperation } from '../../shared/match.ts'
import type { AgentSettings } from '../config/agent.ts'
import { placesFor } from '../core/fleet/placement.ts'
import type { Directory, HomeName } from '../ports/fleet/directory.ts'
import type { Store } from '../ports/store/store.ts'
import { type CardsDeps, createCards } from '../server/away-cards.ts'
import { createBaseSender } from '../server/base-sender.ts'
import { createCellAsks } from '../server/cells/cell-asks.ts'
import { type CellLinks, createCellLinks } from '../server/cells/cell-links.ts'
import { createCellPatience } from '../server/cells/cell-patience.ts'
import { answerPulse, type LinkTls } from '../server/cells/cell-pulse.ts'
import { readByTurns } from '../server/cells/directory-reads.ts'
import type { Refuse } from '../server/dispatch.ts'
import { createEntry, type Entry } from '../server/entry.ts'
import { gatherOverCells } from '../server/gather.ts'
import { createOwnerFinder } from '../server/owner-cell.ts'
import { createPassCheck } from '../server/pass-check.ts'
import { createPeerKeys } from '../server/peer-keys.ts'
import { createPlacing } from '../server/placing.ts'
import type { ReceptionDeps } from '../server/reception.ts'
import type { Deployment, DeploymentDeps } from './deployment.ts'
import type { Drivers } from './drivers.ts'

/** The gateway in front of the channel's dispatch in a fleet. */
export interface FleetDoor extends Pick<Entry, 'passUpgrade'> {
  /** Wraps this cell's own handler. */
  wrap(here: HttpHandler): HttpHandler
}

/** The parts of a gateway. */
export interface DoorParts extends Pick<ReceptionDeps, 'turns' | 'rateLimit' | 'checkAlive'> {
  deployment: Deployment
  drivers: Pick<Drivers, 'filesystem'>
  directory: Directory
  bodies: BodyBudget
  /** Answers requests that cannot be proxied. */
  refuse: Refuse
  /** Returns the box that a cached summary describes. */
  viewBox: CardsDeps['viewBox']
}

/**
 * Opens the gateway of a cell of a fleet. It proxies requests to the cells that own them, and places new resources. It fans out requests
 * without a single owner.
 */
export function openDoor(
  { settings, closers, clock, logger }: DeploymentDeps,
  { deployment: { keys, store }, drivers: { filesystem }, bodies, turns, refuse, viewBox, ...parts }: DoorParts,
): FleetDoor {
  const directory = readByTurns(parts.directory, parts)
  const now = (): number => clock.now()
  const hasRecord = async (name: HomeName): Promise<boolean> => (await findRecord(store, name)) !== null
  const channelKeys = () => keys.channel().keys
  const peerKeys = createPeerKeys(() => keys.tokens())
  const links = openLinks(settings)
  const sign = createSigner({ keys: channelKeys, agentId: () => keys.channel().agent_id, now })
  const lines = createLineBudget({ now })
  const patience = createCellPatience({ now: () => performance.now() })
  const shared = {
    ...{ directory, patience, bodies, turns, refuse, links, lines, logger, match: matchOperation },
    cards: createCards({ directory, match: matchOperation, viewBox }),
    asks: createCellAsks({ directory, links, sign, patience, lines, logger }),
    mayPass: createPassCheck({
      checkSender: createSenderCheck({
        keys: channelKeys,
        get agentId() {
          return keys.channel().agent_id
        },
        now,
      }),
      checkAlive: parts.checkAlive,
    }),
  }
  const entry = createEntry({ ...shared, owners: createOwnerFinder({ ...shared, hasRecord }) })
  closers.add('entry', () => entry.close())
  const placement = settings.fleet?.placement ?? 'spread'
  const place = createPlacing({
    ...shared,
    placesFor: (request) => placesFor(request, { directory, placement, now }),
  })
  const { cell } = directory
  const send = createBaseSender({ ...shared, now, cell, bases: store.bases, filesystem, keys: peerKeys })
  return {
    wrap: (here) => answerPulse(send(entry.wrap(place(gatherOverCells(here, shared))))),
    passUpgrade: entry.passUpgrade,
  }
}

function findRecord(store: Store, { kind, project, name }: HomeName): Promise<object | null> {
  return kind === 'box' ? store.boxes.get(project, name) : store.volumes.get(project, name)
}

/** Opens links to the agents of other cells, with the certificates of the channel. */
export function openLinks(settings: Pick<AgentSettings, 'channelTls'>): CellLinks {
  return createCellLinks({ tls: readLinkTls(settings) })
}

/**
 * Reads the certificates with which cells authenticate each other's channels. Null: they use plain HTTP. @throws Error for a missing file
 */
export function readLinkTls({ channelTls }: Pick<AgentSettings, 'channelTls'>): LinkTls | null {
  if (channelTls === null) return null
  const { ca, cert, key } = channelTls
  const read = (path: string): string => readFileSync(path, 'utf8')
  return { ca: read(ca), cert: read(cert), key: read(key) }
}
