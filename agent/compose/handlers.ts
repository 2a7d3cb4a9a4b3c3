import type { Box } from '../../shared/schemas/boxes.ts'
import type { AgentSettings } from '../config/agent.ts'
import { createQuotas } from '../core/access/quotas.ts'
import type { Tickets } from '../core/access/tickets.ts'
import { createBackupRestore } from '../core/backups/restore.ts'
import { createBases, sharedBaseNames } from '../core/bases/bases.ts'
import { createBaseSizes } from '../core/bases/measure.ts'
import type { BoxActivity } from '../core/boxes/activity.ts'
import { type Boxes, createBoxes } from '../core/boxes/boxes.ts'
import type { BoxDefaults } from '../core/boxes/record.ts'
import { createBoxRestore } from '../core/boxes/restore.ts'
import { createSnapshotDiff } from '../core/boxes/snapshot-diff.ts'
import { createBoxSnapshots } from '../core/boxes/snapshots.ts'
import { type Admission, createAdmission } from '../core/common/admission.ts'
import type { StorageBounds } from '../core/common/storage-bounds.ts'
import { awaitBoxRoutes } from '../core/edge/awaited-routes.ts'
import { createBoxPortOpener } from '../core/edge/box-ports.ts'
import { DomainProofs } from '../core/edge/domain-proofs.ts'
import { createPublishing } from '../core/edge/publishing.ts'
import type { AuditLog } from '../core/events/audit-list.ts'
import type { EventFeed } from '../core/events/feed.ts'
import { createConsoles } from '../core/exec/consoles.ts'
import type { Execs } from '../core/exec/execs.ts'
import { createScheduling } from '../core/fleet/scheduling.ts'
import type { HealthReport } from '../core/health/health.ts'
import { createStorage } from '../core/health/storage-report.ts'
import type { Jobs } from '../core/operations/jobs.ts'
import { createOperations, type Operations } from '../core/operations/operations.ts'
import type { Reconciler } from '../core/reconcile/reconciler.ts'
import { createDeploys } from '../core/services/deploys.ts'
import type { Forks } from '../core/services/forks.ts'
import type { LogStreams } from '../core/services/logs.ts'
import { createServices } from '../core/services/services.ts'
import type { ServiceSupervisor } from '../core/services/supervisor.ts'
import { createAttachments } from '../core/volumes/attachments.ts'
import { createVolumeSnapshots } from '../core/volumes/snapshots.ts'
import { createVolumes } from '../core/volumes/volumes.ts'
import { createTextRecords } from '../drivers/edge/text-records.ts'
import { createLinuxHost } from '../drivers/host/facts.ts'
import { createQuotaHandlers } from '../handlers/access/quotas.ts'
import { createSignInHandlers } from '../handlers/access/sign-in.ts'
import { createTicketHandlers } from '../handlers/access/tickets.ts'
import { createTokenHandlers } from '../handlers/access/tokens.ts'
import { createBackupHandlers, createFromBackup } from '../handlers/backups/backups.ts'
import { createBaseHandlers } from '../handlers/bases/bases.ts'
import { createBoxHandlers } from '../handlers/boxes/boxes.ts'
import { viewBoxCard } from '../handlers/boxes/card-view.ts'
import { type BoxReplies, createBoxReplies } from '../handlers/boxes/replies.ts'
import { createBoxSnapshotHandlers } from '../handlers/boxes/snapshots.ts'
import type { Handlers, StreamHandlers } from '../handlers/common/call.ts'
import { guardPool } from '../handlers/common/pool-guard.ts'
import { createPortHandlers } from '../handlers/edge/ports.ts'
import { createPublishingHandlers } from '../handlers/edge/publishing.ts'
import { createUrlTicketHandlers } from '../handlers/edge/url-tickets.ts'
import { createHistoryHandlers } from '../handlers/events/events.ts'
import { createCommandHandlers, createExecHandlers, createSessionHandlers } from '../handlers/exec/exec.ts'
import { createFileHandlers } from '../handlers/files/files.ts'
import { createFileReadHandlers } from '../handlers/files/reads.ts'
import { createSpaceHandlers } from '../handlers/health/space.ts'
import { createSystemHandlers } from '../handlers/health/system.ts'
import { createOperationHandlers } from '../handlers/operations/operations.ts'
import { createServiceHandlers, createServiceReplies } from '../handlers/services/services.ts'
import { createVolumeSnapshotHandlers } from '../handlers/volumes/snapshots.ts'
import { createVolumeHandlers } from '../handlers/volumes/volumes.ts'
import type { Cell, KeptHome } from '../ports/fleet/directory.ts'
import type { Meter } from '../ports/host/meter.ts'
import type { Store } from '../ports/store/store.ts'
import type { UsageHistory } from '../ports/store/usage-history.ts'
import { type BackupParts, idsOf } from './core.ts'
import type { Deployment, DeploymentDeps } from './deployment.ts'
import type { Drivers } from './drivers.ts'
import type { EdgeParts } from './edge.ts'
import { publishedLimits } from './limits.ts'

/** The parts that handlers answer from. */
export interface HandlerParts extends DeploymentDeps {
  version: { version: string; commit: string | null }
  deployment: Deployment
  drivers: Drivers
  reconciler: Reconciler
  execs: Execs
  activity: BoxActivity
  history: UsageHistory
  meter: Meter
  supervisor: ServiceSupervisor
  edge: Pick<EdgeParts, 'routes' | 'address' | 'claims'>
  forks: Forks
  jobs: Jobs
  backups: BackupParts
  bounds: StorageBounds
  feed: EventFeed
  logStreams: LogStreams
  auditLog: AuditLog
  tickets: Tickets
  /** Origin at which tickets are redeemed. */
  dataUrl: string
  health(): Promise<HealthReport>
}

/** The API of the core, wired. */
export interface WiredHandlers {
  handlers: Handlers
  streams: StreamHandlers
  boxes: Boxes
  /** Returns the box that a cached summary describes, while its cell does not answer. */
  viewCard(home: KeptHome, cell: Cell | null): Box | null
}

/** Wires the API of the core and returns a handler for each operation, with the boxes that they share. */
export function wireHandlers(parts: HandlerParts): WiredHandlers {
  const { settings, deployment, drivers, reconciler, execs, tickets, dataUrl, clock, version } = parts
  const { store } = deployment
  const host = createLinuxHost()
  const hasNode = settings.runtime === 'kubernetes' || settings.fleet !== null
  const node = hasNode ? settings.kubernetes.node : settings.region
  const defaults = {
    base: settings.defaultBase,
    config: defaultConfig(settings),
    gracePeriodSeconds: 10,
    volumeSizeGb: 10,
    quota: settings.defaultQuota,
    allowsNesting: settings.limits.allowsNesting,
    hostCores: host.load().cpu.cores,
    node,
  }
  const { filesystem, accounts, directory, runtime, files } = drivers
  const admission = createAdmission({ store, ...settings, host })
  const shared = { store, filesystem, accounts, directory, runtime, reconciler, clock, admission, defaults }
  const boxes = awaitBoxRoutes(createBoxes(shared), parts.edge.routes)
  const consoles = createConsoles({ runtime, clock, activity: parts.activity, actorContext: deployment.actorContext })
  const operations = createOperations({
    store,
    reconciler,
    jobs: parts.jobs,
    clock,
    newOperationId: idsOf('opr', settings),
  })
  const replies = createBoxReplies({ operations, node, address: parts.edge.address })
  // A project that is kept together goes where its cell is, whatever else the scheduler would choose.
  const places = settings.fleet?.placement === 'project' ? null : drivers.places
  const scheduling = createScheduling({ ...drivers, places, now: () => clock.now() })
  const handlers = {
    ...createSystemHandlers({
      version,
      drivers: kindsOf(drivers, store),
      defaults,
      limits: () => publishedLimits(settings),
      health: parts.health,
      sharedBases: () => sharedBaseNames(store),
    }),
    ...createOperationHandlers({ operations }),
    ...createBoxHandlers({ ...shared, history: parts.history, boxes, replies, scheduling, limits: settings.limits }),
    ...createBoxSnapshotHandlers({
      snapshots: createBoxSnapshots({ ...shared, boxes, limits: settings.limits }),
      restore: createBoxRestore({ ...shared, boxes }),
      diff: createSnapshotDiff({ ...shared, boxes }),
      replies,
    }),
    ...createExecHandlers({ boxes, execs }),
    ...wireServices(parts, { boxes, replies, admission }),
    ...createSessionHandlers({ boxes, consoles }),
    ...createFileHandlers({ boxes, store, files, filesystem, tickets, dataUrl }),
    ...createFileReadHandlers({ boxes, store, files, filesystem, tickets, dataUrl }),
    ...wireAccess(parts, boxes),
    ...wireStorage(parts, { ...shared, boxes, replies, operations }),
    ...createSpaceHandlers(createStorage(shared)),
    ...createHistoryHandlers(parts),
  }
  const ports = createBoxPortOpener({ ...parts, boxes, runtime })
  const streams = { ...createCommandHandlers({ boxes, execs, consoles }), ...createPortHandlers({ boxes, ports }) }
  const viewCard: WiredHandlers['viewCard'] = (home, cell) => viewBoxCard(home, cell, { ...parts.edge, ...defaults })
  return { handlers: guardPool(handlers, { ...parts, filesystem }), streams, boxes, viewCard }
}

function kindsOf({ runtime, filesystem, backupStore }: Drivers, store: Store) {
  return { runtime: runtime.kind, filesystem: filesystem.kind, store: store.kind, backups: backupStore.kind }
}

/** Wires tokens, sessions of the console, tickets and quotas. */
function wireAccess(parts: HandlerParts, boxes: Boxes) {
  const { deployment, drivers, bounds, tickets, dataUrl, settings, clock } = parts
  const { store, tokens, keys } = deployment
  const isShared = settings.fleet !== null
  return {
    ...createTokenHandlers({ tokens }),
    ...createSignInHandlers({ tokens, tickets, clock, service: () => keys.channel().agent_id }),
    ...createTicketHandlers({ boxes, tickets, dataUrl }),
    ...createQuotaHandlers({ quotas: createQuotas({ ...drivers, store, clock, bounds, ...settings, isShared }) }),
  }
}

type ServiceOperations = ReturnType<typeof createServiceHandlers> &
  ReturnType<typeof createPublishingHandlers> &
  ReturnType<typeof createUrlTicketHandlers>

/** Wires services, their deployments, and the domains of services and boxes. */
function wireServices(
  { settings, deployment, drivers, supervisor, forks, bounds, edge, logStreams, tickets, dataUrl, clock }: HandlerParts,
  { boxes, replies, admission }: { boxes: Boxes; replies: BoxReplies; admission: Admission },
): Pick<Handlers, keyof ServiceOperations> {
  const { store, actorContext, keys } = deployment
  const { outputs } = drivers
  const { routes, address, claims } = edge
  const { edge: edgeSettings } = settings
  const records = createTextRecords(edgeSettings.resolvers)
  const services = createServices({ store, clock, outputs, boxes, supervisor, traffic: routes, admission })
  const deploys = createDeploys({ store, clock, boxes, supervisor, traffic: routes, forks, admission, bounds })
  const serviceReplies = createServiceReplies(address)
  const publishing = createPublishing({
    ...{ store, clock, boxes, routes, address, admission, claims, reserved: edgeSettings.reservedDomains },
    // Without certificates by ACME the operator puts each domain's certificate there.
    proofs: edgeSettings.acme === null ? null : new DomainProofs({ records, keys: () => keys.backups().keys, address }),
  })
  return {
    ...createServiceHandlers({
      ...{ clock, outputs, actorContext, services, deploys, serviceReplies, logStreams, tickets, dataUrl },
    }),
    ...createPublishingHandlers({ publishing, services, replies, serviceReplies }),
    ...createUrlTicketHandlers({ boxes, routes, address, tickets }),
  }
}

type StorageOperations = ReturnType<typeof createVolumeHandlers> &
  ReturnType<typeof createBackupHandlers> &
  ReturnType<typeof createVolumeSnapshotHandlers> &
  ReturnType<typeof createBaseHandlers>

/** The parts that storage shares with boxes. */
interface StorageParts {
  boxes: Boxes
  replies: BoxReplies
  admission: Admission
  operations: Operations
  defaults: BoxDefaults & { volumeSizeGb: number }
}

/** Returns the defaults of a box's configuration for fields that a request leaves out. */
function defaultConfig({ region, limits }: AgentSettings): BoxDefaults['config'] {
  const { networkMbps: network_mbps, diskMbps: disk_mbps, diskIops: disk_iops } = limits
  const own = { nesting: false, shm_mb: null, core_dumps: false }
  return { cpus: 1, ram_mb: 512, region, storage_gb: 10, network_mbps, disk_mbps, disk_iops, ...own }
}

/** Wires data volumes, their snapshots and backups, and bases. */
function wireStorage(
  { deployment, drivers, settings, reconciler, jobs, clock, logger, ...parts }: HandlerParts,
  { boxes, replies, admission, operations, defaults }: StorageParts,
): Pick<Handlers, keyof StorageOperations> {
  const { store } = deployment
  const { filesystem, directory, runtime, files, backupStore, registry } = drivers
  const shared = { store, filesystem, directory, runtime, reconciler, clock, logger, admission, defaults, boxes }
  const volumes = createVolumes(shared)
  const attachments = createAttachments(shared)
  const { bounds } = parts
  const restoring = { ...shared, ...parts.backups, backupStore, jobs, bounds }
  const restores = { restore: createBackupRestore(restoring) }
  const backing = { ...parts.backups, ...restores, volumes, operations }
  const sizes = createBaseSizes({ store, filesystem, logger })
  sizes.countAll()
  const bases = createBases({ ...shared, bounds, files, sizes, jobs, registry, architecture: ARCHITECTURE })
  const volumeSnapshots = createVolumeSnapshots({ ...shared, limits: settings.limits })
  return {
    ...createVolumeHandlers({ volumes, attachments, replies, createFromBackup: createFromBackup(backing) }),
    ...createBackupHandlers(backing),
    ...createVolumeSnapshotHandlers({ ...shared, volumes, volumeSnapshots }),
    ...createBaseHandlers({ bases, operations }),
  }
}

/** The architecture of this host in image manifests. */
const ARCHITECTURE = process.arch === 'x64' ? 'amd64' : process.arch
