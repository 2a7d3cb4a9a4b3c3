import { readFileSync } from 'node:fs'
import { createSenderCheck } from '../../shared/auth/channel.ts'
import type { BodyBudget } from '../../shared/http/body-budget.ts'
import type { HttpHandler } from '../../shared/http/messages.ts'
import { matchOperation } from '../../shared/match.ts'
import { placesFor } from '../core/fleet/placement.ts'
import type { Directory, HomeName } from '../ports/fleet/directory.ts'
import type { Store } from '../ports/store/store.ts'
import { createBaseSender } from '../server/base-sender.ts'
import { type CellLinks, createCellLinks, type LinkTls } from '../server/cell-links.ts'
import { createEntry, type Entry } from '../server/entry.ts'
import { createOwnerFinder } from '../server/owner-cell.ts'
import { createPlacing } from '../server/placing.ts'
import type { Deployment, DeploymentDeps } from './deployment.ts'
import type { Drivers } from './drivers.ts'

/** What stands in front of the channel's dispatch in a fleet. */
export interface FleetDoor extends Pick<Entry, 'passUpgrade'> {
  /** Wraps the handler of what this cell answers itself. */
  wrap(here: HttpHandler): HttpHandler
}

/** Opens the door of a cell of a fleet, which passes on what other cells own, and places what is made. */
export function openDoor(
  { settings, closers, clock, logger }: DeploymentDeps,
  {
    deployment: { keys, store },
    drivers: { filesystem },
    directory,
    bodies,
  }: { deployment: Deployment; drivers: Pick<Drivers, 'filesystem'>; directory: Directory; bodies: BodyBudget },
): FleetDoor {
  const now = (): number => clock.now()
  const { agent_id: agentId } = keys.channel()
  const hasRecord = async (name: HomeName): Promise<boolean> => (await findRecord(store, name)) !== null
  const shared = {
    ...{ directory, bodies, logger, now, match: matchOperation },
    links: openLinks(settings),
    checkSender: createSenderCheck({ keys: () => keys.channel().keys, agentId, now }),
  }
  const entry = createEntry({ ...shared, owners: createOwnerFinder({ ...shared, hasRecord }) })
  closers.add('entry', () => entry.close())
  const place = createPlacing({
    ...shared,
    placesFor: (request) => placesFor(request, { directory, now }),
  })
  const { cell } = directory
  const send = createBaseSender({ ...shared, cell, bases: store.bases, filesystem, keys: () => keys.channel().keys })
  return { wrap: (here) => send(entry.wrap(place(here))), passUpgrade: entry.passUpgrade }
}

function findRecord(store: Store, { kind, project, name }: HomeName): Promise<object | null> {
  return kind === 'box' ? store.boxes.get(project, name) : store.volumes.get(project, name)
}

/** Opens links to the agents of other cells, with the certificates of the channel. */
export function openLinks({ channelTls }: Pick<DeploymentDeps['settings'], 'channelTls'>): CellLinks {
  return createCellLinks({ tls: channelTls === null ? null : readLinkTls(channelTls) })
}

function readLinkTls({ ca, cert, key }: LinkTls): LinkTls {
  const read = (path: string): string => readFileSync(path, 'utf8')
  return { ca: read(ca), cert: read(cert), key: read(key) }
}
