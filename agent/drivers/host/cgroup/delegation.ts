import fs from 'node:fs'
import { isErrno } from '../../../lib/syscalls/libc.ts'

/**
 * Delegates a box's cgroup of version 2 to host id `owner`, so that programs in the box make cgroups below it, and moves `init` out
 * of it, since a cgroup with controllers below has no processes of its own. The limits of the cgroup itself stay with the host's root,
 * and so do those on the number and depth of what is made below. Throws if init has ended.
 */
export function delegateCgroup(path: string, { owner, init }: { owner: number; init: number }): void {
  fs.mkdirSync(`${path}/${INIT_LEAF}`)
  fs.writeFileSync(`${path}/${INIT_LEAF}/cgroup.procs`, String(init))
  fs.writeFileSync(`${path}/cgroup.max.descendants`, String(DESCENDANTS_MAX))
  fs.writeFileSync(`${path}/cgroup.max.depth`, String(DEPTH_MAX))
  for (const file of ['', ...DELEGATED_FILES]) fs.chownSync(`${path}/${file}`, owner, owner)
}

/** Returns the cgroup in which processes of a box's cgroup may be: that of init, if it is delegated. */
export function processHome(path: string): string {
  const leaf = `${path}/${INIT_LEAF}`
  return fs.existsSync(leaf) ? leaf : path
}

/** Tests whether a cgroup below a box's is one of the agent's for a command, and not one that the box made. */
export function isOfCommand(path: string): boolean {
  return !path.endsWith(`/${INIT_LEAF}`) && fs.statSync(path, { throwIfNoEntry: false })?.uid === 0
}

/** Lists all cgroups below one, children before their parents. */
export function cgroupsBelow(path: string): string[] {
  return childrenOf(path).flatMap((name) => [...cgroupsBelow(`${path}/${name}`), `${path}/${name}`])
}

function childrenOf(path: string): string[] {
  try {
    const entries = fs.readdirSync(path, { withFileTypes: true })
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENODEV')) return []
    throw error
  }
}

// The name that lxcfs takes for the cgroup above it, whose limits and use are the box's.
const INIT_LEAF = 'init.scope'
// Those that the kernel lists in /sys/kernel/cgroup/delegate, as far as they set no limit.
const DELEGATED_FILES = ['cgroup.procs', 'cgroup.threads', 'cgroup.subtree_control']
const DESCENDANTS_MAX = 1024
const DEPTH_MAX = 16
