/** Mount points of the hierarchies that bound and hold boxes; with version 2 they are one. */
export interface CgroupLayout {
  version: 1 | 2
  pids: string
  memory: string
  cpu: string
  /** Where processor time is counted; null: nowhere. */
  cpuacct: string | null
  /** Where each command has a cgroup of its own: the freezer, which can stop it while it is killed. */
  execs: string
}

/** The layout of the host, from the text of `/proc/self/mountinfo`; throws naming what is missing. A pure function. */
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
    return { version: 1, pids, memory, cpu, cpuacct: hierarchy('cpuacct') ?? null, execs: freezer }
  const unified = mounts.find(({ type }) => type === 'cgroup2')?.path
  if (unified === undefined || memory !== undefined)
    throw new Error('The host has no usable cgroups: the controllers pids, memory and cpu must be in one version.')
  return { version: 2, pids: unified, memory: unified, cpu: unified, cpuacct: unified, execs: unified }
}

/** The mount points of a layout, each once. */
export function rootsOf({ pids, memory, cpu, cpuacct, execs }: CgroupLayout): string[] {
  return [...new Set([pids, memory, cpu, ...(cpuacct === null ? [] : [cpuacct]), execs])]
}
