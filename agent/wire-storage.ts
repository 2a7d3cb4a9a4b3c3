import type { Admission } from './core/admission.ts'
import { createAttachments } from './core/attachments.ts'
import { createBackupRestore } from './core/backup-restore.ts'
import { createRestoreOver } from './core/backup-restore-over.ts'
import { createBaseSizes } from './core/base-sizes.ts'
import type { BoxDefaults } from './core/box-create.ts'
import type { Boxes } from './core/boxes.ts'
import type { Operations } from './core/operations.ts'
import { createBases } from './core/project-bases.ts'
import { createVolumeSnapshots } from './core/volume-snapshots.ts'
import { createVolumes } from './core/volumes.ts'
import type { HandlerParts } from './handler-parts.ts'
import { createBackupHandlers, createFromBackup } from './handlers/backups.ts'
import { createBaseHandlers } from './handlers/bases.ts'
import type { BoxReplies } from './handlers/box-replies.ts'
import type { Handlers } from './handlers/call.ts'
import { createVolumeSnapshotHandlers } from './handlers/volume-snapshots.ts'
import { createVolumeHandlers } from './handlers/volumes.ts'

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
  const restores = { restore: createBackupRestore(restoring), restoreOver: createRestoreOver(restoring) }
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
