import { shareRuns } from '../../shared/locks.ts'
import type { HealthFault } from '../../shared/schemas/health.ts'
import { timestamp } from '../../shared/time.ts'
import { dropStaleCopies } from '../core/fleet/base-copies.ts'
import { publishBases } from '../core/fleet/base-names.ts'
import { publishHomes } from '../core/fleet/homes.ts'
import { type Membership, startMembership } from '../core/fleet/membership.ts'
import { createKubeDirectory, type KubeDirectory } from '../drivers/fleet/directory-kube.ts'
import { createKubeRegistration } from '../drivers/fleet/registration.ts'
import { type KubeApi, openKubeApi } from '../lib/kube/api.ts'
import type { Directory } from '../ports/fleet/directory.ts'
import type { CellAddresses, CellStatus } from '../ports/fleet/registration.ts'
import type { Clock } from '../ports/host/clock.ts'
import type { Store } from '../ports/store/store.ts'
import type { NamedBase, NamedHome, Tombstone } from '../ports/store/tombstones.ts'
import { createBaseSource } from '../server/base-source.ts'
import type { Deployment, DeploymentDeps } from './deployment.ts'
import { openLinks } from './door.ts'

/** What this agent shares with the others of its fleet. */
export interface Fleet {
  directory: Directory
  /** The cluster that keeps it; null: this agent is alone. */
  api: KubeApi | null
  /** Tells the fleet of this cell, from now on; resolves once it knows, or could not be told for some seconds. */
  join(told: {
    addresses: Omit<CellAddresses, 'version' | 'region'>
    measure(): Promise<CellStatus>
    /** Has `tell` called when what `measure` returns has changed much; returns what ends that. */
    onChange(tell: () => void): () => void
    reconciler: Destroyer
  }): Promise<void>
  /** What keeps this cell from its fleet. */
  problems(): HealthFault[]
}

/** Destroys a subvolume that has no record. */
interface Destroyer {
  scheduleDestroy(tombstone: Tombstone): void
}

/** Opens the fleet whose objects a Kubernetes cluster keeps. While that is away, what is here goes on. */
export async function openKubeFleet(
  { settings, closers, logger, clock }: DeploymentDeps,
  { store, keys }: Deployment,
  { cell, version }: { cell: string; version: string },
): Promise<Fleet> {
  const { kubeconfig, namespace, node } = settings.kubernetes
  const now = (): number => clock.now()
  const api = await openKubeApi({ kubeconfig, namespace, logger, now })
  closers.add('fleet', () => api.close())
  const links = openLinks(settings)
  closers.add('links for bases', () => links.close())
  const directory: KubeDirectory = createKubeDirectory({
    api,
    cell,
    sendBase: createBaseSource({
      ...{ links, now, keys: () => keys.channel().keys, findCell: (number) => directory.findCell(number) },
    }),
  })
  closers.add('directory', () => directory.close())
  await directory.open()
  const registration = createKubeRegistration({ api, cell, node, now })
  let membership: Membership | null = null
  return {
    directory,
    api,
    join: async ({ addresses: reached, measure, onChange, reconciler }) => {
      const addresses = { ...reached, region: settings.region, version }
      const copies = { store, directory, reconciler, clock }
      const publish = (): Promise<HealthFault[]> => publishOwn(copies)
      closers.add('copies of bases', sweepOnChange(copies, logger))
      membership = startMembership({ registration, addresses, measure, publish, clock, logger })
      const { started, tellSoon, leave } = membership
      closers.add('membership of the fleet', leave)
      closers.add('changes of this cell', onChange(tellSoon))
      await started
    },
    problems: () => [...(membership?.problems() ?? []), ...lagOf(directory)],
  }
}

interface OwnDeps {
  store: Store
  directory: KubeDirectory
  reconciler: Destroyer
  clock: Clock
}

/** Claims what the directory has lost, drops copies of what it has no more, and returns the names that another has by now. */
async function publishOwn(deps: OwnDeps): Promise<HealthFault[]> {
  const faults: HealthFault[] = []
  const onConflict = ({ kind, project, name, uid }: NamedHome | NamedBase, problem: string): void => {
    const where = project === null ? 'for all projects' : `in project "${project}"`
    faults.push({
      code: 'name_conflict',
      evidence: `The ${kind} ${uid} of this cell is named "${name}" ${where}, but ${problem}.`,
      remedy: 'Delete one of the two, each at its own agent.',
    })
  }
  await deps.directory.synced()
  await publishHomes(deps, onConflict)
  await publishBases(deps, onConflict)
  await dropStaleCopies(deps)
  return faults
}

/** Drops copies of bases as soon as the cluster tells that these are no more; returns what ends that. What fails is done within a minute. */
function sweepOnChange(deps: OwnDeps, logger: DeploymentDeps['logger']): () => Promise<void> {
  const sweep = shareRuns(() => dropStaleCopies(deps))
  let running: Promise<void> = Promise.resolve()
  const stop = deps.directory.bases.onChange(() => {
    running = sweep().catch((error: unknown) => logger.warn('copies of bases could not be compared', { error }))
  })
  return async () => {
    stop()
    await running
  }
}

function lagOf(directory: KubeDirectory): HealthFault[] {
  const fault = directory.fault()
  if (fault === null) return []
  return [
    {
      code: 'fleet_stale',
      evidence: `What this cell knows of the others is from ${timestamp(fault.since)}: ${fault.error.message}`,
      remedy: 'Bring the API server back; boxes that run go on meanwhile, and nothing is made or published.',
    },
  ]
}
