import type { HealthFault } from '../../shared/schemas/health.ts'
import { timestamp } from '../../shared/time.ts'
import { createDomainClaims, type DomainClaims, withDomains } from '../core/fleet/domain-claims.ts'
import { publishHomes } from '../core/fleet/homes.ts'
import { type Membership, startMembership } from '../core/fleet/membership.ts'
import { createKubeDirectory, type KubeDirectory } from '../drivers/fleet/directory-kube.ts'
import { createKubeDomains } from '../drivers/fleet/domains-kube.ts'
import { createKubeRegistration } from '../drivers/fleet/registration.ts'
import { type KubeApi, openKubeApi } from '../lib/kube/api.ts'
import type { Directory } from '../ports/fleet/directory.ts'
import type { Domains } from '../ports/fleet/domains.ts'
import type { CellAddresses, CellStatus } from '../ports/fleet/registration.ts'
import type { Store } from '../ports/store/store.ts'
import type { Deployment, DeploymentDeps } from './deployment.ts'

/** What this agent shares with the others of its fleet. */
export interface Fleet {
  directory: Directory
  domains: Domains
  claims: DomainClaims
  /** The cluster that keeps it; null: this agent is alone. */
  api: KubeApi | null
  /** Tells the fleet of this cell, from now on; resolves once it knows, or could not be told for some seconds. */
  join(told: {
    addresses: Omit<CellAddresses, 'version' | 'region'>
    measure(): Promise<CellStatus>
    /** Has `tell` called when what `measure` returns has changed much; returns what ends that. */
    onChange(tell: () => void): () => void
  }): Promise<void>
  /** What keeps this cell from its fleet. */
  problems(): HealthFault[]
}

/** Opens the fleet whose objects a Kubernetes cluster keeps. While that is away, what is here goes on. */
export async function openKubeFleet(
  { settings, closers, logger, clock }: DeploymentDeps,
  { store }: Deployment,
  { cell, version }: { cell: string; version: string },
): Promise<Fleet> {
  const { kubeconfig, namespace, node } = settings.kubernetes
  const now = (): number => clock.now()
  const api = await openKubeApi({ kubeconfig, namespace, logger, now })
  closers.add('fleet', () => api.close())
  const directory = createKubeDirectory({ api, cell })
  closers.add('directory', () => directory.close())
  const domains = createKubeDomains({ api })
  closers.add('domains', () => domains.close())
  const claims = createDomainClaims({ store, domains, address: settings.edge, clock, logger })
  closers.add('claims of domains', () => claims.close())
  await Promise.all([directory.open(), domains.open()])
  const registration = createKubeRegistration({ api, cell, node, now })
  let membership: Membership | null = null
  return {
    directory: withDomains(directory, claims),
    ...{ domains, claims, api },
    join: async ({ addresses: reached, measure, onChange }) => {
      const addresses = { ...reached, region: settings.region, version }
      const publish = (): Promise<HealthFault[]> => publishOwn({ store, directory, claims })
      membership = startMembership({ registration, addresses, measure, publish, clock, logger })
      const { started, tellSoon, leave } = membership
      closers.add('membership of the fleet', leave)
      closers.add('changes of this cell', onChange(tellSoon))
      await started
    },
    problems: () => [...(membership?.problems() ?? []), ...lagOf(directory)],
  }
}

/** Claims what the fleet has lost, and returns the names and domains that another has by now. */
async function publishOwn({
  store,
  directory,
  claims,
}: {
  store: Store
  directory: KubeDirectory
  claims: DomainClaims
}): Promise<HealthFault[]> {
  const faults: HealthFault[] = []
  await directory.synced()
  await publishHomes({ store, directory }, ({ kind, project, name, uid }, problem) => {
    faults.push({
      code: 'name_conflict',
      evidence: `The ${kind} ${uid} of this cell is named "${name}" in project "${project}", but ${problem}.`,
      remedy: 'Delete one of the two, each at its own agent.',
    })
  })
  return [...faults, ...(await claims.publishAll())]
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
