import type { AnswerOf } from '../../sdk/typescript/src/calls.ts'
import { MOUNT_BRIEF, VOLUME_BRIEF } from './briefs.ts'
import type { PlainVerb } from './plain.ts'
import { hidingRemark, remarkKept } from './remarks.ts'

/** The field of lists by name. */
export const PREFIX = 'prefix only names with this prefix'

/** The columns of snapshots, both of boxes and of volumes. */
export const SNAPSHOT_COLUMNS = ['name', 'automatic', 'comment', 'size_bytes', 'created_at', 'id']

/** Columns of volumes. */
const VOLUME_COLUMNS = ['name', 'size_gb', 'used_bytes', 'attached', 'created_at', 'id']

/** Adds to each volume where it is attached, such as `web:/srv/db` or `web:/srv/db:ro`. A pure function. */
export function volumeRows(answer: unknown): object[] {
  const { volumes } = answer as AnswerOf<'listVolumes'>
  return volumes.map((volume) => ({
    ...volume,
    attached: volume.attachments.map(
      ({ box, path, read_only: isReadOnly }) => `${box}:${path}${isReadOnly ? ':ro' : ''}`,
    ),
  }))
}

/** Ways on if a command of backups does not find its volume. */
const BACKUP_WAYS = {
  volume_not_found:
    'To list the backups of deleted volumes: boxyard backup stored. To restore one: boxyard volume create NAME --from-backup BACKUP',
}

/** The commands of volumes and backups that are one operation each. */
export const VOLUME_ROWS: readonly PlainVerb[] = [
  {
    words: 'volume create',
    operation: 'createVolume',
    args: '<volume=name>',
    fields: [
      'size_gb:gib size, such as 20g (a plain number is GiB, default 10)',
      'from volume to copy',
      'from_snapshot snapshot of that volume to copy instead',
      'from_backup id of a backup to restore',
      'tag=tags:map tags',
    ],
    examples: ['boxyard volume create db --size-gb 5g', 'boxyard volume create try --from db'],
    brief: VOLUME_BRIEF,
  },
  {
    words: 'volume ls',
    operation: 'listVolumes',
    fields: [PREFIX, 'tag:tags only volumes with these tags, KEY or KEY=VALUE'],
    columns: VOLUME_COLUMNS,
    forPeople: volumeRows,
    whenEmpty: 'No volumes yet. To create one: boxyard volume create NAME',
  },
  { words: 'volume info', operation: 'getVolume', args: '<volume=name>' },
  { words: 'volume rm', operation: 'deleteVolume', args: '<volume=name>', deletes: 'getVolume' },
  {
    words: 'volume attach',
    operation: 'attachVolume',
    args: '<volume=name> <box> <path>',
    fields: ['read_only:flag mount it read-only (any number of boxes can share it)'],
    brief: MOUNT_BRIEF,
    remark: (_answer, [, , path = '']) => hidingRemark(path),
  },
  { words: 'volume detach', operation: 'detachVolume', args: '<volume=name> <box>', brief: MOUNT_BRIEF },
  {
    words: 'volume snapshot create',
    operation: 'createVolumeSnapshot',
    args: '<volume=name> [snapshot=.name]',
    fields: ['comment your note about it'],
  },
  {
    words: 'volume snapshot ls',
    operation: 'listVolumeSnapshots',
    args: '<volume=name>',
    fields: [PREFIX],
    columns: SNAPSHOT_COLUMNS,
    whenEmpty: 'No snapshots yet. To create one: boxyard volume snapshot create VOLUME [NAME]',
  },
  { words: 'volume snapshot info', operation: 'getVolumeSnapshot', args: '<volume=name> <snapshot>' },
  {
    words: 'volume snapshot rm',
    operation: 'deleteVolumeSnapshot',
    args: '<volume=name> <snapshot>',
    deletes: 'getVolumeSnapshot',
  },
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
    ways: BACKUP_WAYS,
    whenEmpty: 'No backups yet. To create one: boxyard backup create VOLUME',
  },
  {
    words: 'backup stored',
    operation: 'listStoredBackups',
    columns: ['id', 'volume', 'status', 'automatic', 'size_gb', 'size_bytes', 'created_at'],
    whenEmpty: 'No backups yet. To create one: boxyard backup create VOLUME',
  },
  { words: 'backup info', operation: 'getBackup', args: '<volume=name> <backup>' },
  { words: 'backup rm', operation: 'deleteBackup', args: '<volume=name> <backup>', deletes: 'getBackup' },
  {
    words: 'backup restore',
    operation: 'restoreBackup',
    args: '<volume=name> <backup>',
    ways: BACKUP_WAYS,
    fields: ['as restore as a new volume with this name (default: replace the volume)'],
  },
  {
    words: 'backup schedule',
    operation: 'updateBackupSchedule',
    args: '<volume=name>',
    fields: [
      'interval|interval_seconds:span time between two backups, such as 12h, or never (ends the schedule)',
      'keep_count:count number of backups to keep, or all',
      'keep_seconds:span time to keep a backup, such as 30d, or forever',
    ],
    examples: [
      'boxyard backup schedule db --interval 12h --keep-count 14',
      'boxyard backup schedule db --interval never',
    ],
  },
]
