import { piecesByTurns } from '../../../shared/pulled-flow.ts'
import type { FlowOwner } from '../../../shared/rotation.ts'
import type { ImageReference, ImageRegistry, RemoteImage } from '../../ports/bases/image-registry.ts'
import type { Files, FilesRoot, UnpackReport } from '../../ports/files/files.ts'
import type { CowFilesystem } from '../../ports/pool/cow-filesystem.ts'
import { decompress } from './decompress.ts'
import { findLayers, type ImageDirectory, layerBytes } from './image-layout.ts'
import { formatImageReference } from './image-reference.ts'
import { BASE_LIMITS, checkRoot, makeTree, type NewTree, SERVICE } from './unpack.ts'

export interface BaseImageDeps {
  filesystem: CowFilesystem
  files: Pick<Files, 'stat' | 'open' | 'unpack' | 'unpackLayer'>
  /** Architecture of this host, in the notation of images: `amd64`. */
  architecture: string
  /** Account of the bytes. Default: the service itself. */
  owner?: FlowOwner
}

export interface BasePullDeps extends BaseImageDeps {
  registry: ImageRegistry
}

/** Unpacks the archive of an image, compressed or not, into the new subvolume `spool`, from which `unpackImage` reads. */
export async function spoolImage(
  { filesystem, files, owner = SERVICE }: BaseImageDeps,
  spool: NewTree,
  bytes: AsyncIterable<Uint8Array>,
): Promise<FilesRoot> {
  const root = await makeTree(filesystem, spool)
  await files.unpack(root, ROOT, piecesByTurns(decompress(bytes, BASE_LIMITS.unpackedBytes), owner))
  return root
}

/** Cancellation and progress, 0 to 1, of an import. */
export interface ImageRun {
  signal: AbortSignal
  progress(share: number): void
}

/**
 * Pulls an image of a registry into a new subvolume `spool`, from which `unpackImage` reads. Returns the base's `source` too.
 * @throws ServiceError as the registry does, and `storage_full`
 */
export async function pullImage(
  deps: BasePullDeps,
  { reference, spool }: { reference: ImageReference; spool: NewTree },
  { signal, progress }: ImageRun,
): Promise<{ root: FilesRoot; source: string }> {
  const request = { architecture: deps.architecture, maxBytes: BASE_LIMITS.unpackedBytes, signal }
  const image = await deps.registry.find(reference, request)
  try {
    const root = await spoolImage(deps, spool, withProgress(image, progress))
    return { root, source: `oci:${formatImageReference(reference, image.digest)}` }
  } finally {
    image.close()
  }
}

/**
 * Makes a read-only subvolume of the image in `spool`, layer upon layer. Ignores the image's environment, user, directory and command,
 * which each command in a box specifies.
 * @throws ServiceError `invalid_request` if it is no image or holds no root filesystem, `body_too_large`, `storage_full`
 */
export async function unpackImage(
  { filesystem, files, architecture, owner = SERVICE }: BaseImageDeps,
  { tree, spool }: { tree: NewTree; spool: FilesRoot },
  { signal, progress }: ImageRun,
): Promise<UnpackReport> {
  const directory: ImageDirectory = { files, root: spool, architecture }
  const layers = await findLayers(directory)
  const root = await makeTree(filesystem, tree)
  const all: UnpackReport = { entries: 0, refused: [], refusedCount: 0 }
  let leftBytes = BASE_LIMITS.unpackedBytes
  for (const [index, layer] of layers.entries()) {
    let bytes = 0
    const read = async function* (): AsyncGenerator<Uint8Array> {
      bytes = 0
      for await (const piece of piecesByTurns(decompress(layerBytes(directory, layer), leftBytes), owner)) {
        signal.throwIfAborted()
        bytes += piece.length
        yield piece
      }
    }
    const report = await files.unpackLayer(root, ROOT, read)
    leftBytes -= bytes
    all.entries += report.entries
    all.refusedCount += report.refusedCount
    all.refused.push(...report.refused.slice(0, REFUSED_MAX - all.refused.length))
    progress((index + 1) / layers.length)
  }
  await checkRoot(files, root)
  await filesystem.setReadOnly(tree.subvolume, true)
  return all
}

async function* withProgress(image: RemoteImage, progress: (share: number) => void): AsyncGenerator<Uint8Array> {
  let bytes = 0
  for await (const piece of image.archive()) {
    bytes += piece.length
    // `sizeBytes` leaves out the tar headers.
    progress(Math.min(1, bytes / Math.max(1, image.sizeBytes)))
    yield piece
  }
}

const ROOT = Buffer.from('/')
const REFUSED_MAX = 1000
