import { MOUNT_BRIEF, VOLUME_BRIEF } from './briefs.ts'
import type { PlainVerb } from './plain.ts'
import { hidingRemark, remarkKept } from './remarks.ts'

/** The field of lists by name. */
export const PREFIX = 'prefix only names that begin so'

/** The columns of snapshots, of boxes and of volumes. */
export const SNAPSHOT_COLUMNS = ['name', 'automatic', 'comment', 'size_bytes', 'created_at', 'id']

/** The verbs of volumes and backups that are one operation each. */
export const VOLUME_ROWS: readonly PlainVerb[] = [
  {
    words: 'volume create',
    operation: 'createVolume',
    args: '<volume=name>',
    fields: [
      'size_gb:gib its size, such as 20g; a number is GiB (10)',
      'from a volume to copy, as it is now',
      'from_snapshot a snapshot of that volume to copy instead',
      'from_backup the id of a backup to restore',
      'tag=tags:map its tags',
    ],
    examples: ['boxyard volume create db --size-gb 5g', 'boxyard volume create try --from db'],
    brief: VOLUME_BRIEF,
  },
  {
    words: 'volume ls',
    operation: 'listVolumes',
    fields: [PREFIX, 'tag:tags only with these tags, KEY or KEY=VALUE'],
    whenEmpty: 'There are none: boxyard volume create NAME',
  },
  { words: 'volume info', operation: 'getVolume', args: '<volume=name>' },
  { words: 'volume rm', operation: 'deleteVolume', args: '<volume=name>' },
  {
    words: 'volume attach',
    operation: 'attachVolume',
    args: '<volume=name> <box> <path>',
    fields: ['read_only:flag as any number of boxes may have it'],
    brief: MOUNT_BRIEF,
    remark: (_answer, [, , path = '']) => hidingRemark(path),
  },
  { words: 'volume detach', operation: 'detachVolume', args: '<volume=name> <box>', brief: MOUNT_BRIEF },
  {
    words: 'volume snapshot create',
    operation: 'createVolumeSnapshot',
    args: '<volume=name> [snapshot=.name]',
    fields: ['comment why it was taken'],
  },
  {
    words: 'volume snapshot ls',
    operation: 'listVolumeSnapshots',
    args: '<volume=name>',
    fields: [PREFIX],
    columns: SNAPSHOT_COLUMNS,
    whenEmpty: 'There are none: boxyard volume snapshot create VOLUME [NAME]',
  },
  { words: 'volume snapshot info', operation: 'getVolumeSnapshot', args: '<volume=name> <snapshot>' },
  { words: 'volume snapshot rm', operation: 'deleteVolumeSnapshot', args: '<volume=name> <snapshot>' },
  {
    words: 'volume snapshot restore',
    operation: 'restoreVolume',
    args: '<volume=name> <snapshot>',
    brief: VOLUME_BRIEF,
    remark: remarkKept('listVolumeSnapshots', 'boxyard volume snapshot restore'),
  },
  { words: 'backup create', operation: 'createBackup', args: '<volume=name>' },
  {
    words: 'backup ls',
    operation: 'listBackups',
    args: '<volume=name>',
    whenEmpty: 'There are none: boxyard backup create VOLUME',
  },
  { words: 'backup stored', operation: 'listStoredBackups' },
  { words: 'backup info', operation: 'getBackup', args: '<volume=name> <backup>' },
  { words: 'backup rm', operation: 'deleteBackup', args: '<volume=name> <backup>' },
  {
    words: 'backup restore',
    operation: 'restoreBackup',
    args: '<volume=name> <backup>',
    fields: ['as a new volume of this name; the volume itself, if left out'],
  },
  {
    words: 'backup schedule',
    operation: 'updateBackupSchedule',
    args: '<volume=name>',
    fields: [
      'interval_seconds:seconds between two backups, such as 12h',
      'keep_count:number how many are kept',
      'keep_seconds:seconds how long one is kept, such as 30d',
    ],
  },
]
