import { readFileSync } from 'node:fs'
import { createSenderCheck } from '../../shared/auth/channel.ts'
import type { BodyBudget } from '../../shared/http/body-budget.ts'
import { matchOperation } from '../../shared/match.ts'
import type { Directory, HomeName } from '../ports/fleet/directory.ts'
import type { Store } from '../ports/store/store.ts'
import { createCellLinks, type LinkTls } from '../server/cell-links.ts'
import { createEntry, type Entry } from '../server/entry.ts'
import { createOwnerFinder } from '../server/owner-cell.ts'
import type { Deployment, DeploymentDeps } from './deployment.ts'

/** Opens the entry of a cell of a fleet, which passes on what other cells own. */
export function openEntry(
  { settings, closers, clock, logger }: DeploymentDeps,
  { deployment: { keys, store }, ...served }: { deployment: Deployment; directory: Directory; bodies: BodyBudget },
): Entry {
  const now = (): number => clock.now()
  const { agent_id: agentId } = keys.channel()
  const { channelTls } = settings
  const hasRecord = async (name: HomeName): Promise<boolean> => (await findRecord(store, name)) !== null
  const entry = createEntry({
    ...served,
    owners: createOwnerFinder({ directory: served.directory, match: matchOperation, hasRecord }),
    links: createCellLinks({ tls: channelTls === null ? null : readLinkTls(channelTls) }),
    checkSender: createSenderCheck({ keys: () => keys.channel().keys, agentId, now }),
    ...{ logger, now },
  })
  closers.add('entry', () => entry.close())
  return entry
}

function findRecord(store: Store, { kind, project, name }: HomeName): Promise<object | null> {
  return kind === 'box' ? store.boxes.get(project, name) : store.volumes.get(project, name)
}

function readLinkTls({ ca, cert, key }: LinkTls): LinkTls {
  const read = (path: string): string => readFileSync(path, 'utf8')
  return { ca: read(ca), cert: read(cert), key: read(key) }
}
