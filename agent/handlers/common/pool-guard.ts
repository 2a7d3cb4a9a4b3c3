import type { StorageBounds } from '../../core/common/storage-bounds.ts'
import type { CowFilesystem } from '../../ports/pool/cow-filesystem.ts'
import type { Handlers } from './call.ts'

export interface PoolGuardDeps {
  filesystem: Pick<CowFilesystem, 'checkWritable'>
  bounds: Pick<StorageBounds, 'checkRoom' | 'explaining'>
}

/**
 * Wraps the handlers that write to the pool. While it is read-only, they refuse before they begin. Those that create something also
 * refuse while the project is at its limit, which then explains a full disk. Deletions pass. They are recorded, and carried out once the
 * pool is writable.
 */
export function guardPool<H extends Partial<Handlers>>(handlers: H, { filesystem, bounds }: PoolGuardDeps): H {
  const guarded = (Object.keys(WRITERS) as (keyof typeof WRITERS)[]).flatMap((id) => {
    const handle = handlers[id] as ((call: ProjectCall) => Promise<unknown>) | undefined
    if (handle === undefined) return []
    const checked = async (call: ProjectCall): Promise<unknown> => {
      const { project } = call.params
      await filesystem.checkWritable()
      if (WRITERS[id] === 'makes') await bounds.checkRoom(project)
      return bounds.explaining(project, () => handle(call))
    }
    return [[id, checked] as const]
  })
  return { ...handlers, ...Object.fromEntries(guarded) }
}

interface ProjectCall {
  params: { project: string }
}

/**
 * Creates something, or writes into it. A base may belong to all projects and a deploy may need no disk, so these two check themselves. A
 * backup of a project at its limit lets it delete something.
 */
const WRITERS = {
  createBox: 'makes',
  createBoxSnapshot: 'makes',
  restoreBox: 'makes',
  createVolume: 'makes',
  createVolumeSnapshot: 'makes',
  restoreVolume: 'makes',
  restoreBackup: 'makes',
  deployService: 'writes',
  attachVolume: 'writes',
  createBase: 'writes',
  createBackup: 'writes',
  writeFile: 'writes',
  deleteFile: 'writes',
  moveFile: 'writes',
  makeDirectory: 'writes',
  restoreFile: 'writes',
  writeArchive: 'writes',
} as const satisfies Partial<Record<keyof Handlers, 'makes' | 'writes'>>
