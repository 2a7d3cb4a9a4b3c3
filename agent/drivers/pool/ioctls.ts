/** Structures and numbers of linux/btrfs.h. Encodes and decodes only, without calls. All fields are little-endian. */

/** Ioctl requests of btrfs, type byte 0x94. */
export const BTRFS = {
  RESIZE: 0x50009403,
  SUBVOL_CREATE: 0x5000940e,
  SNAP_DESTROY: 0x5000940f,
  TREE_SEARCH: 0xd0009411,
  INO_LOOKUP: 0xd0009412,
  WAIT_SYNC: 0x40089416,
  SNAP_CREATE_V2: 0x50009417,
  START_SYNC: 0x80089418,
  SUBVOL_GETFLAGS: 0x80089419,
  SUBVOL_SETFLAGS: 0x4008941a,
  FS_INFO: 0x8400941f,
  DEV_INFO: 0xd000941e,
  QUOTA_CTL: 0xc0109428,
  QGROUP_CREATE: 0x4010942a,
  QGROUP_LIMIT: 0x8030942b,
  SUBVOL_CREATE_V2: 0x50009418,
  QGROUP_ASSIGN: 0x40189429,
  SNAP_DESTROY_V2: 0x5000943f,
} as const

/** Id of the top subvolume of the pool, and the inode number of the root directory of every subvolume. */
export const TOP_SUBVOLUME_ID = 5n
export const ROOT_DIRECTORY_OBJECT = 256n

/** Flag of SUBVOL_GETFLAGS and SUBVOL_SETFLAGS. */
export const SUBVOLUME_READ_ONLY = 2n

/** Encodes `btrfs_ioctl_vol_args`: a descriptor and a name. */
export function encodeVolumeArgs(name: string, fd = 0): Buffer {
  const buffer = Buffer.alloc(VOLUME_ARGS_BYTES)
  buffer.writeBigInt64LE(BigInt(fd), 0)
  buffer.write(name, 8)
  return buffer
}

/** A subvolume to make: a snapshot of `sourceFd`, or with null an empty one. */
export interface NewSubvolumeArgs {
  sourceFd: number | null
  name: string
  isReadOnly: boolean
  quotaBytes: number | null
  /** The qgroup that its own joins in the same transaction, or null for none. */
  group: bigint | null
}

/**
 * Encodes `btrfs_ioctl_vol_args_v2` of a new subvolume, followed by the `btrfs_qgroup_inherit` with its limit and its group. `addressOf`
 * returns the address of the buffer, since the first structure points to the second.
 */
export function encodeNewSubvolume(args: NewSubvolumeArgs, addressOf: (buffer: Buffer) => bigint): Buffer {
  const { sourceFd, name, isReadOnly, quotaBytes, group } = args
  // The kernel refuses any other length.
  const inheritBytes = INHERIT_BYTES + (group === null ? 0 : 8)
  const buffer = Buffer.alloc(VOLUME_ARGS_BYTES + inheritBytes)
  buffer.writeBigInt64LE(BigInt(sourceFd ?? 0), 0)
  buffer.write(name, 56)
  let flags = isReadOnly ? SNAPSHOT_READ_ONLY : 0n
  if (quotaBytes !== null || group !== null) {
    flags |= QGROUP_INHERIT
    buffer.writeBigUInt64LE(BigInt(inheritBytes), 24)
    buffer.writeBigUInt64LE(addressOf(buffer) + BigInt(VOLUME_ARGS_BYTES), 32)
  }
  if (quotaBytes !== null) {
    buffer.writeBigUInt64LE(INHERIT_SET_LIMITS, VOLUME_ARGS_BYTES)
    writeLimit(buffer, VOLUME_ARGS_BYTES + 32, quotaBytes)
  }
  if (group !== null) {
    buffer.writeBigUInt64LE(1n, VOLUME_ARGS_BYTES + 8)
    buffer.writeBigUInt64LE(group, VOLUME_ARGS_BYTES + INHERIT_BYTES)
  }
  buffer.writeBigUInt64LE(flags, 16)
  return buffer
}

/** Encodes `btrfs_ioctl_vol_args_v2` to destroy a subvolume by its id, at any path. */
export function encodeDestroyById(subvolumeId: bigint): Buffer {
  const buffer = Buffer.alloc(VOLUME_ARGS_BYTES)
  buffer.writeBigUInt64LE(SPEC_BY_ID, 16)
  buffer.writeBigUInt64LE(subvolumeId, 56)
  return buffer
}

/** Encodes `btrfs_ioctl_qgroup_limit_args` for a qgroup. A subvolume's qgroup has its id. Null lifts the limit. */
export function encodeQuotaLimit(groupId: bigint, quotaBytes: number | null): Buffer {
  const buffer = Buffer.alloc(QUOTA_LIMIT_BYTES)
  buffer.writeBigUInt64LE(groupId, 0)
  writeLimit(buffer, 8, quotaBytes)
  return buffer
}

/** Encodes `btrfs_ioctl_quota_ctl_args` to enable simple quotas. */
export function encodeEnableSimpleQuotas(): Buffer {
  const buffer = Buffer.alloc(16)
  buffer.writeBigUInt64LE(QUOTA_ENABLE_SIMPLE, 0)
  return buffer
}

/** Encodes `btrfs_ioctl_qgroup_create_args` to make or remove a qgroup. A subvolume's qgroup has its id. */
export function encodeQuotaGroup(groupId: bigint, action: 'make' | 'remove'): Buffer {
  const buffer = Buffer.alloc(16)
  buffer.writeBigUInt64LE(action === 'make' ? 1n : 0n, 0)
  buffer.writeBigUInt64LE(groupId, 8)
  return buffer
}

/** Encodes `btrfs_ioctl_qgroup_assign_args` to add the qgroup of a subvolume to another, or to remove it from there. */
export function encodeMembership(subvolumeId: bigint, groupId: bigint, action: 'make' | 'remove'): Buffer {
  const buffer = Buffer.alloc(24)
  buffer.writeBigUInt64LE(action === 'make' ? 1n : 0n, 0)
  buffer.writeBigUInt64LE(subvolumeId, 8)
  buffer.writeBigUInt64LE(groupId, 16)
  return buffer
}

/** A subvolume, by the reference in its parent. */
export interface SubvolumeReference {
  id: bigint
  name: string
}

/** Encodes `btrfs_ioctl_search_args` for the references from `parentId` to its subvolumes with ids from `fromId` on. */
export function encodeChildSearch(parentId: bigint, fromId: bigint): Buffer {
  const buffer = Buffer.alloc(VOLUME_ARGS_BYTES)
  buffer.writeBigUInt64LE(ROOT_TREE, 0)
  buffer.writeBigUInt64LE(parentId, 8)
  buffer.writeBigUInt64LE(parentId, 16)
  buffer.writeBigUInt64LE(fromId, 24)
  buffer.writeBigUInt64LE(MAX_U64, 32)
  buffer.writeBigUInt64LE(0n, 40)
  buffer.writeBigUInt64LE(MAX_U64, 48)
  buffer.writeUInt32LE(ROOT_REF_KEY, 56)
  buffer.writeUInt32LE(ROOT_REF_KEY, 60)
  buffer.writeUInt32LE(MAX_U32, 64)
  return buffer
}

/** Decodes the references in the answered buffer of `encodeChildSearch`. Returns none if there are no more. */
export function decodeChildSearch(buffer: Buffer): SubvolumeReference[] {
  const references: SubvolumeReference[] = []
  let at = SEARCH_KEY_BYTES
  for (let left = buffer.readUInt32LE(64); left > 0; left--) {
    const id = buffer.readBigUInt64LE(at + 16)
    const length = buffer.readUInt32LE(at + 28)
    const item = at + SEARCH_HEADER_BYTES
    const nameLength = buffer.readUInt16LE(item + 16)
    references.push({ id, name: buffer.toString('utf8', item + 18, item + 18 + nameLength) })
    at = item + length
  }
  return references
}

/** Encodes `btrfs_ioctl_ino_lookup_args` to look up the subvolume of a descriptor. */
export function encodeSubvolumeLookup(): Buffer {
  const buffer = Buffer.alloc(VOLUME_ARGS_BYTES)
  buffer.writeBigUInt64LE(ROOT_DIRECTORY_OBJECT, 8)
  return buffer
}

/** Decodes the id of the subvolume in the answered buffer of `encodeSubvolumeLookup`. */
export function decodeSubvolumeLookup(buffer: Buffer): bigint {
  return buffer.readBigUInt64LE(0)
}

/** Encodes a file handle (`open_by_handle_at`) of the root directory of a subvolume, by its id. */
export function encodeSubvolumeHandle(subvolumeId: bigint): Buffer {
  const buffer = Buffer.alloc(8 + HANDLE_BYTES)
  buffer.writeUInt32LE(HANDLE_BYTES, 0)
  buffer.writeInt32LE(HANDLE_WITHOUT_PARENT, 4)
  buffer.writeBigUInt64LE(ROOT_DIRECTORY_OBJECT, 8)
  buffer.writeBigUInt64LE(subvolumeId, 16)
  return buffer
}

/** Encodes an empty `btrfs_ioctl_fs_info_args`. */
export function encodeFilesystemInfo(): Buffer {
  return Buffer.alloc(1024)
}

/** Decodes the random id that mkfs gave the filesystem, as a UUID. */
export function decodeFilesystemId(buffer: Buffer): string {
  const hex = buffer.toString('hex', 16, 32)
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}

/** Encodes `btrfs_ioctl_dev_info_args` of the pool's only device. */
export function encodeDeviceInfo(): Buffer {
  const buffer = Buffer.alloc(VOLUME_ARGS_BYTES)
  buffer.writeBigUInt64LE(1n, 0)
  return buffer
}

/** Decodes the bytes of the device that the filesystem takes. */
export function decodeDeviceBytes(buffer: Buffer): number {
  return Number(buffer.readBigUInt64LE(32))
}

function writeLimit(buffer: Buffer, offset: number, quotaBytes: number | null): void {
  buffer.writeBigUInt64LE(LIMIT_MAX_REFERENCED, offset)
  buffer.writeBigUInt64LE(quotaBytes === null ? MAX_U64 : BigInt(quotaBytes), offset + 8)
}

const VOLUME_ARGS_BYTES = 4096
const INHERIT_BYTES = 72
const QUOTA_LIMIT_BYTES = 48
const SEARCH_KEY_BYTES = 104
const SEARCH_HEADER_BYTES = 32
const HANDLE_BYTES = 20
const HANDLE_WITHOUT_PARENT = 0x4d
const SNAPSHOT_READ_ONLY = 2n
const QGROUP_INHERIT = 4n
const SPEC_BY_ID = 0x10n
const INHERIT_SET_LIMITS = 1n
const LIMIT_MAX_REFERENCED = 1n
const QUOTA_ENABLE_SIMPLE = 4n
const ROOT_TREE = 1n
const ROOT_REF_KEY = 156
const MAX_U64 = 2n ** 64n - 1n
const MAX_U32 = 0xffffffff
