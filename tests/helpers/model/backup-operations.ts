import { type Chance, pickSnapshot } from './snapshot-operations.ts'
import type { Model } from './state.ts'

/** A user's operations on backups and on the project's bases, as plain data. Identifies a backup by its key in the model. */
export type BackupOperation =
  | { kind: 'backUp'; volume: string }
  | { kind: 'createFromBackup'; name: string; backup: number }
  | { kind: 'restoreOver'; volume: string; backup: number }
  | { kind: 'dropBackup'; of: string; backup: number }
  | { kind: 'createBase'; name: string; box: string; snapshot?: string }
  | { kind: 'deleteBase'; base: string }

/** Draws an operation of a kind, on that box or that volume. A new volume gets `name`. */
export function drawOfBackups(
  draw: Chance,
  model: Model,
  { kind, box, volume, name }: { kind: BackupOperation['kind']; box: string; volume: string; name: string },
): BackupOperation {
  const { pick, chance } = draw
  // Sometimes picks a backup that no longer exists.
  const known = chance(0.93) ? pick(model.backups) : undefined
  const backup = known?.key ?? Math.floor(chance(0.5) ? model.backupsMade / 2 : 0)
  switch (kind) {
    case 'backUp':
      return { kind, volume }
    case 'createFromBackup':
    case 'dropBackup':
    case 'restoreOver':
      if (model.backupsMade === 0) return { kind: 'backUp', volume }
      if (kind === 'createFromBackup') return { kind, name, backup }
      if (kind === 'dropBackup') return { kind, of: known?.volume ?? volume, backup }
      return { kind, volume: known?.volume ?? volume, backup }
    case 'createBase': {
      const base = pick(BASES)
      if (chance(0.5)) return { kind, name: base, box }
      return { kind, name: base, box, snapshot: pickSnapshot(draw, model.boxes.get(box)) }
    }
    case 'deleteBase':
      return { kind, base: pick(BASES) }
  }
}

/** Returns true for operations on backups and bases. */
export function isOfBackups(operation: { kind: string }): operation is BackupOperation {
  return BACKUP_KINDS.some((kind) => kind === operation.kind)
}

/** Names of all bases that operations use. */
export const BASES: readonly string[] = ['den', 'hut']

/** Kinds of operations, weighted by repetition. */
export const BACKUP_KINDS: readonly BackupOperation['kind'][] = [
  ...(['backUp', 'backUp', 'backUp', 'backUp', 'createFromBackup', 'createFromBackup'] as const),
  ...(['restoreOver', 'restoreOver', 'restoreOver', 'restoreOver', 'dropBackup', 'dropBackup'] as const),
  ...(['createBase', 'createBase', 'createBase', 'deleteBase'] as const),
]
