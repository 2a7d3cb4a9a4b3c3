/** Mount points of the cgroup hierarchies used for boxes. With version 2 they are all the same. */
export interface CgroupLayout {
  version: 1 | 2
  pids: string
  memory: string
  cpu: string
  /** Hierarchy that accounts CPU time, or null if there is none. */
  cpuacct: string | null
  /** Hierarchy that binds processes to CPUs, or null if there is none. */
  cpuset: string | null
  /** Hierarchy that counts disk I/O, or null if there is none. With version 1 only boxes with counters have a cgroup in it. */
  blkio: string | null
  /** Hierarchy in which each command has its own cgroup. With version 1 it is the freezer, which stops a command during its kill. */
  execs: string
}

/** Finds the layout of the host in the text of `/proc/self/mountinfo`. Throws if controllers are missing. Pure. */
export function findCgroupLayout(mountInfo: string): CgroupLayout {
  const mounts = mountInfo.split('\n').flatMap((line) => {
    const [left = '', right = ''] = line.split(' - ')
    const [type = '', , options = ''] = right.split(' ')
    return type.startsWith('cgroup') ? [{ type, path: left.split(' ')[4] ?? '', options: options.split(',') }] : []
  })
  const hierarchy = (controller: string): string | undefined =>
    mounts.find(({ type, options }) => type === 'cgroup' && options.includes(controller))?.path
  const [pids, memory, cpu, freezer] = ['pids', 'memory', 'cpu', 'freezer'].map(hierarchy)
  if (pids !== undefined && memory !== undefined && cpu !== undefined && freezer !== undefined)
    return {
      ...{ version: 1, pids, memory, cpu, execs: freezer },
      ...{ cpuacct: hierarchy('cpuacct') ?? null, cpuset: hierarchy('cpuset') ?? null },
      blkio: hierarchy('blkio') ?? null,
    }
  const unified = mounts.find(({ type }) => type === 'cgroup2')?.path
  if (unified === undefined || memory !== undefined)
    throw new Error('The host has no usable cgroups: the controllers pids, memory and cpu must be in one version.')
  return {
    version: 2,
    pids: unified,
    memory: unified,
    cpu: unified,
    cpuacct: unified,
    cpuset: unified,
    blkio: unified,
    execs: unified,
  }
}

/** Returns the distinct mount points of a layout. */
export function rootsOf({ pids, memory, cpu, cpuacct, cpuset, blkio, execs }: CgroupLayout): string[] {
  return [...new Set([pids, memory, cpu, cpuacct, cpuset, blkio, execs].filter((root) => root !== null))]
}

/** Returns the distinct mount points of the hierarchies in which every box has a cgroup. */
export function requiredRootsOf(layout: CgroupLayout): string[] {
  return rootsOf({ ...layout, blkio: null })
}

/** Returns the cgroup in each version 1 hierarchy that counts or limits, by controller. `home` gives it below a mount point. */
export function controllerHomes(layout: CgroupLayout, home: (root: string) => string): Record<string, string> {
  const { cpu, cpuacct, cpuset, memory, pids } = layout
  const found = Object.entries({ cpu, cpuacct, cpuset, memory, pids })
  return Object.fromEntries(found.flatMap(([name, root]) => (root === null ? [] : [[name, home(root)]])))
}
