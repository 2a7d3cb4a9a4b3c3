import type { CowFilesystem } from '../../ports/pool/cow-filesystem.ts'
import type { Handlers } from './call.ts'

/**
 * Wraps the handlers that write to the pool, to refuse before they begin while it is read-only. Deletions pass: they are recorded,
 * and carried out once the pool is writable.
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
