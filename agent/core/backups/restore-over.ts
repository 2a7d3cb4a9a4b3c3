import type { Caller } from '../common/caller.ts'
import { findVolume, type VolumeRef } from '../common/lookup.ts'
import { checkIfMatch } from '../common/preconditions.ts'
import type { Jobs } from '../operations/jobs.ts'
import { replaceData } from '../volumes/restore.ts'
import type { VolumeSwapDeps } from '../volumes/swap.ts'
import type { KnownBackup } from './backups.ts'
import type { BackupCatalog } from './catalog.ts'
import { type BackupRestoreDeps, checkSize, fillFromBackup } from './restore.ts'

export interface RestoreOverDeps extends VolumeSwapDeps, Pick<BackupRestoreDeps, 'backupStore'> {
  catalog: BackupCatalog
  jobs: Jobs
}

/** The volume that is to have what a backup held, for how long the client waits, and of which version of it. */
export interface RestoreOverOptions {
  ref: VolumeRef
  waitMs: number
  ifMatch: string | null
}

/** Restores over what is there. */
export interface RestoreOver {
  /**
   * Begins to give a volume the data of a backup, in all boxes that have it, once all of that was received; the id of the
   * operation. What the volume held becomes an automatic snapshot; whatever fails or is cut off leaves it as it was. Waits while
   * processes use the volume, for as long as the client does, and no less than half a minute where nobody waits any more.
   * @throws ServiceError `volume_not_found`, `precondition_failed`, `volume_too_small`, `backup_damaged` if a manifest is not
   * what it was
   */
  begin(caller: Caller, known: KnownBackup, wish: RestoreOverOptions): Promise<string>
}

/** Restores as jobs; what is cut off is destroyed by the next start of the service. */
export function createRestoreOver(deps: RestoreOverDeps): RestoreOver {
  const { store, catalog, jobs, clock } = deps
  return {
    begin: async (caller, known, { ref, waitMs, ifMatch }) => {
      const answerBy = clock.now() + waitMs
      const volume = await findVolume(store, ref)
      checkIfMatch(ifMatch, volume.version)
      const backup = 'record' in known ? known.record : known.stored
      const chain = await catalog.chain(backup)
      checkSize(chain, volume.sizeGb)
      const { project, name } = volume
      const wish = { project, resource: `/v1/projects/${project}/data/${name}`, requestId: caller.requestId }
      return jobs.start({ kind: 'backup.restore', ...wish }, (run) =>
        replaceData(deps, volume, {
          ...{ of: `backup:${backup.id}`, tokenId: caller.tokenId, signal: run.signal },
          fill: (subvolume, quotaBytes) => fillFromBackup(deps, { subvolume, quotaBytes }, { chain, run }),
          idleBy: () => idleBy(clock.now(), answerBy),
        }),
      )
    },
  }
}

// Whoever waits is to be told that the volume is busy, not that it will be seen.
function idleBy(now: number, answerBy: number): number {
  return now < answerBy ? answerBy - TELL_MS : now + UNWATCHED_MS
}

const TELL_MS = 500
const UNWATCHED_MS = 30_000
