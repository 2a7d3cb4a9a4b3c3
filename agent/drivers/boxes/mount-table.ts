import fs from 'node:fs'
import { dirname } from 'node:path'
import { closeFd } from '../../lib/syscalls/descriptors.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'
import type { BoxHandle } from '../host/handle.ts'
import { createTreePaths, type MountLine, parseMountInfo } from '../host/mount-info.ts'

/** A running box, identified by its init. */
export type MountedBox = Pick<BoxHandle, 'pid' | 'startTicks' | 'idBase' | 'rootPath' | 'nesting'>

/** A mount of a data volume. */
export interface DataMount extends MountLine {
  /** Host path of the volume. */
  source: string
}

/** The mounts of a box. */
export interface MountTable {
  all: MountLine[]
  data: DataMount[]
  /** Mounts of the box's disk and volumes. A volume can only be mounted on these. */
  mountIds: number[]
  /** Mounts that show the volume `source`, or a part of it. */
  showing(source: string): MountLine[]
  /** False if the table is longer than the part that was read. */
  isWhole: boolean
}

/** Reads the mount table of a running box. Empty if it has ended. */
export function readMountTable(box: MountedBox): MountTable {
  const { lines, isWhole } = readMounts(box.pid)
  return lines.length === 0 ? EMPTY : { ...(box.nesting === true ? nested(box, lines) : plain(box, lines)), isWhole }
}

/** Reads the first MiB of the mount table of a process, whose owner may have made any number of mounts. Empty if it has ended. */
export function readMounts(pid: number): { lines: MountLine[]; isWhole: boolean } {
  try {
    const fd = fs.openSync(`/proc/${pid}/mountinfo`, 'r')
    try {
      const bytes = readStart(fd)
      const isWhole = bytes.length < BYTES_MAX
      return { lines: parseMountInfo(isWhole ? bytes : bytes.subarray(0, bytes.lastIndexOf('\n'))), isWhole }
    } finally {
      closeFd(fd)
    }
  } catch (error) {
    // A process that has ended, and is not reaped yet, has no namespaces.
    if (isErrno(error, 'ENOENT', 'ESRCH', 'EINVAL')) return { lines: [], isWhole: true }
    throw error
  }
}

// Such a box cannot mount. So the agent attached every mount on its root's filesystem, with two exceptions. One is the root. The other is
// the files that each box starts with, if the host keeps them on the same disk.
function plain(box: MountedBox, all: MountLine[]): Omit<MountTable, 'isWhole'> {
  const root = all.find(({ path }) => path === '/')
  if (root === undefined) throw new Error('the box has no root that could be seen')
  const { hostPath } = createTreePaths(box.rootPath, root.root)
  const ofDisk = all.filter(({ device }) => device === root.device)
  const data = ofDisk.flatMap((line) => {
    const source = line === root ? null : hostPath(line.root)
    return source === null || isFile(source) ? [] : [{ ...line, source }]
  })
  const showing = (source: string): MountLine[] => data.filter((each) => each.source === source)
  return { all, data, mountIds: ofDisk.map(({ id }) => id), showing }
}

// A box with nesting may have mounted anything anywhere, also over its root. So the disk is the one that the host mounts the root from, and
// a volume is a directory beside the root.
function nested(box: MountedBox, all: MountLine[]): Omit<MountTable, 'isWhole'> {
  const { device, root } = placeOf(box.rootPath)
  const { hostPath } = createTreePaths(box.rootPath, root)
  const ofDisk = all.filter((line) => line.device === device)
  const data = ofDisk.flatMap((line) => {
    const source = line.root === root || dirname(line.root) !== dirname(root) ? null : hostPath(line.root)
    return source === null || isFile(source) ? [] : [{ ...line, source }]
  })
  const isOf = (line: MountLine, source: string): boolean => `${hostPath(line.root)}/`.startsWith(`${source}/`)
  const showing = (source: string): MountLine[] => ofDisk.filter((line) => isOf(line, source))
  return { all, data, mountIds: ofDisk.map(({ id }) => id), showing }
}

/** Returns the filesystem of a path of the host, and the path within it. */
export function placeOf(path: string): { device: string; root: string } {
  const mounts = parseMountInfo(fs.readFileSync('/proc/self/mountinfo'))
  const above = mounts.filter((mount) => mount.path === '/' || `${path}/`.startsWith(`${mount.path}/`))
  // Of several mounts at one path, the last is on top.
  const mount = above.reduce((best, each) => (each.path.length >= best.path.length ? each : best))
  const [prefix, start] = [mount.root, mount.path].map((each) => (each === '/' ? '' : each)) as [string, string]
  return { device: mount.device, root: `${prefix}${path.slice(start.length)}` }
}

function isFile(path: string): boolean {
  return fs.statSync(path, { throwIfNoEntry: false })?.isFile() ?? false
}

// A read of mountinfo returns whole lines, at most a page of them.
function readStart(fd: number): Buffer {
  const pieces: Buffer[] = []
  for (let length = 0; length < BYTES_MAX; ) {
    const piece = Buffer.allocUnsafe(PIECE_BYTES)
    const count = fs.readSync(fd, piece)
    if (count === 0) break
    pieces.push(piece.subarray(0, count))
    length += count
  }
  return Buffer.concat(pieces)
}

const BYTES_MAX = 1024 ** 2
const PIECE_BYTES = 65_536
const EMPTY: MountTable = { all: [], data: [], mountIds: [], showing: () => [], isWhole: true }
