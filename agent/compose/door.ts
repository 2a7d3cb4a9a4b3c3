import { readFileSync } from 'node:fs'
import { createSenderCheck } from '../../shared/auth/channel.ts'
import type { BodyBudget } from '../../shared/http/body-budget.ts'
import type { HttpHandler } from '../../shared/http/messages.ts'
import { matchOperation } from '../../shared/match.ts'
import { placesFor } from '../core/fleet/placement.ts'
import type { Directory, HomeName } from '../ports/fleet/directory.ts'
import type { Store } from '../ports/store/store.ts'
import { createCellLinks, type LinkTls } from '../server/cell-links.ts'
import { createEntry, type Entry } from '../server/entry.ts'
import { createOwnerFinder } from '../server/owner-cell.ts'
import { createPlacing } from '../server/placing.ts'
import type { Deployment, DeploymentDeps } from './deployment.ts'

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
    directory,
    bodies,
  }: { deployment: Deployment; directory: Directory; bodies: BodyBudget },
): FleetDoor {
  const now = (): number => clock.now()
  const { channelTls } = settings
  const hasRecord = async (name: HomeName): Promise<boolean> => (await findRecord(store, name)) !== null
  const shared = {
    ...{ directory, bodies, logger, now, match: matchOperation },
    links: createCellLinks({ tls: channelTls === null ? null : readLinkTls(channelTls) }),
    checkSender: createSenderCheck({
      keys: () => keys.channel().keys,
      get agentId() {
        return keys.channel().agent_id
      },
      now,
    }),
  }
  const entry = createEntry({ ...shared, owners: createOwnerFinder({ ...shared, hasRecord }) })
  closers.add('entry', () => entry.close())
  const place = createPlacing({
    ...shared,
    placesFor: (request) => placesFor(request, { directory, now }),
  })
  return { wrap: (here) => entry.wrap(place(here)), passUpgrade: entry.passUpgrade }
}

function findRecord(store: Store, { kind, project, name }: HomeName): Promise<object | null> {
  return kind === 'box' ? store.boxes.get(project, name) : store.volumes.get(project, name)
}

function readLinkTls({ ca, cert, key }: LinkTls): LinkTls {
  const read = (path: string): string => readFileSync(path, 'utf8')
  return { ca: read(ca), cert: read(cert), key: read(key) }
}
