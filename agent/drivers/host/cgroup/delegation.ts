import fs from 'node:fs'
import { isErrno } from '../../../lib/syscalls/libc.ts'

/**
 * Delegates a box's cgroup of version 2 to host id `owner`, so that programs in the box can make cgroups below it. Moves `init` out of it,
 * since a cgroup with controllers below has no processes of its own. The limits of the cgroup itself stay with the host's root. The same
 * applies to the limits on the number and depth of the cgroups below, and the choice of their controllers. Throws if init has ended.
 */
export function delegateCgroup(path: string, { owner, init }: { owner: number; init: number }): void {
  fs.mkdirSync(`${path}/${INIT_LEAF}`)
  fs.writeFileSync(`${path}/${INIT_LEAF}/cgroup.procs`, String(init))
  fs.writeFileSync(`${path}/cgroup.max.descendants`, String(DESCENDANTS_MAX))
  fs.writeFileSync(`${path}/cgroup.max.depth`, String(DEPTH_MAX))
  enableControllers(path)
  for (const file of ['', ...DELEGATED_FILES]) fs.chownSync(`${path}/${file}`, owner, owner)
}

/**
 * Takes the choice of controllers back from a running box that got it from an older version, and the controller `io` from all cgroups
 * below. Does nothing for any other box. Throws if the box enables `io` faster than this disables it.
 */
export function retakeControllers(path: string): void {
  const file = `${path}/${CONTROL}`
  if (!fs.existsSync(`${path}/${INIT_LEAF}`) || fs.statSync(file).uid === 0) return
  fs.chownSync(file, 0, 0)
  for (let round = 1; ; round++) {
    // Children first, since the kernel disables no controller that a cgroup below has enabled.
    for (const each of cgroupsBelow(path)) control(`${each}/${CONTROL}`, '-io')
    if (control(file, '-io')) break
    if (round === RETAKE_ROUNDS) throw new Error(`the box enables io below ${path} faster than it is disabled`)
  }
  enableControllers(path)
}

// Never io: with io.max a box would hold up its own sync, and with it the commit of the pool that all boxes wait for.
function enableControllers(path: string): void {
  const present = new Set(fs.readFileSync(`${path}/cgroup.controllers`, 'utf8').trim().split(' '))
  for (const name of DELEGATED_CONTROLLERS.filter((each) => present.has(each)))
    control(`${path}/${CONTROL}`, `+${name}`)
}

// Returns false if the cgroup has processes, or one below it has the controller enabled.
function control(file: string, change: string): boolean {
  try {
    fs.writeFileSync(file, change)
    return true
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENODEV')) return true
    if (isErrno(error, 'EBUSY')) return false
    throw error
  }
}

/** Returns the cgroup that processes of a box can join, which is init's if the box's cgroup is delegated. */
export function processHome(path: string): string {
  const leaf = `${path}/${INIT_LEAF}`
  return fs.existsSync(leaf) ? leaf : path
}

/** Returns true if a cgroup below a box's is one of the agent's for a command, and not one that the box made. */
export function isOfCommand(path: string): boolean {
  return !path.endsWith(`/${INIT_LEAF}`) && fs.statSync(path, { throwIfNoEntry: false })?.uid === 0
}

/** Lists all cgroups below one, children before their parents. */
export function cgroupsBelow(path: string): string[] {
  return childrenOf(path).flatMap((name) => [...cgroupsBelow(`${path}/${name}`), `${path}/${name}`])
}

function childrenOf(path: string): string[] {
  try {
    // A cgroup has one link for each child: to read the directory, with its 60 files, takes five times as long.
    if (fs.statSync(path).nlink === LINKS_OF_LEAF) return []
    const entries = fs.readdirSync(path, { withFileTypes: true })
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENODEV')) return []
    throw error
  }
}

// The name that lxcfs takes for the cgroup above it, whose limits and use are the box's.
const INIT_LEAF = 'init.scope'
const CONTROL = 'cgroup.subtree_control'
// Only the files that move processes, of all files that the kernel lists in /sys/kernel/cgroup/delegate.
const DELEGATED_FILES = ['cgroup.procs', 'cgroup.threads']
const DELEGATED_CONTROLLERS = ['cpuset', 'cpu', 'memory', 'pids']
const RETAKE_ROUNDS = 20
const LINKS_OF_LEAF = 2
/**
 * Maximum number of cgroups below a box's cgroup, the cgroups of its commands included. Linux 6.12 takes 20 KiB for each, and 22 KiB for
 * each pressure trigger, and charges no cgroup for that. The agent reads all of them, at about 60 µs each, when it stops the box.
 */
export const DESCENDANTS_MAX = 256
const DEPTH_MAX = 16
