import { timestamp } from '../../../shared/time.ts'
import type { OwnerUsage, Storage, StorageReport } from '../../core/health/storage-report.ts'
import type { Scrub } from '../../ports/pool/condition.ts'
import type { SubvolumeUsage } from '../../ports/pool/cow-filesystem.ts'
import type { Handlers } from '../common/call.ts'

/** Handles the report of storage, and scrubs. */
export function createSpaceHandlers(storage: Storage): Pick<Handlers, 'getStorage' | 'startScrub'> {
  return {
    getStorage: async ({ caller }) => ({
      body: viewReport(await storage.report(caller), { isWhole: caller.projects === '*' }),
    }),
    startScrub: async () => ({ body: viewScrub(await storage.scrub()) }),
  }
}

// Only tokens of all projects see what projects share, because it reveals what others do.
function viewReport(
  { capacity, condition, boxes, volumes, bases, projects, orphans, deleting }: StorageReport,
  { isWhole }: { isWhole: boolean },
) {
  const { data, metadata, deviceErrors, scrub } = condition
  return {
    pool: !isWhole
      ? null
      : {
          total_bytes: capacity.totalBytes,
          used_bytes: capacity.usedBytes,
          available_bytes: capacity.availableBytes,
          data: { total_bytes: data.totalBytes, used_bytes: data.usedBytes },
          metadata: { total_bytes: metadata.totalBytes, used_bytes: metadata.usedBytes },
          device_errors: { ...deviceErrors },
        },
    boxes: boxes.map(viewOwner),
    volumes: volumes.map(viewOwner),
    bases: bases.map(({ project, name, usage }) => ({ project, name, ...viewUsage(usage) })),
    projects: projects.map(({ project, storedBytes }) => ({ project, stored_bytes: storedBytes })),
    orphans: isWhole ? orphans.map(({ subvolume, usage }) => ({ subvolume, ...viewUsage(usage) })) : [],
    deleting: isWhole ? deleting : null,
    scrub: isWhole && scrub ? viewScrub(scrub) : null,
  }
}

function viewOwner({ project, name, usage, snapshots }: OwnerUsage) {
  return {
    project,
    name,
    ...viewUsage(usage),
    snapshots: snapshots.map((snapshot) => ({ name: snapshot.name, ...viewUsage(snapshot.usage) })),
  }
}

function viewUsage(usage: SubvolumeUsage | null) {
  return { size_bytes: usage?.sizeBytes ?? null, unique_bytes: usage?.uniqueBytes ?? null }
}

function viewScrub({ status, startedAt, endedAt, checkedBytes, errors }: Scrub) {
  return {
    status,
    started_at: timestamp(startedAt),
    ended_at: endedAt === null ? null : timestamp(endedAt),
    checked_bytes: checkedBytes,
    errors,
  }
}
