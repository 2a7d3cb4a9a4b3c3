import { createBackupRestore } from '../core/backups/restore.ts'
import { createBases } from '../core/bases/bases.ts'
import { createBaseSizes } from '../core/bases/measure.ts'
import type { Boxes } from '../core/boxes/boxes.ts'
import type { BoxDefaults } from '../core/boxes/create.ts'
import type { Admission } from '../core/common/admission.ts'
import type { Operations } from '../core/operations/operations.ts'
import { createAttachments } from '../core/volumes/attachments.ts'
import { createVolumeSnapshots } from '../core/volumes/snapshots.ts'
import { createVolumes } from '../core/volumes/volumes.ts'
import { createBackupHandlers, createFromBackup } from '../handlers/backups/backups.ts'
import { createBaseHandlers } from '../handlers/bases/bases.ts'
import type { BoxReplies } from '../handlers/boxes/replies.ts'
import type { Handlers } from '../handlers/common/call.ts'
import { createVolumeSnapshotHandlers } from '../handlers/volumes/snapshots.ts'
import { createVolumeHandlers } from '../handlers/volumes/volumes.ts'
import type { HandlerParts } from './parts.ts'

type StorageOperations = ReturnType<typeof createVolumeHandlers> &
  ReturnType<typeof createBackupHandlers> &
  ReturnType<typeof createVolumeSnapshotHandlers> &
  ReturnType<typeof createBaseHandlers>

/** What storage has in common with boxes. */
export interface StorageParts {
  boxes: Boxes
  replies: BoxReplies
  admission: Admission
  operations: Operations
  defaults: BoxDefaults & { volumeSizeGb: number }
}

/** Wires data volumes, their snapshots and backups, and bases. */
export function wireStorage(
  { deployment, drivers, settings, reconciler, jobs, clock, logger, ...parts }: HandlerParts,
  { boxes, replies, admission, operations, defaults }: StorageParts,
): Pick<Handlers, keyof StorageOperations> {
  const { store } = deployment
  const { filesystem, runtime, files, backupStore, registry } = drivers
  const shared = { store, filesystem, runtime, reconciler, clock, logger, admission, defaults, boxes }
  const volumes = createVolumes(shared)
  const attachments = createAttachments(shared)
  const restoring = { ...shared, ...parts.backups, backupStore, jobs }
  const restores = { restore: createBackupRestore(restoring) }
  const backing = { ...parts.backups, ...restores, volumes, operations }
  const sizes = createBaseSizes({ store, filesystem, logger })
  sizes.countAll()
  const bases = createBases({ ...shared, files, sizes, jobs, registry, architecture: ARCHITECTURE })
  const volumeSnapshots = createVolumeSnapshots({ ...shared, limits: settings.limits })
  return {
    ...createVolumeHandlers({ volumes, attachments, replies, createFromBackup: createFromBackup(backing) }),
    ...createBackupHandlers(backing),
    ...createVolumeSnapshotHandlers({ ...shared, volumes, volumeSnapshots }),
    ...createBaseHandlers({ bases, operations }),
  }
}

// As images name it.
const ARCHITECTURE = process.arch === 'x64' ? 'amd64' : process.arch
