import { ServiceError } from '../../shared/errors.ts'
import { shareRuns } from '../../shared/locks.ts'
import { repeat } from '../../shared/repeat.ts'
import type { HealthFault } from '../../shared/schemas/health.ts'
import { timestamp } from '../../shared/time.ts'
import type { Tokens } from '../core/access/tokens.ts'
import { awayCellFaults } from '../core/fleet/away-cells.ts'
import { dropStaleCopies } from '../core/fleet/base-copies.ts'
import { publishBases } from '../core/fleet/base-names.ts'
import { createDomainClaims, type DomainClaims, withDomains } from '../core/fleet/domain-claims.ts'
import { publishHomes, releaseLost } from '../core/fleet/homes.ts'
import { claimingAs, type Membership, startMembership } from '../core/fleet/membership.ts'
import { createKubeDirectory, type KubeDirectory } from '../drivers/fleet/directory-kube.ts'
import { createKubeDomains } from '../drivers/fleet/domains-kube.ts'
import { createKubeRegistration } from '../drivers/fleet/registration.ts'
import { openSharedKeys } from '../drivers/fleet/shared-keys.ts'
import { createKubeTokens, type KubeTokens } from '../drivers/fleet/tokens-kube.ts'
import { type KubeApi, openKubeApi } from '../lib/kube/api.ts'
import type { Directory } from '../ports/fleet/directory.ts'
import type { Domains } from '../ports/fleet/domains.ts'
import type { CellAddresses, CellStatus } from '../ports/fleet/registration.ts'
import type { Clock } from '../ports/host/clock.ts'
import type { Store } from '../ports/store/store.ts'
import type { NamedBase, NamedHome, Tombstone } from '../ports/store/tombstones.ts'
import { createBaseSource } from '../server/base-source.ts'
import { createPeerKeys } from '../server/peer-keys.ts'
import type { DataDirectory, DeploymentDeps } from './deployment.ts'
import { openLinks } from './door.ts'
import { type FleetKeys, openFleetKeys } from './fleet-keys.ts'
import { type HostAccess, wireTokens } from './tokens.ts'

/** The state that this agent shares with the others of its fleet. */
export interface Fleet {
  directory: Directory
  /** The tokens of all its cells. */
  tokens: Tokens
  /** Takes over later changes of the fleet's keys. Calls `onTaken` after each since the fleet was opened. */
  followKeys(onTaken: () => Promise<void>): Promise<void>
  domains: Domains
  claims: DomainClaims
  /** The cluster that keeps it. Null: this agent has no fleet. */
  api: KubeApi | null
  /**
   * Reports this cell to the fleet, now and after changes. Resolves once the fleet has the report, or could not receive it for some
   * seconds.
   */
  join(told: {
    addresses: Omit<CellAddresses, 'version' | 'region'>
    measure(): Promise<CellStatus>
    /** Calls `tell` when the result of `measure` has changed much. Returns a function that ends this. */
    onChange(tell: () => void): () => void
    reconciler: Destroyer
  }): Promise<void>
  /** The faults that keep this cell from its fleet. */
  problems(): HealthFault[]
}

/** Destroys a subvolume that has no record. */
interface Destroyer {
  scheduleDestroy(tombstone: Tombstone): void
}

/** Opens the fleet whose objects a Kubernetes cluster keeps. While that is unreachable, this cell keeps serving its own resources. */
export async function openKubeFleet(
  deps: DeploymentDeps,
  data: DataDirectory,
  { cell, version }: { cell: string; version: string },
): Promise<Fleet> {
  const { settings, closers, logger, clock } = deps
  const { store } = data
  const { node } = settings.kubernetes
  const now = (): number => clock.now()
  const api = await openApi(deps)
  const keys = fleetKeys(deps, data, api)
  // Comes before anything is signed or verified with the keys in the files.
  await keys.exchange().catch((error: unknown) => logger.warn('failed to read the keys of the fleet', { error }))
  const directory = openDirectory(deps, data, { api, cell })
  closers.add('directory', () => directory.close())
  const domains = createKubeDomains({ api })
  closers.add('domains', () => domains.close())
  const claims = createDomainClaims({ store, domains, address: settings.edge, clock, logger })
  closers.add('claims of domains', () => claims.close())
  const opening = [openTokens(deps, data, createKubeTokens({ api, cell })), directory.open(), domains.open()] as const
  const [tokens] = await Promise.all(opening)
  const registration = createKubeRegistration({ api, cell, node, instance: data.instanceId, now })
  let membership: Membership | null = null
  const checkKnown = (): void => {
    if (membership === null) throw new ServiceError('runtime_unavailable', 'This cell is only starting.')
    membership.checkKnown()
  }
  return {
    directory: withDomains(claimingAs(directory, checkKnown), claims),
    ...{ tokens, domains, claims, api },
    followKeys: (onTaken) => keys.follow(onTaken),
    join: async ({ addresses: reached, measure, onChange, reconciler }) => {
      const addresses = { ...reached, region: settings.region, version }
      const published = { store, directory, claims, reconciler, clock }
      const { publish, onDoubt } = createPublishing(published)
      closers.add('copies of bases', sweepOnChange(published, logger))
      membership = startMembership({ registration, addresses, measure, publish, clock, logger })
      const { started, tellSoon, leave } = membership
      closers.add('membership of the fleet', leave)
      closers.add('changes of this cell', onChange(tellSoon))
      closers.add('lists of the directory', onDoubt(tellSoon))
      await started
    },
    problems: () => [
      ...(membership?.problems() ?? []),
      ...lagOf(directory),
      ...(directory.fault() === null ? awayCellFaults(directory.cells(), now()) : []),
    ],
  }
}

/** Opens tokens and keys of a fleet for a command of the host, which follows neither. */
export async function openKubeAccess(
  deps: DeploymentDeps,
  data: DataDirectory,
  { cell }: { cell: string },
): Promise<HostAccess> {
  const api = await openApi(deps)
  const keys = fleetKeys(deps, data, api)
  return {
    tokens: wireTokens(data, { ...deps, fleet: createKubeTokens({ api, cell }) }).tokens,
    changeKeys: (kind, change) => keys.change(kind, change),
    shareKeys: async () => void (await keys.exchange()),
  }
}

/** Creates the directory, which fetches bases of other cells over its own connections. */
function openDirectory(
  { settings, closers, clock }: DeploymentDeps,
  { keys }: DataDirectory,
  { api, cell }: { api: KubeApi; cell: string },
): KubeDirectory {
  const links = openLinks(settings)
  closers.add('links for bases', () => links.close())
  const source = { links, now: () => clock.now(), keys: createPeerKeys(() => keys.tokens()) }
  const directory: KubeDirectory = createKubeDirectory({
    ...{ api, cell },
    sendBase: createBaseSource({ ...source, findCell: (number) => directory.findCell(number) }),
  })
  return directory
}

async function openApi({ settings, closers, logger, clock }: DeploymentDeps): Promise<KubeApi> {
  const { kubeconfig, namespace } = settings.kubernetes
  const api = await openKubeApi({ kubeconfig, namespace, logger, now: () => clock.now() })
  closers.add('fleet', () => api.close())
  return api
}

function fleetKeys({ settings, logger }: DeploymentDeps, { keys: files }: DataDirectory, api: KubeApi): FleetKeys {
  return openFleetKeys({ dataDir: settings.dataDir, files, shared: openSharedKeys(api), logger })
}

/** Opens the tokens, with the fleet's changes so far applied if it can be reached. Checks them each hour. */
async function openTokens(deps: DeploymentDeps, data: DataDirectory, fleet: KubeTokens): Promise<Tokens> {
  const { settings, closers, logger, clock } = deps
  closers.add('tokens of the fleet', () => fleet.close())
  const { tokens, records } = wireTokens(data, { ...deps, fleet })
  await records.follow()
  const tend = (): Promise<void> => records.tend({ endedBefore: clock.now() - settings.limits.tokenKeepMs })
  const onError = (error: unknown): void => logger.warn('failed to maintain tokens of the fleet', { error })
  closers.add('care of the tokens', repeat(tend, { everyMs: HOUR_MS, onError }))
  return tokens
}

interface Published {
  store: Store
  directory: KubeDirectory
  claims: DomainClaims
  reconciler: Destroyer
  clock: Clock
}

/**
 * Updates the directory with the records here. Whenever its state may be an earlier one, also releases entries that came back though
 * their records are gone.
 */
function createPublishing(published: Published): {
  publish(): Promise<HealthFault[]>
  onDoubt(listener: () => void): () => void
} {
  const { directory } = published
  let isInDoubt = true
  return {
    publish: async () => {
      await directory.synced()
      const wasInDoubt = isInDoubt
      isInDoubt = false
      try {
        if (wasInDoubt) await releaseLost(published)
        return await publishOwn(published)
      } catch (error) {
        isInDoubt ||= wasInDoubt
        throw error
      }
    },
    onDoubt: (listener) =>
      directory.onListed(() => {
        isInDoubt = true
        listener()
      }),
  }
}

/**
 * Claims names that the fleet has lost, and drops copies of bases that it no longer has. Returns the names and domains that another cell
 * has by now.
 */
async function publishOwn(published: Published): Promise<HealthFault[]> {
  const faults: HealthFault[] = []
  const onConflict = ({ kind, project, name, uid }: NamedHome | NamedBase, problem: string): void => {
    const where = project === null ? 'for all projects' : `in project "${project}"`
    faults.push({
      code: 'name_conflict',
      evidence: `The ${kind} ${uid} of this cell is named "${name}" ${where}, but ${problem}.`,
      remedy: 'Delete one of the two, at the agent that has it.',
    })
  }
  await publishHomes(published, onConflict)
  await publishBases(published, onConflict)
  await dropStaleCopies(published)
  return [...faults, ...(await published.claims.publishAll())]
}

/**
 * Drops copies of bases as soon as the cluster reports that the originals are gone. Returns a function that ends this. A failed drop
 * succeeds within a minute.
 */
function sweepOnChange(deps: Published, logger: DeploymentDeps['logger']): () => Promise<void> {
  const sweep = shareRuns(() => dropStaleCopies(deps))
  let running: Promise<void> = Promise.resolve()
  const stop = deps.directory.bases.onChange(() => {
    running = sweep().catch((error: unknown) => logger.warn('failed to compare copies of bases', { error }))
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
      evidence: `This cell has had no news of the other cells since ${timestamp(fault.since)}: ${fault.error.message}`,
      remedy:
        'Restore the API server. Running boxes keep running, but the fleet creates and publishes nothing until then.',
    },
  ]
}

const HOUR_MS = 3_600_000
