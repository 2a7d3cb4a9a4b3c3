import type { Files, FilesPlace, UnpackReport } from '../../ports/files/files.ts'
import type { CowFilesystem } from '../../ports/pool/cow-filesystem.ts'
import { decompress } from './decompress.ts'
import { findLayers, type ImageDirectory, layerBytes } from './image-layout.ts'
import { BASE_LIMITS, checkRoot, makeTree } from './unpack.ts'

export interface BaseImageDeps {
  filesystem: CowFilesystem
  files: Pick<Files, 'stat' | 'open' | 'unpack' | 'unpackLayer'>
  /** Of this host, as images name it: `amd64`. */
  architecture: string
}

/** Puts what an archive of an image holds, compressed or not, into a new subvolume `name`, for `unpackImage` to find. */
export async function spoolImage(
  { filesystem, files }: BaseImageDeps,
  name: string,
  bytes: AsyncIterable<Uint8Array>,
): Promise<FilesPlace> {
  const place = await makeTree(filesystem, name)
  await files.unpack(place, ROOT, decompress(bytes, BASE_LIMITS.unpackedBytes))
  return place
}

/** How an image is being unpacked. */
export interface ImageRun {
  signal: AbortSignal
  progress(share: number): void
}

/**
 * Makes a read-only subvolume of the image in `spool`, layer upon layer. Only what is in layers is heeded: the image's
 * environment, user, directory and command are for whoever runs commands in a box to give.
 * @throws ServiceError `invalid_request` for what is no image, or no root filesystem, `body_too_large`, `storage_full`
 */
export async function unpackImage(
  { filesystem, files, architecture }: BaseImageDeps,
  { subvolume, spool }: { subvolume: string; spool: FilesPlace },
  { signal, progress }: ImageRun,
): Promise<UnpackReport> {
  const directory: ImageDirectory = { files, place: spool, architecture }
  const layers = await findLayers(directory)
  const place = await makeTree(filesystem, subvolume)
  const all: UnpackReport = { entries: 0, refused: [], refusedCount: 0 }
  let leftBytes = BASE_LIMITS.unpackedBytes
  for (const [index, layer] of layers.entries()) {
    let bytes = 0
    const read = async function* (): AsyncGenerator<Uint8Array> {
      bytes = 0
      for await (const piece of decompress(layerBytes(directory, layer), leftBytes)) {
        signal.throwIfAborted()
        bytes += piece.length
        yield piece
      }
    }
    const report = await files.unpackLayer(place, ROOT, read)
    leftBytes -= bytes
    all.entries += report.entries
    all.refusedCount += report.refusedCount
    all.refused.push(...report.refused.slice(0, REFUSED_MAX - all.refused.length))
    progress((index + 1) / layers.length)
  }
  await checkRoot(files, place)
  await filesystem.setReadOnly(subvolume, true)
  return all
}

const ROOT = Buffer.from('/')
const REFUSED_MAX = 1000
