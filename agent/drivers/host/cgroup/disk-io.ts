import fs from 'node:fs'
import { readTextIfThere } from '../../../lib/disk/file-text.ts'
import { parseMountInfo } from '../mount-info.ts'
import type { CgroupLayout } from './layout.ts'
import { moveInto } from './paths.ts'

/** Sum of disk reads and writes of a box since its counters began. */
export interface DiskCounters {
  bytes: number
  operations: number
}

/** Counts disk I/O of boxes. */
export interface BoxDisk {
  /**
   * Starts to count the I/O of a box, whose cgroups exist, on the disk of `path`. With version 1 of cgroups, buffered writes are charged to
   * no box. Throws where this host does not count it.
   */
  countDisk(boxId: string, path: string): void
  /** Reads the counters of a box, or zero if it is gone or not counted. */
  diskCounters(boxId: string): DiskCounters
}

interface BoxGroups {
  /** The parent cgroup of all boxes, below the mount point of each hierarchy. */
  parent: string
  home(root: string, boxId: string): string
  /** True for a box in a pod, whose cgroups another runtime makes. */
  isPlaced(boxId: string): boolean
  processes(boxId: string): number[]
}

/** Opens the disk counters of an instance's boxes. Creates cgroups only for boxes that are counted. */
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
 * Returns the counts of a version 2 `io.stat` for the device with the most. The others would be counted twice, since I/O through a loop
 * device counts again at the disk below it. Pure.
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

// Skips a cgroup without this controller. The caller checks for the result in the box's own cgroup.
function enableIo(path: string): void {
  const controllers = readTextIfThere(`${path}/cgroup.controllers`).trim().split(' ')
  if (controllers.includes('io')) fs.writeFileSync(`${path}/cgroup.subtree_control`, '+io')
}

function makeGroup(path: string, boxId: string, { isPlaced, processes }: BoxGroups): void {
  if (isPlaced(boxId)) refuse()
  fs.mkdirSync(path, { recursive: true })
  moveInto(path, () => processes(boxId))
}

// The kernel starts to count a device for a cgroup once any limit was set for it, and 0 is no limit.
function countDevice(group: string, device: string): void {
  fs.mkdirSync(group, { recursive: true })
  fs.writeFileSync(`${group}/blkio.throttle.write_bps_device`, `${device} 0`)
}

/** Returns the number, `major:minor`, of the whole disk that a path is on. */
function diskOf(path: string): string {
  const mounts = parseMountInfo(fs.readFileSync('/proc/self/mountinfo'))
  const isAbove = (mountPoint: string): boolean => `${path}/`.startsWith(mountPoint === '/' ? '/' : `${mountPoint}/`)
  // Chooses the last of the longest matches, since a later mount hides earlier ones at the same place.
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
