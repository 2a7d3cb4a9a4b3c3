import fs from 'node:fs'
import type { Cover } from '../../lib/mounts/covers.ts'
import { closeFd } from '../../lib/syscalls/descriptors.ts'
import type { MountLine } from '../host/mount-info.ts'
import { LXCFS_PATHS, type LxcfsFiles } from './lxcfs.ts'
import { cloneReadOnly } from './tree.ts'

/** A mount that shows a box its limits, before it is cloned. */
export interface LimitMount {
  path: string
  /** Number of mounts of an ended lxcfs to remove first. */
  stale: number
  /** Source to mount, or null for none. */
  source: { fd: number } | { path: string } | null
}

/** Sources that a box can see. */
export interface LimitSources {
  /** Null while lxcfs does not run. */
  lxcfs: LxcfsFiles | null
  /** The box's cgroups, by controller. Null where its container has them mounted. */
  cgroups: Readonly<Record<string, string>> | null
  /** Directory made by `prepareCovers`. */
  covers: string
}

/**
 * Plans the mounts that a box with the mount table `table` lacks. These are its own cgroups, the files of the running lxcfs in place of an
 * ended one, and empty covers over details of the host's disks. Pure.
 */
export function planLimitMounts(table: readonly MountLine[], { lxcfs, cgroups, covers }: LimitSources): LimitMount[] {
  const has = (path: string, type?: string): boolean =>
    table.some((line) => line.path === path && (type === undefined || line.type === type))
  const plan: LimitMount[] = []
  if (cgroups !== null && !has(`${CGROUP_ROOT}/memory`, 'cgroup')) {
    plan.push({ path: '/sys/fs', stale: 0, source: { path: `${covers}/fs` } })
    for (const [name, path] of Object.entries(cgroups))
      plan.push({ path: `${CGROUP_ROOT}/${name}`, stale: 0, source: { path } })
  }
  for (const path of HIDDEN_FILES) if (!has(path)) plan.push({ path, stale: 0, source: { path: `${covers}/empty` } })
  for (const path of LXCFS_PATHS) {
    const present = table.filter((line) => line.path === path && line.type === LXCFS_TYPE)
    const stale = Math.min(present.filter(({ device }) => device !== lxcfs?.device).length, STALE_MAX)
    const fd = lxcfs?.files.get(path)
    const isLacking = fd !== undefined && present.every(({ device }) => device !== lxcfs?.device)
    if (stale > 0 || isLacking) plan.push({ path, stale, source: isLacking ? { fd } : null })
  }
  return plan
}

/** Creates the files and directories in `directory` that cover files of the host. */
export function prepareCovers(directory: string): void {
  for (const name of CONTROLLERS) fs.mkdirSync(`${directory}/fs/cgroup/${name}`, { recursive: true, mode: 0o755 })
  // Overrides the umask.
  for (const path of ['', '/fs', '/fs/cgroup', ...CONTROLLERS.map((name) => `/fs/cgroup/${name}`)])
    fs.chmodSync(`${directory}${path}`, 0o755)
  fs.writeFileSync(`${directory}/empty`, '')
  fs.chmodSync(`${directory}/empty`, 0o444)
}

/** Clones the planned mounts, read-only. The caller hands the descriptors to the mounter, or closes them. */
export function cloneLimitMounts(plan: readonly LimitMount[]): Cover[] {
  const covers: Cover[] = []
  try {
    for (const { path, stale, source } of plan) covers.push({ path, stale, fd: source && cloneReadOnly(source) })
    return covers
  } catch (error) {
    for (const { fd } of covers) if (fd !== null) closeFd(fd)
    throw error
  }
}

const CGROUP_ROOT = '/sys/fs/cgroup'
const CONTROLLERS = ['cpu', 'cpuacct', 'cpuset', 'memory', 'pids']
const HIDDEN_FILES = ['/proc/diskstats', '/proc/partitions']
/** Limits the requests of a box that can mount. */
const STALE_MAX = 4
const LXCFS_TYPE = 'fuse.lxcfs'
