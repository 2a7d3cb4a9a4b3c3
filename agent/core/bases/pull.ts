import type { ImageReference, ImageRegistry, RemoteImage } from '../../ports/bases/image-registry.ts'
import type { FilesPlace } from '../../ports/files/files.ts'
import { type BaseImageDeps, type ImageRun, spoolImage } from './image.ts'
import { formatImageReference } from './image-reference.ts'
import { BASE_LIMITS } from './unpack.ts'

export interface BasePullDeps extends BaseImageDeps {
  registry: ImageRegistry
}

/**
 * Brings an image of a registry into a new subvolume `spool`, for `unpackImage` to find; and how a base of it tells where it is from.
 * @throws ServiceError as the registry does, and `storage_full`
 */
export async function pullImage(
  deps: BasePullDeps,
  { reference, spool }: { reference: ImageReference; spool: string },
  { signal, progress }: ImageRun,
): Promise<{ place: FilesPlace; source: string }> {
  const wish = { architecture: deps.architecture, mostBytes: BASE_LIMITS.unpackedBytes, signal }
  const image = await deps.registry.find(reference, wish)
  try {
    const place = await spoolImage(deps, spool, watched(image, progress))
    return { place, source: `oci:${formatImageReference(reference, image.digest)}` }
  } finally {
    image.close()
  }
}

async function* watched(image: RemoteImage, progress: (share: number) => void): AsyncGenerator<Uint8Array> {
  let bytes = 0
  for await (const piece of image.archive()) {
    bytes += piece.length
    // The headers of the archive are not in its size.
    progress(Math.min(1, bytes / Math.max(1, image.sizeBytes)))
    yield piece
  }
}
