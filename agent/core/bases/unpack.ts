import { ServiceError } from '../../../shared/errors.ts'
import { createFairShares, largestShare } from '../../../shared/fair-shares.ts'
import { piecesByTurns } from '../../../shared/pulled-flow.ts'
import { refusal } from '../../../shared/refusals.ts'
import type { FlowOwner } from '../../../shared/rotation.ts'
import type { Files, FilesRoot, UnpackReport } from '../../ports/files/files.ts'
import type { CowFilesystem } from '../../ports/pool/cow-filesystem.ts'
import { decompress } from './decompress.ts'

export interface BaseUnpackDeps {
  filesystem: CowFilesystem
  files: Pick<Files, 'stat' | 'unpack'>
  /** Account of the bytes. Default: the service itself. */
  owner?: FlowOwner
}

/** Limits concurrent uploads of archives. Each takes a file transfer, and a CPU to decompress. */
export interface BaseUploads {
  /** Takes a slot and returns its release. Throws `rate_limited` if one of the accounts would have more than is left free. */
  enter(accounts: readonly string[]): () => void
}

export function createBaseUploads(): BaseUploads {
  const shares = createFairShares(UPLOADS_AT_ONCE)
  return {
    enter: (accounts) => {
      const leave = shares.take(accounts)
      if (leave === null) throw tooMany()
      return leave
    },
  }
}

/**
 * Makes a read-only subvolume of the tar of a root filesystem, compressed or not. Unpacks it like an archive into a box, into a
 * subvolume with a quota. The thread cannot see this host, and follows no link out of the tree.
 * @throws ServiceError `invalid_request` for anything but a tar of a root filesystem, `body_too_large`, `storage_full`, and the
 * errors of `bytes`
 */
export async function unpackBase(
  { filesystem, files, owner = SERVICE }: BaseUnpackDeps,
  tree: NewTree,
  bytes: AsyncIterable<Uint8Array>,
): Promise<UnpackReport> {
  const root = await makeTree(filesystem, tree)
  const unpacked = piecesByTurns(decompress(bytes, BASE_BYTES_MAX), owner)
  const report = await files.unpack(root, Buffer.from('/'), unpacked)
  await checkRoot(files, root)
  await filesystem.setReadOnly(tree.subvolume, true)
  return report
}

/** A subvolume to make, and its project. A null project means the deployment. */
export interface NewTree {
  subvolume: string
  project: string | null
}

/** Makes a subvolume to unpack into, with a quota that leaves the pool some room. */
export async function makeTree(filesystem: CowFilesystem, { subvolume, project }: NewTree): Promise<FilesRoot> {
  const { availableBytes } = await filesystem.capacity()
  await filesystem.create(subvolume, project)
  await filesystem.setQuota(subvolume, Math.min(BASE_BYTES_MAX, Math.max(0, availableBytes - ROOM_BYTES)))
  return { boxId: subvolume, rootPath: filesystem.path(subvolume), mounts: [] }
}

/** Checks that a box could run from it. Throws `invalid_request` if not. */
export async function checkRoot(files: Pick<Files, 'stat'>, root: FilesRoot): Promise<void> {
  try {
    await files.stat(root, Buffer.from('/bin/sh'))
  } catch (error) {
    if (!(error instanceof ServiceError) || !ABSENT.has(error.code)) throw error
    const detail = 'The archive is not a root filesystem, because it has no /bin/sh.'
    throw new ServiceError('invalid_request', detail, { cause: error })
  }
}

function tooMany(): ServiceError {
  return refusal(
    'rate_limited',
    [`This agent makes ${UPLOADS_AT_ONCE} archives into bases at once, shared by the projects.`, 'Try again in 10 s.'],
    { headers: { 'Retry-After': '10' } },
  )
}

/** Counts as the owner of bytes that the service moves for itself, not for a project. */
export const SERVICE: FlowOwner = { project: 'service', box: '' }
/** Bounds the archive uncompressed, and what it takes on disk. */
const BASE_BYTES_MAX = 32 * 1024 ** 3
const UPLOADS_AT_ONCE = 8
const ABSENT: ReadonlySet<string> = new Set(['file_not_found', 'not_a_directory', 'path_invalid'])
// Left for records and for other writes to the pool.
const ROOM_BYTES = 64 * 1024 ** 2

/** The bounds of archives as `GET /v1/config` publishes them. */
export const BASE_LIMITS = {
  unpackedBytes: BASE_BYTES_MAX,
  uploadsAtOnce: UPLOADS_AT_ONCE,
  uploadsAtOncePerProject: largestShare(UPLOADS_AT_ONCE),
}
