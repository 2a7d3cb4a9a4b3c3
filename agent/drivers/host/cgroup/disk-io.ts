import fs from 'node:fs'
import { readTextIfThere } from '../../../lib/disk/file-text.ts'
import { parseMountInfo } from '../mount-info.ts'
import type { CgroupLayout } from './layout.ts'
import { moveInto } from './paths.ts'

/** What a box has read and written on the disk, together, since its counters began. */
export interface DiskCounters {
  bytes: number
  operations: number
}

/** Counts what boxes do with the disk. */
export interface BoxDisk {
  /**
   * Counts from now on what a box, whose cgroups exist, does with the disk that `path` is on. With version 1 of cgroups, what is only
   * buffered counts for nobody. Throws where this host does not count it.
   */
  countDisk(boxId: string, path: string): void
  /** Reads the counters of a box; zero if it is gone or not counted. */
  diskCounters(boxId: string): DiskCounters
}

interface BoxGroups {
  /** The cgroup above those of the boxes, below the mount point of each hierarchy. */
  parent: string
  home(root: string, boxId: string): string
  /** True for a box in a pod, whose cgroups another runtime makes. */
  isPlaced(boxId: string): boolean
  processes(boxId: string): number[]
}

/** Opens the disk counters of an instance's boxes. Makes cgroups for those alone that are to be counted. */
export function openBoxDisk({ version, blkio }: CgroupLayout, groups: BoxGroups): BoxDisk {
  if (blkio === null) return { countDisk: refuse, diskCounters: () => ({ bytes: 0, operations: 0 }) }
  const home = (boxId: string): string => groups.home(blkio, boxId)
  const read = (boxId: string, file: string): string => readTextIfThere(`${home(boxId)}/${file}`)
  if (version === 2)
    return {
      countDisk: (boxId) => {
        if (!groups.isPlaced(boxId)) for (const above of ANCESTORS) enableIo(`${home(boxId)}/${above}`)
        if (!fs.existsSync(`${home(boxId)}/io.stat`)) refuse()
      },
      diskCounters: (boxId) => parseIoStat(read(boxId, 'io.stat')),
    }
  return {
    countDisk: (boxId, path) => {
      if (!fs.existsSync(home(boxId))) makeGroup(home(boxId), boxId, groups)
      countDevice(`${blkio}${groups.parent}`, diskOf(path))
    },
    diskCounters: (boxId) => ({
      bytes: parseServiced(read(boxId, 'blkio.throttle.io_service_bytes_recursive')),
      operations: parseServiced(read(boxId, 'blkio.throttle.io_serviced_recursive')),
    }),
  }
}

/**
 * Returns the counts of a version 2 `io.stat`: those of the device with the most, since what passes a loop device is counted again at
 * the disk below it. Pure.
 */
export function parseIoStat(text: string): DiskCounters {
  const sums = (first: string, second: string): number[] =>
    text.split('\n').map((line) => fieldOf(line, first) + fieldOf(line, second))
  return { bytes: Math.max(...sums('rbytes', 'wbytes')), operations: Math.max(...sums('rios', 'wios')) }
}

/** Returns the reads and writes that a version 1 `blkio.throttle.io_service*` file counts, of the device with the most. Pure. */
export function parseServiced(text: string): number {
  const devices = new Map<string, number>()
  for (const [, device = '', count] of text.matchAll(/^(\d+:\d+) (?:Read|Write) (\d+)$/gm))
    devices.set(device, (devices.get(device) ?? 0) + Number(count))
  return Math.max(0, ...devices.values())
}

function fieldOf(line: string, name: string): number {
  return Number(new RegExp(` ${name}=(\\d+)`).exec(line)?.[1] ?? 0)
}

function refuse(): never {
  throw new Error('The host counts by no cgroup what boxes read and write (controller io or blkio).')
}

// Leaves a cgroup alone that has no such controller: what is missing is found below it.
function enableIo(path: string): void {
  const controllers = readTextIfThere(`${path}/cgroup.controllers`).trim().split(' ')
  if (controllers.includes('io')) fs.writeFileSync(`${path}/cgroup.subtree_control`, '+io')
}

function makeGroup(path: string, boxId: string, { isPlaced, processes }: BoxGroups): void {
  if (isPlaced(boxId)) refuse()
  fs.mkdirSync(path, { recursive: true })
  moveInto(path, () => processes(boxId))
}

// The kernel counts for a device by cgroup once any limit was set for it, and 0 is none.
function countDevice(group: string, device: string): void {
  fs.mkdirSync(group, { recursive: true })
  fs.writeFileSync(`${group}/blkio.throttle.write_bps_device`, `${device} 0`)
}

/** Returns the number, `major:minor`, of the whole disk that a path is on. */
function diskOf(path: string): string {
  const mounts = parseMountInfo(fs.readFileSync('/proc/self/mountinfo'))
  const isAbove = (mountPoint: string): boolean => `${path}/`.startsWith(mountPoint === '/' ? '/' : `${mountPoint}/`)
  // The last of the longest: later ones hide earlier ones at the same place.
  const mount = mounts.filter((each) => isAbove(each.path)).reduce((a, b) => (b.path.length >= a.path.length ? b : a))
  const device = mount.device.startsWith('0:') ? numberOf(mount.source) : mount.device
  const above = `/sys/dev/block/${device}/../dev`
  return fs.existsSync(`/sys/dev/block/${device}/partition`) ? fs.readFileSync(above, 'utf8').trim() : device
}

function numberOf(source: string): string {
  const { rdev } = fs.statSync(source)
  return `${(rdev >> 8) & 0xfff}:${(rdev & 0xff) | ((rdev >> 12) & 0xfff00)}`
}

const ANCESTORS = ['../../..', '../..', '..']
