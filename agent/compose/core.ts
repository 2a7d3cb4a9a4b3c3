import { join } from 'node:path'
import { newId, newIdOfCell } from '../../shared/ids.ts'
import type { AgentSettings } from '../config/agent.ts'
import { type Backups, createBackups } from '../core/backups/backups.ts'
import { type BackupCatalog, createBackupCatalog } from '../core/backups/catalog.ts'
import type { BackupJobsDeps } from '../core/backups/jobs.ts'
import { type BackupSchedules, createBackupSchedules } from '../core/backups/schedules.ts'
import { ensureBases } from '../core/bases/host-bases.ts'
import { type BoxActivity, createBoxActivity } from '../core/boxes/activity.ts'
import { startUsageHistory } from '../core/boxes/usage-history.ts'
import { serviceOutputs } from '../core/common/service-instances.ts'
import { StorageBounds } from '../core/common/storage-bounds.ts'
import type { EdgeRoutes } from '../core/edge/routes.ts'
import { createExecs, type Execs } from '../core/exec/execs.ts'
import { removeRestoreLeftovers } from '../core/files/restores.ts'
import { findSubvolumeFaults, subvolumeOwners } from '../core/health/subvolume-faults.ts'
import { createJobs, type Jobs } from '../core/operations/jobs.ts'
import { Reconciler } from '../core/reconcile/reconciler.ts'
import { createForks, type Forks } from '../core/services/forks.ts'
import { createProbeTurns } from '../core/services/probe-turns.ts'
import { ServiceSupervisor } from '../core/services/supervisor.ts'
import { recoverAutomatic } from '../core/snapshots/automatic.ts'
import { startPoolShares } from '../core/volumes/pool-shares.ts'
import { readBootId } from '../drivers/host/facts.ts'
import { openUsageHistory } from '../drivers/store/usage-history.ts'
import type { Meter } from '../ports/host/meter.ts'
import type { UsageHistory } from '../ports/store/usage-history.ts'
import type { Deployment, DeploymentDeps } from './deployment.ts'
import type { Drivers } from './drivers.ts'
import { scheduleRetention } from './retention.ts'

/** The controllers that bring the host to the stored records, each recovered from the previous process. */
export interface CoreParts {
  reconciler: Reconciler
  execs: Execs
  activity: BoxActivity
  history: UsageHistory
  supervisor: ServiceSupervisor
  forks: Forks
  jobs: Jobs
  backups: BackupParts
  bounds: StorageBounds
  /** See `HealthDeps`. */
  standingFaults: Awaited<ReturnType<typeof findSubvolumeFaults>>
}

export interface CorePartsDeps extends DeploymentDeps {
  deployment: Deployment
  drivers: Drivers
  routes: EdgeRoutes
  meter: Meter
}

/** Recovers boxes, services, commands and backups, in the order in which they depend on each other. */
export async function startCoreParts(deps: CorePartsDeps, signal: AbortSignal): Promise<CoreParts> {
  const { settings, closers, logger, clock, drivers, routes, meter } = deps
  const { store, actorContext } = deps.deployment
  const { limits } = settings
  const serving = { ...drivers, store, actorContext, traffic: routes, clock, logger, limits }
  const reconciler = new Reconciler({ ...serving, meter, bootId: readBootId() })
  closers.add('reconciler', () => reconciler.close())
  const forks = createForks({
    ...serving,
    scheduleDestroy: (tombstone, trees) => reconciler.scheduleDestroy(tombstone, trees),
  })
  const supervisor = new ServiceSupervisor({
    ...serving,
    forks,
    probeTurns: createProbeTurns({ clock }),
  })
  reconciler.onChange((boxId) => {
    routes.wake(boxId)
    supervisor.wakeBox(boxId)
  })
  const standingFaults = await findSubvolumeFaults(store, drivers.filesystem)
  // Earlier versions kept no accounts, and an agent may have been killed before it assigned a subvolume.
  await drivers.accounts.assign(await subvolumeOwners(store))
  const bounds = new StorageBounds({ ...drivers, store, defaultQuota: settings.defaultQuota })
  await bounds.recover()
  await reconciler.recover()
  await recoverAutomatic({ ...drivers, store, clock, reconciler, logger })
  removeRestoreLeftovers({ ...drivers, store, logger }).catch((error: unknown) =>
    logger.error('failed to find leftovers of file restores in boxes', { error }),
  )
  await ensureBases(settings.bases, { ...drivers, store, clock, notices: deps.notices }, signal)
  await scheduleRetention({ store, clock, closers, logger, limits })
  const shares = startPoolShares({ ...drivers, bounds, clock, logger, reservePercent: settings.pool.reservePercent })
  closers.add('pool shares', async () => shares.close())
  const activity = createBoxActivity()
  const execs = createExecs({ ...drivers, store, actorContext, clock, logger, meter, activity, limits })
  await forks.recover()
  await execs.recover(await serviceOutputs(store))
  await supervisor.recover()
  closers.add('services', () => supervisor.close())
  const jobs = createJobs({ store, clock, logger, meter, newOperationId: idsOf('opr', settings) })
  closers.add('jobs', () => jobs.close())
  const newBackupId = idsOf('bak', settings)
  const backups = createBackupParts({
    ...{ ...drivers, store, reconciler, jobs, clock, logger, newBackupId },
    backupKeys: () => deps.deployment.keys.backups().keys,
    acceptsUnverified: settings.backups.acceptsUnverified,
  })
  await backups.recover()
  await jobs.failUnresumed()
  closers.add('backup schedules', backups.startSchedules())
  const history = openUsageHistory(join(settings.dataDir, 'metrics.db'), logger)
  closers.add('history of metrics', () => history.close())
  closers.add('looks at boxes', startUsageHistory({ ...drivers, store, history, clock, logger }))
  return { reconciler, execs, activity, history, supervisor, forks, jobs, backups, bounds, standingFaults }
}

/** Returns a function that makes ids of resources without an owner. In a fleet the ids name their cell, so that every gateway finds it. */
export function idsOf(prefix: 'opr' | 'bak', { fleet }: Pick<AgentSettings, 'fleet'>): (nowMs: number) => string {
  return fleet === null ? (nowMs) => newId(prefix, nowMs) : (nowMs) => newIdOfCell(prefix, nowMs, fleet.cell)
}

/** Backups and the parts they are made of. */
export interface BackupParts {
  catalog: BackupCatalog
  backups: Backups
  schedules: BackupSchedules
  /** Resumes the backups that a previous agent began. */
  recover(): Promise<void>
  /** Starts making backups that are due. The returned function stops it. */
  startSchedules(): () => Promise<void>
}

/** Wires backups, which requests need. */
export function createBackupParts(
  given: Omit<BackupJobsDeps, 'catalog' | 'records'> & { acceptsUnverified: boolean },
): BackupParts {
  const { store, backupStore, backupKeys: keys, acceptsUnverified, clock, logger } = given
  const records = store.backups
  const hasWritten = async (id: string, sha256: string): Promise<boolean> => (await records.get(id))?.sha256 === sha256
  const catalog = createBackupCatalog({ store: backupStore, keys, hasWritten, acceptsUnverified })
  const backups = createBackups({ ...given, records, catalog })
  const schedules = createBackupSchedules({ store, records, backups, clock, logger })
  return {
    catalog,
    backups,
    schedules,
    recover: () => backups.recover(),
    startSchedules: () => {
      const ending = new AbortController()
      const ended = schedules.run(ending.signal)
      return async () => {
        ending.abort()
        await ended
      }
    },
  }
}
