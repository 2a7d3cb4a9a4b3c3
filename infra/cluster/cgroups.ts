import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

// All processes of a cluster, including its containers, stay in its cgroups, so they are found even after their parents died.

/** Returns the name of a cluster's cgroup, the same in every hierarchy. */
export function clusterCgroup(name: string): string {
  return `boxyard-cluster-${name}`
}

/** Creates a cgroup, of a cluster or of one of its nodes, in all hierarchies. Returns the `cgroup.procs` file by which a part joins it. */
export function createCgroups(cgroup: string): string {
  for (const { root, controllers } of limitingHierarchies()) {
    let path = root
    if (controllers === null) delegateControllers(path)
    for (const level of cgroup.split('/')) {
      path = join(path, level)
      mkdirSync(path, { recursive: true })
      // In version 2, a cgroup can give controllers to its children only while it has no process itself.
      if (controllers === null) delegateControllers(path)
      if (!controllers?.includes('cpuset')) continue
      for (const file of ['cpuset.cpus', 'cpuset.mems']) writeFileSync(join(path, file), readFileSync(join(root, file)))
    }
  }
  const parts = partsCgroup(cgroup)
  mkdirSync(parts, { recursive: true })
  return join(parts, 'cgroup.procs')
}

/** Kills every process in and below a cgroup and removes it. Returns false if some remain after `patienceMs`. */
export async function destroyCgroups(cgroup: string, patienceMs = 10_000): Promise<boolean> {
  const deadline = performance.now() + patienceMs
  const paths = hierarchies().map(({ root }) => join(root, cgroup))
  for (;;) {
    // A process may fork during the scan, so this rescans until none is left.
    for (const pid of new Set(paths.flatMap(processesBelow))) kill(pid)
    for (const path of paths) removeBelow(path)
    if (!paths.some((path) => existsSync(path))) return true
    if (performance.now() > deadline) return false
    await sleep(20)
  }
}

/** Returns the pids in and below a cgroup, including the pids of containers. */
export function findProcesses(cgroup: string): number[] {
  return [...new Set(hierarchies().flatMap(({ root }) => processesBelow(join(root, cgroup))))]
}

/** Puts the parts in one hierarchy only, which is enough to find them, and keeps them out of the limits of pods. */
function partsCgroup(cgroup: string): string {
  const all = limitingHierarchies()
  const { root } = all.find(({ controllers }) => controllers?.includes('pids')) ?? all[0] ?? { root: CGROUPS }
  return join(root, cgroup, 'parts')
}

interface Hierarchy {
  root: string
  /** Null for version 2. */
  controllers: readonly string[] | null
}

/** Returns the hierarchies that limit pods: version 1, or version 2 if there is no other. */
function limitingHierarchies(): Hierarchy[] {
  const all = hierarchies()
  const first = all.filter(({ controllers }) => controllers !== null)
  return first.length > 0 ? first : all
}

/** Returns all hierarchies, because runc creates cgroups in version 2 even if it limits nothing there. */
function hierarchies(): Hierarchy[] {
  const mounts = readFileSync('/proc/self/mountinfo', 'utf8').split('\n')
  return mounts.flatMap((line): Hierarchy[] => {
    const [fields = '', rest = ''] = line.split(' - ')
    const root = fields.split(' ')[4] ?? ''
    const [type, , options = ''] = rest.split(' ')
    if (!type?.startsWith('cgroup') || !root.startsWith(CGROUPS)) return []
    return [{ root, controllers: type === 'cgroup2' ? null : options.split(',') }]
  })
}

function delegateControllers(directory: string): void {
  const names = readFileSync(join(directory, 'cgroup.controllers'), 'utf8').trim().split(' ')
  for (const name of names) writeFileSync(join(directory, 'cgroup.subtree_control'), `+${name}`)
}

function processesBelow(path: string): number[] {
  const own = readText(join(path, 'cgroup.procs')).split('\n').filter(Boolean).map(Number)
  return [...own, ...children(path).flatMap(processesBelow)]
}

function removeBelow(path: string): void {
  for (const child of children(path)) removeBelow(child)
  try {
    rmdirSync(path)
  } catch {
    // It still holds a process, or is already gone.
  }
}

function children(path: string): string[] {
  try {
    return readdirSync(path, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => join(path, entry.name))
  } catch {
    return []
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended already.
  }
}

const CGROUPS = '/sys/fs/cgroup'
