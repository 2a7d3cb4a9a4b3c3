import { ServiceError } from '../../../shared/errors.ts'
import { createLimiter } from '../../../shared/locks.ts'
import type { Logger } from '../../../shared/log.ts'
import type { BoxShares } from '../../ports/boxes/limits.ts'
import type { BoxMount, Runtime } from '../../ports/boxes/runtime.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { CowFilesystem } from '../../ports/pool/cow-filesystem.ts'
import type { BoxRecord } from '../../ports/store/boxes.ts'
import type { Store } from '../../ports/store/store.ts'
import { bumped } from '../common/edit-record.ts'
import { bytesOf } from '../common/sizes.ts'
import { boxMountOf, limitsOf, unlessEnded } from './box-spec.ts'
import type { BoxProcesses } from './processes.ts'

export interface VerifierDeps {
  store: Store
  clock: Clock
  runtime: Runtime
  filesystem: CowFilesystem
  logger: Logger
  processes: Pick<BoxProcesses, 'isRunning' | 'running'>
  limits: BoxShares
}

/** Brings running boxes to their records, where an interrupted step may have left other mounts or limits. */
export interface StateVerifier {
  /**
   * Brings all volumes and boxes to their records, before any request is served. The first command must find the data in its place. Marks
   * the boxes for which that must be tried again.
   */
  recover(): Promise<void>
  /** Marks a box whose mounts or limits may differ from its record. */
  mark(boxId: string): void
  /** Removes the mark of a box that was started from its record. */
  clear(boxId: string): void
  /** Brings a box that is marked and runs to its record, and removes the mark. Rejects if it must be tried again. */
  verify(record: BoxRecord): Promise<void>
}

/** Marks none so far. Holds at most one mark for each box. */
export function createStateVerifier(deps: VerifierDeps): StateVerifier {
  const { processes } = deps
  const marked = new Set<string>()
  return {
    recover: async () => {
      for (const boxId of await restoreBoxes(deps)) marked.add(boxId)
    },
    mark: (boxId) => void marked.add(boxId),
    clear: (boxId) => void marked.delete(boxId),
    verify: async (record) => {
      if (marked.has(record.id) && processes.isRunning(record.id)) await verifyBox(deps, record)
      marked.delete(record.id)
    },
  }
}

async function verifyBox(deps: VerifierDeps, record: BoxRecord): Promise<void> {
  const { runtime, filesystem, logger, limits } = deps
  await filesystem.setQuota(record.root, bytesOf(record.config.storage_gb))
  await unlessEnded(verifyMounts(deps, record))
  try {
    await unlessEnded(runtime.resize(record.id, limitsOf(record, limits)))
  } catch (error) {
    // The box uses more memory than the record allows by now, so it keeps its limits until its next start.
    if (!(error instanceof ServiceError) || error.code !== 'below_use') throw error
    logger.warn('limits of a running box are below its use', { box: record.id, error })
  }
}

/** Returns the ids of the running boxes for which it must be tried again. */
async function restoreBoxes(deps: VerifierDeps): Promise<string[]> {
  const { store, logger, processes } = deps
  const roots: { name: string; sizeGb: number }[] = []
  for await (const { id, root, config } of store.boxes.each())
    if (!processes.isRunning(id)) roots.push({ name: root, sizeGb: config.storage_gb })
  const volumes = (await store.volumes.all()).map(({ subvolume, sizeGb }) => ({ name: subvolume, sizeGb }))
  await Promise.all([...volumes, ...roots].map((tree) => restoreQuota(deps, tree)))
  const failed: string[] = []
  const verify = async (boxId: string): Promise<void> => {
    try {
      const record = await store.boxes.byId(boxId)
      // A box that is being restored may run with its new data. It is ended first, because its old data is sealed.
      if (record !== null && record.restore === null) await verifyBox(deps, record)
    } catch (error) {
      logger.error('a running box differs from its record', { box: boxId, error })
      failed.push(boxId)
    }
  }
  const turns = createLimiter(VERIFIED_AT_ONCE)
  const running = processes.running()
  await Promise.all([...running].map((boxId) => turns.run(() => verify(boxId))))
  return failed
}

async function restoreQuota(
  { filesystem, logger }: VerifierDeps,
  { name, sizeGb }: { name: string; sizeGb: number },
): Promise<void> {
  try {
    await filesystem.setQuota(name, bytesOf(sizeGb))
  } catch (error) {
    // A missing subvolume is reported where it is used.
    logger.error('failed to set the quota of a subvolume', { subvolume: name, error })
  }
}

async function verifyMounts(deps: VerifierDeps, record: BoxRecord): Promise<void> {
  const { runtime, filesystem, logger } = deps
  const wanted = record.mounts.map((mount) => boxMountOf(mount, filesystem))
  const mounted = await runtime.mounts(record.id)
  for (const mount of mounted) {
    if (!wanted.some((each) => isSame(each, mount))) {
      logger.warn('detaching a volume that is not in the record of its box', { box: record.id, path: mount.path })
      await runtime.detach(record.id, mount.source)
    }
  }
  for (const [index, mount] of wanted.entries()) {
    if (mounted.some((each) => isSame(each, mount))) continue
    try {
      await runtime.attach(record.id, mount)
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'path_invalid') throw error
      return dropMount(deps, record, { volumeId: record.mounts[index]?.volumeId, error })
    }
  }
}

// Removes an attachment that cannot be made, and whose request was cut off before its answer.
async function dropMount(
  { store, clock, logger }: VerifierDeps,
  record: BoxRecord,
  { volumeId, error }: { volumeId: string | undefined; error: ServiceError },
): Promise<void> {
  logger.warn('failed to complete an interrupted attach', { box: record.id, volume: volumeId, error })
  const mounts = record.mounts.filter((mount) => mount.volumeId !== volumeId)
  await store.boxes.replaceMounts(bumped({ ...record, mounts }, clock.now()))
  throw new Error('The mounts of the box have changed: they are looked at again.')
}

// Compares no paths, because a box may have renamed a directory above the mount.
function isSame(a: BoxMount, b: BoxMount): boolean {
  return a.source === b.source && a.readOnly === b.readOnly
}

// Each holds a record, which may be long.
const VERIFIED_AT_ONCE = 64
