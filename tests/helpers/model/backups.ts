import type { BackupOperation } from './backup-operations.ts'
import { copyOfTree, modelBoxOf, volumeOf } from './places.ts'
import { contentOf, emptyHistory, replaceVolume } from './snapshots.ts'
import type { Model } from './state.ts'

/** Works as `applyOperation`, for operations on backups and bases. `missing` has the codes of resources that do not exist. */
export function applyToBackups(
  model: Model,
  operation: BackupOperation,
  missing: readonly string[],
): readonly string[] {
  const faults = [...missing]
  const backup = 'backup' in operation ? model.backups.find(({ key }) => key === operation.backup) : null
  if (backup === undefined) faults.push('backup_not_found')
  switch (operation.kind) {
    case 'backUp': {
      if (faults.length > 0) return faults
      const { id, sizeGb, ...tree } = volumeOf(model, operation.volume)
      const key = model.backupsMade++
      model.backups.push({ key, volume: operation.volume, volumeId: id, sizeGb, tree: copyOfTree(tree) })
      return []
    }
    case 'createFromBackup':
      if (model.volumes.has(operation.name)) faults.push('name_taken')
      if (faults.length > 0 || !backup) return faults
      model.volumes.set(operation.name, {
        ...{ id: model.volumesMade++, from: `backup:#${backup.key}`, sizeGb: backup.sizeGb, tags: {} },
        ...{ history: emptyHistory(), ...copyOfTree(backup.tree) },
      })
      return []
    case 'restoreOver':
      // The path of a backup contains the name of its volume.
      if (backup && backup.volume !== operation.volume) faults.push('backup_not_found')
      return faults.length > 0 || !backup ? faults : replaceVolume(model, operation.volume, backup.tree)
    case 'dropBackup':
      if (backup && backup.volume !== operation.of) faults.push('backup_not_found')
      if (faults.length === 0) model.backups = model.backups.filter((each) => each !== backup)
      return faults
    case 'createBase':
    case 'deleteBase':
      return applyToBases(model, operation, faults)
  }
}

function applyToBases(
  model: Model,
  operation: Extract<BackupOperation, { kind: 'createBase' | 'deleteBase' }>,
  faults: string[],
): readonly string[] {
  if (operation.kind === 'deleteBase') return model.bases.delete(operation.base) ? [] : ['base_not_found']
  const { name, snapshot = null } = operation
  if (model.bases.has(name)) faults.push('name_taken')
  const tree = model.boxes.has(operation.box) ? contentOf(modelBoxOf(model, operation.box), snapshot) : null
  if (tree === undefined) faults.push('snapshot_not_found')
  if (faults.length > 0 || !tree) return faults
  model.bases.set(name, { id: model.basesMade++, files: new Map(tree.files) })
  return []
}
