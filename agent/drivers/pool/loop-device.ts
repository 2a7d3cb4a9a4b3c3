import fs from 'node:fs'
import { closeFd, controlBuffer, controlNumber } from '../../lib/syscalls/descriptors.ts'
import { O, openBelow } from '../../lib/syscalls/files.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'
import { AT } from '../../lib/syscalls/mounts.ts'

/** A loop device with a backing file. The open descriptor keeps it attached. */
export interface LoopDevice {
  /** Such as `/dev/loop0`. */
  path: string
  fd: number
}

/**
 * Opens the loop device of the image. Reuses an attached device, since a second one of the same file would corrupt it, or attaches a new
 * one. The device detaches automatically once the last user, mounts included, has closed it. The caller holds the lock of the image.
 */
export function attachLoopDevice(imagePath: string): LoopDevice {
  const existing = findLoopDevice(imagePath)
  if (existing !== null) return existing
  const imageFd = openBelow(AT.FDCWD, imagePath, { flags: O.RDWR })
  try {
    for (let attempt = 1; ; attempt++) {
      const device = configureFree(imageFd, imagePath)
      if (device !== null) return device
      if (attempt === MAX_ATTEMPTS) throw new Error('no free loop device could be had')
    }
  } finally {
    closeFd(imageFd)
  }
}

/** Opens the loop device of an attached image, or returns null if there is none. */
export function findLoopDevice(imagePath: string): LoopDevice | null {
  const image = fs.statSync(imagePath, { bigint: true })
  for (const name of fs.readdirSync('/sys/block')) {
    if (!name.startsWith('loop') || !fs.existsSync(`/sys/block/${name}/loop`)) continue
    const device = openIfAttached(`/dev/${name}`, image)
    if (device !== null) return device
  }
  return null
}

/** Resizes the device to the current size of its file. */
export function refreshCapacity(device: LoopDevice): void {
  controlNumber(device.fd, LOOP_SET_CAPACITY, 0)
}

/** Returns the size of the device in bytes. */
export function loopDeviceBytes(device: LoopDevice): number {
  const size = Buffer.alloc(8)
  controlBuffer(device.fd, BLKGETSIZE64, size)
  return Number(size.readBigUInt64LE(0))
}

/** Closes the device, which detaches once its last user has closed it. */
export function releaseLoopDevice(device: LoopDevice): void {
  closeFd(device.fd)
}

/** Returns true while the device has a backing file. */
export function isAttached(devicePath: string): boolean {
  return fs.existsSync(`/sys/block/${devicePath.slice('/dev/'.length)}/loop`)
}

/** Detaches the device now, or as soon as its last user closes it. Works for a device that another tool attached, too. */
export function detachLoopDevice(device: LoopDevice): void {
  try {
    controlNumber(device.fd, LOOP_CLR_FD, 0)
  } catch (error) {
    if (!isErrno(error, 'ENXIO')) throw error
  }
}

function openIfAttached(path: string, image: fs.BigIntStats): LoopDevice | null {
  let fd: number
  try {
    fd = openBelow(AT.FDCWD, path, { flags: O.RDWR })
  } catch (error) {
    // ENXIO means that it is detaching at this moment.
    if (isErrno(error, 'ENXIO', 'ENOENT', 'EACCES', 'EROFS', 'EPERM')) return null
    throw error
  }
  const info = Buffer.alloc(INFO_BYTES)
  try {
    controlBuffer(fd, LOOP_GET_STATUS64, info)
    if (info.readBigUInt64LE(0) === image.dev && info.readBigUInt64LE(8) === image.ino) return { path, fd }
  } catch (error) {
    if (!isErrno(error, 'ENXIO')) {
      closeFd(fd)
      throw error
    }
  }
  closeFd(fd)
  return null
}

function configureFree(imageFd: number, imagePath: string): LoopDevice | null {
  const controlFd = openBelow(AT.FDCWD, '/dev/loop-control', { flags: O.RDWR })
  let path: string
  try {
    path = `/dev/loop${controlNumber(controlFd, LOOP_CTL_GET_FREE, 0)}`
  } finally {
    closeFd(controlFd)
  }
  const fd = openBelow(AT.FDCWD, path, { flags: O.RDWR })
  try {
    controlBuffer(fd, LOOP_CONFIGURE, encodeConfiguration(imageFd, imagePath))
    return { path, fd }
  } catch (error) {
    closeFd(fd)
    // EBUSY means that another program took the free device first.
    if (isErrno(error, 'EBUSY')) return null
    throw error
  }
}

/** Encodes `loop_config` of linux/loop.h: direct I/O, detached when the last user closes the device. */
function encodeConfiguration(imageFd: number, imagePath: string): Buffer {
  const buffer = Buffer.alloc(CONFIG_BYTES)
  buffer.writeUInt32LE(imageFd, 0)
  buffer.writeUInt32LE(FLAG_AUTOCLEAR | FLAG_DIRECT_IO, 8 + 52)
  buffer.write(imagePath.slice(-NAME_BYTES), 8 + 56, NAME_BYTES, 'latin1')
  return buffer
}

const LOOP_CTL_GET_FREE = 0x4c82
const LOOP_CLR_FD = 0x4c01
const LOOP_GET_STATUS64 = 0x4c05
const LOOP_SET_CAPACITY = 0x4c07
const LOOP_CONFIGURE = 0x4c0a
const BLKGETSIZE64 = 0x80081272
const FLAG_AUTOCLEAR = 4
const FLAG_DIRECT_IO = 16
const INFO_BYTES = 232
const CONFIG_BYTES = 304
const NAME_BYTES = 63
const MAX_ATTEMPTS = 20
