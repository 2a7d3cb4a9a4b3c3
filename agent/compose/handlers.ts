import { createQuotas } from '../core/access/quotas.ts'
import { type Boxes, createBoxes } from '../core/boxes/boxes.ts'
import { createBoxRestore } from '../core/boxes/restore.ts'
import { createSnapshotDiff } from '../core/boxes/snapshot-diff.ts'
import { createBoxSnapshots } from '../core/boxes/snapshots.ts'
import { createAdmission } from '../core/common/admission.ts'
import { routedBoxes } from '../core/edge/routed-boxes.ts'
import { createConsoles } from '../core/exec/consoles.ts'
import { createStorage } from '../core/health/storage-report.ts'
import { createOperations } from '../core/operations/operations.ts'
import { createLinuxHost } from '../drivers/host/facts.ts'
import { createQuotaHandlers } from '../handlers/access/quotas.ts'
import { createTicketHandlers } from '../handlers/access/tickets.ts'
import { createTokenHandlers } from '../handlers/access/tokens.ts'
import { createBoxHandlers } from '../handlers/boxes/boxes.ts'
import { createBoxReplies } from '../handlers/boxes/replies.ts'
import { createBoxSnapshotHandlers } from '../handlers/boxes/snapshots.ts'
import type { Handlers, StreamHandlers } from '../handlers/common/call.ts'
import { guardPool } from '../handlers/common/pool-guard.ts'
import { createHistoryHandlers } from '../handlers/events/events.ts'
import { createExecHandlers, createSessionHandlers, createStreamHandlers } from '../handlers/exec/exec.ts'
import { createFileHandlers } from '../handlers/files/files.ts'
import { createFileReadHandlers } from '../handlers/files/reads.ts'
import { createSpaceHandlers } from '../handlers/health/space.ts'
import { createSystemHandlers } from '../handlers/health/system.ts'
import type { Store } from '../ports/store/store.ts'
import type { Drivers } from './drivers.ts'
import { publishedLimits } from './limits.ts'
import type { HandlerParts } from './parts.ts'
import { wireServices } from './services.ts'
import { wireStorage } from './storage.ts'

/** Wires the core and gives a handler for each operation, and the boxes that they speak of. */
export function wireHandlers(parts: HandlerParts): { handlers: Handlers; streams: StreamHandlers; boxes: Boxes } {
  const { settings, deployment, drivers, reconciler, execs, tickets, dataUrl, clock, version } = parts
  const { store, tokens } = deployment
  const defaults = {
    base: settings.defaultBase,
    config: { cpus: 1, ram_mb: 512, region: settings.region, storage_gb: 10 },
    gracePeriodSeconds: 10,
    volumeSizeGb: 10,
  }
  const { filesystem, runtime, files } = drivers
  const admission = createAdmission({ store, host: createLinuxHost(), limits: settings.limits })
  const shared = { store, filesystem, runtime, reconciler, clock, admission, defaults }
  const boxes = routedBoxes(createBoxes(shared), parts.edge.routes)
  const consoles = createConsoles({ runtime, clock, activity: parts.activity })
  const underWay = createOperations({ store, reconciler, jobs: parts.jobs, clock })
  const node = settings.runtime === 'kubernetes' ? settings.kubernetes.node : settings.region
  const replies = createBoxReplies({ operations: underWay, node, address: parts.edge.address })
  const handlers = {
    ...createSystemHandlers({
      store,
      version,
      drivers: kindsOf(drivers, store),
      defaults,
      limits: publishedLimits(settings),
      health: parts.health,
    }),
    ...createTokenHandlers({ tokens, operations: underWay }),
    ...createBoxHandlers({ ...shared, boxes, replies, limits: settings.limits }),
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

    ...createTicketHandlers({ boxes, tickets, dataUrl }),
    ...wireStorage(parts, { ...shared, boxes, replies, operations: underWay }),
    ...createSpaceHandlers(createStorage(shared)),
    ...{ ...createQuotaHandlers({ quotas: createQuotas({ store, clock }) }), ...createHistoryHandlers(parts) },
  }
  return { handlers: guardPool(handlers, filesystem), streams: createStreamHandlers({ boxes, execs, consoles }), boxes }
}

function kindsOf({ runtime, filesystem, backupStore }: Drivers, store: Store) {
  return { runtime: runtime.kind, filesystem: filesystem.kind, store: store.kind, backups: backupStore.kind }
}
