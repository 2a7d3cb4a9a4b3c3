import { controlBuffer } from '../../lib/syscalls/descriptors.ts'
import { addressOf } from '../../lib/syscalls/libc.ts'
import type { RawPath } from '../files/paths.ts'

/**
 * The names of a file, by its number, in the subvolume that `fd` is open on: absolute there, and as many as 4 KB hold.
 */
export function namesOfFile(fd: number, inode: number): RawPath[] {
  // `btrfs_ioctl_ino_path_args`, which points at a `btrfs_data_container`.
  const args = Buffer.alloc(ARGS_BYTES)
  args.writeBigUInt64LE(BigInt(inode), 0)
  args.writeBigUInt64LE(BigInt(NAMES.length), 8)
  args.writeBigUInt64LE(addressOf(NAMES), 48)
  controlBuffer(fd, INO_PATHS, args)
  const count = NAMES.readUInt32LE(8)
  return Array.from({ length: count }, (_, index) => {
    const start = VALUES_AT + Number(NAMES.readBigUInt64LE(VALUES_AT + index * 8))
    return `/${NAMES.toString('latin1', start, NAMES.indexOf(0, start))}`
  })
}

const INO_PATHS = 0xc0389423
const ARGS_BYTES = 128
const VALUES_AT = 16
// A thread makes one call at a time, and reads what it tells before the next.
const NAMES = Buffer.from(new ArrayBuffer(4096))
