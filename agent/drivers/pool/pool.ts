import fs from 'node:fs/promises'
import path from 'node:path'
import { assertPrivateMountNamespace } from '../../lib/mounts/namespace.ts'
import { closeFd, controlBuffer, controlBufferAsync } from '../../lib/syscalls/descriptors.ts'
import { O, openBelow } from '../../lib/syscalls/files.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'
import { AT, UMOUNT, unmount, unmountAsync } from '../../lib/syscalls/mounts.ts'
import { diskOf } from '../../lib/syscalls/stat.ts'
import type { PoolBacking } from '../../ports/pool/condition.ts'
import {
  backImage,
  ensureImage,
  fileExists,
  growImage,
  growthStep,
  missingBytesOf,
  type PoolImageOptions,
  readBacking,
} from './image.ts'
import {
  BTRFS,
  decodeDeviceBytes,
  decodeFilesystemId,
  encodeDeviceInfo,
  encodeEnableSimpleQuotas,
  encodeFilesystemInfo,
  encodeVolumeArgs,
} from './ioctls.ts'
import {
  attachLoopDevice,
  detachLoopDevice,
  findLoopDevice,
  isAttached,
  type LoopDevice,
  loopDeviceBytes,
  refreshCapacity,
  releaseLoopDevice,
} from './loop-device.ts'
import { mountPoolDevice } from './mount.ts'

export interface BtrfsPoolOptions extends PoolImageOptions {
  /** The directory of `pool.img`. The caller holds its lock. */
  dataDir: string
  /** The pool's mount point is `<runDir>/pool`, in this process's own mount namespace. */
  runDir: string
  /** The pool grows by this much once less than half of it is free. 0 for never. */
  stepBytes: number
}

/** The mounted filesystem of a pool image. */
export interface MountedPool {
  /** The image's directory. */
  dataDir: string
  mountPath: string
  /** A descriptor of the pool's top directory. */
  rootFd: number
  /** The random id of the filesystem, as a UUID. */
  filesystemId: string
  /** Grows the pool by a step. Returns false if the host has no space above its reserve. One growth at a time. */
  grow(): Promise<boolean>
  /** Returns true if the kernel has made it read-only. */
  isReadOnly(): boolean
  backing(): Promise<PoolBacking>
  /** Bytes of missing blocks in the image, which is 0 unless it was copied with holes. */
  missingBytes(): number
  /** Allocates the missing blocks of the image. Returns false if its disk has no space for all. */
  back(): Promise<boolean>
  /** Bytes by which the pool could still grow. */
  growableBytes(): Promise<number>
  close(): Promise<void>
}

/**
 * Opens the pool of a data directory, and creates it if there is none: image, loop device, mount, simple quotas. Every step reuses the
 * result of an earlier process. Throws if the host has no space for a pool, or this process has no mount namespace of its own.
 */
export async function mountPool(options: BtrfsPoolOptions): Promise<MountedPool> {
  assertPrivateMountNamespace()
  const imagePath = path.join(options.dataDir, IMAGE_NAME)
  await ensureImage(imagePath, options)
  const loop = attachLoopDevice(imagePath)
  const mountPath = path.join(options.runDir, 'pool')
  try {
    await matchDeviceToImage(loop, imagePath)
    await mountPoolDevice({ source: loop.path, target: mountPath, imagePath, logger: options.logger })
    return await openMounted(options, { loop, mountPath, imagePath })
  } catch (error) {
    releaseLoopDevice(loop)
    throw error
  }
}

/** Result of a release: the device, and if something, such as a running box, still uses it. */
export interface PoolRelease {
  device: string | null
  isStillUsed: boolean
}

/** Detaches the loop device of a data directory's pool, now or as soon as its last user ends. The caller holds the lock. */
export async function releasePool(dataDir: string): Promise<PoolRelease> {
  const imagePath = path.join(dataDir, IMAGE_NAME)
  if (!(await fileExists(imagePath))) return { device: null, isStillUsed: false }
  const loop = findLoopDevice(imagePath)
  if (loop === null) return { device: null, isStillUsed: false }
  detachLoopDevice(loop)
  releaseLoopDevice(loop)
  return { device: loop.path, isStillUsed: isAttached(loop.path) }
}

/** Resizes the device if an interrupted growth left the file larger. */
async function matchDeviceToImage(loop: LoopDevice, imagePath: string): Promise<void> {
  const { size } = await fs.stat(imagePath)
  if (loopDeviceBytes(loop) < size - (size % SECTOR_BYTES)) refreshCapacity(loop)
}

interface Parts {
  loop: LoopDevice
  mountPath: string
  imagePath: string
}

async function openMounted(options: BtrfsPoolOptions, parts: Parts): Promise<MountedPool> {
  const { loop, mountPath, imagePath } = parts
  let rootFd: number | undefined
  try {
    const fd = openBelow(AT.FDCWD, mountPath, { flags: O.RDONLY | O.DIRECTORY })
    rootFd = fd
    const filesystemId = readFilesystemId(fd)
    const isReadOnly = (): boolean => diskOf(fd).isReadOnly
    if (!isReadOnly()) {
      await fs.chmod(mountPath, 0o700)
      await enableQuotas(fd, filesystemId)
      await matchFilesystemToDevice(fd, loop)
    }
    const grow = createGrowth(options, { loop, imagePath, rootFd: fd })
    return {
      dataDir: options.dataDir,
      mountPath,
      rootFd: fd,
      filesystemId,
      grow,
      isReadOnly,
      missingBytes: () => missingBytesOf(imagePath),
      backing: () => readBacking(imagePath, options.hostReserveBytes),
      back: () => backImage(imagePath, options),
      growableBytes: () =>
        options.stepBytes === 0 || isReadOnly()
          ? Promise.resolve(0)
          : growthStep(imagePath, Number.MAX_SAFE_INTEGER, options.hostReserveBytes),
      close: () => closeMounted(parts, rootFd),
    }
  } catch (error) {
    if (rootFd !== undefined) closeFd(rootFd)
    unmount(mountPath, UMOUNT.DETACH)
    throw error
  }
}

function readFilesystemId(rootFd: number): string {
  const info = encodeFilesystemInfo()
  controlBuffer(rootFd, BTRFS.FS_INFO, info)
  return decodeFilesystemId(info)
}

async function enableQuotas(rootFd: number, filesystemId: string): Promise<void> {
  const directory = `/sys/fs/btrfs/${filesystemId}/qgroups`
  const mode = await fs.readFile(`${directory}/mode`, 'utf8').catch(() => '')
  if (mode.trim() === 'squota') return
  try {
    await controlBufferAsync(rootFd, BTRFS.QUOTA_CTL, encodeEnableSimpleQuotas())
  } catch (error) {
    if (!isErrno(error, 'EINVAL', 'EOPNOTSUPP')) throw error
    throw new Error('This kernel has no simple quotas for btrfs. Boot Linux 6.7 or newer (Debian 13, or backports).', {
      cause: error,
    })
  }
}

async function matchFilesystemToDevice(rootFd: number, loop: LoopDevice): Promise<void> {
  const info = encodeDeviceInfo()
  controlBuffer(rootFd, BTRFS.DEV_INFO, info)
  if (loopDeviceBytes(loop) - decodeDeviceBytes(info) < RESIZE_SLACK_BYTES) return
  await controlBufferAsync(rootFd, BTRFS.RESIZE, encodeVolumeArgs('1:max'))
}

/** Serializes growth. Concurrent callers share the outcome. */
function createGrowth(
  options: BtrfsPoolOptions,
  parts: { loop: LoopDevice; imagePath: string; rootFd: number },
): () => Promise<boolean> {
  let growing: Promise<boolean> | undefined
  const grow = async (): Promise<boolean> => {
    // Otherwise the image would grow without the filesystem.
    if (diskOf(parts.rootFd).isReadOnly) return false
    const step = await growthStep(parts.imagePath, options.stepBytes, options.hostReserveBytes)
    if (step === 0 || !(await growImage(parts.imagePath, step))) return false
    refreshCapacity(parts.loop)
    await controlBufferAsync(parts.rootFd, BTRFS.RESIZE, encodeVolumeArgs('1:max'))
    options.logger.info('grew the storage pool', { stepBytes: step })
    return true
  }
  return () => {
    growing ??= grow().finally(() => {
      growing = undefined
    })
    return growing
  }
}

async function closeMounted(parts: Parts, rootFd: number | undefined): Promise<void> {
  if (rootFd !== undefined) closeFd(rootFd)
  try {
    await unmountAsync(parts.mountPath)
  } catch (error) {
    if (!isErrno(error, 'EBUSY')) throw error
    await unmountAsync(parts.mountPath, UMOUNT.DETACH)
  } finally {
    releaseLoopDevice(parts.loop)
  }
}

const IMAGE_NAME = 'pool.img'
// Smaller differences are the filesystem's own rounding.
const RESIZE_SLACK_BYTES = 1024 * 1024
const SECTOR_BYTES = 512
