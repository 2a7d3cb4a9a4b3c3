import { ServiceError } from '../../../shared/errors.ts'
import type { Logger } from '../../../shared/log.ts'
import type { BoxMount, Runtime } from '../../ports/boxes/runtime.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { CowFilesystem } from '../../ports/pool/cow-filesystem.ts'
import type { BoxRecord, Store } from '../../ports/store/store.ts'
import { bytesOf } from '../common/sizes.ts'
import { boxMountOf, unlessEnded } from './box-start.ts'

export interface VerifyDeps {
  store: Store
  clock: Clock
  runtime: Runtime
  filesystem: CowFilesystem
  logger: Logger
}

/**
 * Brings the mounts and limits of a running box to what its record says: a step that changed one of them may have been
 * cut off. Rejects if it must be tried again.
 */
export async function verifyBox(deps: VerifyDeps, record: BoxRecord): Promise<void> {
  const { runtime, filesystem, logger } = deps
  await filesystem.setQuota(record.root, bytesOf(record.config.storage_gb))
  await unlessEnded(verifyMounts(deps, record))
  try {
    const { cpus, ram_mb: ramMb } = record.config
    await unlessEnded(runtime.resize(record.id, { cpus, ramMb }))
  } catch (error) {
    // It has taken more meanwhile than it should have: it keeps that until it is started anew.
    if (!(error instanceof ServiceError) || error.code !== 'below_use') throw error
    logger.warn('limits of a running box are below its use', { box: record.id, error })
  }
}

/**
 * Brings volumes and boxes to what their records say, before anybody is served: a command that comes first must find the
 * data in its place. Returns the ids of the `running` boxes of which that must be tried again.
 */
export async function restoreBoxes(deps: VerifyDeps, running: ReadonlySet<string>): Promise<string[]> {
  const { store, logger } = deps
  const boxes = await store.boxes.all()
  const volumes = (await store.volumes.all()).map(({ subvolume, sizeGb }) => ({ name: subvolume, sizeGb }))
  const stopped = boxes.filter(({ id }) => !running.has(id))
  const roots = stopped.map(({ root, config }) => ({ name: root, sizeGb: config.storage_gb }))
  await Promise.all([...volumes, ...roots].map((tree) => restoreQuota(deps, tree)))
  const failed: string[] = []
  const verify = async (record: BoxRecord): Promise<void> => {
    try {
      await verifyBox(deps, record)
    } catch (error) {
      logger.error('a running box is not what its record says', { box: record.id, error })
      failed.push(record.id)
    }
  }
  await Promise.all(boxes.filter(({ id }) => running.has(id)).map(verify))
  return failed
}

async function restoreQuota(
  { filesystem, logger }: VerifyDeps,
  { name, sizeGb }: { name: string; sizeGb: number },
): Promise<void> {
  try {
    await filesystem.setQuota(name, bytesOf(sizeGb))
  } catch (error) {
    // One that is missing is told of where it is used.
    logger.error('the quota of a subvolume could not be set', { subvolume: name, error })
  }
}

async function verifyMounts(deps: VerifyDeps, record: BoxRecord): Promise<void> {
  const { runtime, filesystem, logger } = deps
  const wanted = record.mounts.map((mount) => boxMountOf(mount, filesystem))
  const there = await runtime.mounts(record.id)
  for (const mount of there) {
    if (!wanted.some((each) => isSame(each, mount))) {
      logger.warn('a volume that the record does not know is taken out of a box', { box: record.id, path: mount.path })
      await runtime.detach(record.id, mount.source)
    }
  }
  for (const [place, mount] of wanted.entries()) {
    if (there.some((each) => isSame(each, mount))) continue
    try {
      await runtime.attach(record.id, mount)
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'path_invalid') throw error
      return dropMount(deps, record, { volumeId: record.mounts[place]?.volumeId, error })
    }
  }
}

// What was mounted once stays so while the box runs: this was asked for, cannot be, and nobody was told that it is.
async function dropMount(
  { store, clock, logger }: VerifyDeps,
  record: BoxRecord,
  { volumeId, error }: { volumeId: string | undefined; error: ServiceError },
): Promise<void> {
  logger.warn('an attachment that was cut off cannot be made', { box: record.id, volume: volumeId, error })
  const mounts = record.mounts.filter((mount) => mount.volumeId !== volumeId)
  await store.boxes.replaceMounts({ ...record, mounts, version: record.version + 1, updatedAt: clock.now() })
  throw new Error('The mounts of the box have changed: they are looked at again.')
}

// Its path may be another by now: a box may rename a directory above it.
function isSame(a: BoxMount, b: BoxMount): boolean {
  return a.source === b.source && a.readOnly === b.readOnly
}
