import { findLoopDevice, loopDeviceBytes, releaseLoopDevice } from '../../../agent/drivers/pool/loop-device.ts'
import { controlBuffer } from '../../../agent/lib/syscalls/descriptors.ts'

/** Makes every read and write of the image's loop device beyond `fromByte` fail with an I/O error, as if its disk were gone. */
export function cutDevice(image: string, fromByte = SECTOR_BYTES): void {
  limitDevice(image, BigInt(fromByte))
}

/** Restores the device with its data. */
export function mendDevice(image: string): void {
  limitDevice(image, 0n)
}

/** Returns true while the device is cut. */
export function isCut(image: string): boolean {
  const device = findLoopDevice(image)
  if (device === null) return false
  try {
    return loopDeviceBytes(device) <= SECTOR_BYTES
  } finally {
    releaseLoopDevice(device)
  }
}

// I/O beyond a loop device's size limit fails. 0 removes the limit.
function limitDevice(image: string, bytes: bigint): void {
  const device = findLoopDevice(image)
  if (device === null) throw new Error('nobody uses the image')
  try {
    const info = Buffer.alloc(LOOP_INFO_BYTES)
    controlBuffer(device.fd, LOOP_GET_STATUS64, info)
    info.writeBigUInt64LE(bytes, SIZE_LIMIT_OFFSET)
    controlBuffer(device.fd, LOOP_SET_STATUS64, info)
  } finally {
    releaseLoopDevice(device)
  }
}

const SECTOR_BYTES = 512
const LOOP_INFO_BYTES = 232
const SIZE_LIMIT_OFFSET = 32
const LOOP_SET_STATUS64 = 0x4c04
const LOOP_GET_STATUS64 = 0x4c05
