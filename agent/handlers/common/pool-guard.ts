import type { CowFilesystem } from '../../ports/pool/cow-filesystem.ts'
import type { Handlers } from './call.ts'

/**
 * The handlers, of which those that write to the pool refuse before they begin anything while nothing can be written. What takes
 * away is let through: it is noted, and done once it can be.
 */
export function guardPool<H extends Partial<Handlers>>(
  handlers: H,
  { checkWritable }: Pick<CowFilesystem, 'checkWritable'>,
): H {
  const guarded = WRITERS.flatMap((id) => {
    const handle = handlers[id] as ((call: never) => Promise<unknown>) | undefined
    if (handle === undefined) return []
    const checked = async (call: never): Promise<unknown> => {
      await checkWritable()
      return handle(call)
    }
    return [[id, checked] as const]
  })
  return { ...handlers, ...Object.fromEntries(guarded) }
}

const WRITERS: readonly (keyof Handlers)[] = [
  'createBox',
  'createBoxSnapshot',
  'restoreBox',
  'createVolume',
  'createVolumeSnapshot',
  'restoreVolume',
  'attachVolume',
  'createBase',
  'createBackup',
  'restoreBackup',
  'writeFile',
  'deleteFile',
  'moveFile',
  'makeDirectory',
  'restoreFile',
  'writeArchive',
]
