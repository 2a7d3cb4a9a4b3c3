import fs from 'node:fs'
import { openCpuSets } from '../cpusets.ts'
import { readCpuSeconds } from '../usage.ts'
import { type CgroupLayout, controllerHomes } from './layout.ts'
import { cpusOf } from './limits.ts'
import { moveInto } from './paths.ts'

/** The CPUs that boxes are bound to. The kubelet manages them for boxes in a pod. */
export interface BoxCpus {
  /** Gives a box, whose cgroups exist, all CPUs until it is bound, so that it starts faster. */
  admit(boxId: string): void
  bind(boxId: string, cpus: number): void
  forget(boxId: string): void
  /** Returns true if a box has a cgroup in the hierarchy mounted at `root`. */
  hasGroup(root: string, boxId: string): boolean
  /** Binds a running box that an older version started without binding. */
  upgrade(boxId: string): void
  balanceCpus(): void
  directories(boxId: string): Record<string, string> | null
}

interface BoxCpusOptions {
  /** The parent cgroup of the boxes, below the mount point of each hierarchy. */
  parent: string
  home(root: string, boxId: string): string
  /** True for a box in a pod. */
  isPlaced(boxId: string): boolean
  processes(boxId: string): number[]
  bindsCpus: boolean
}

/** Opens the CPU sets of an instance's boxes. Their parent cgroups must be prepared. */
export function openBoxCpus(layout: CgroupLayout, options: BoxCpusOptions): BoxCpus {
  const { parent, home, isPlaced, processes, bindsCpus } = options
  const { version, cpu, cpuset, blkio } = layout
  const sets = openCpuSets(layout, { above: parent, home, bindsAll: !bindsCpus })
  const bind = (boxId: string, cpus: number): void => {
    if (!isPlaced(boxId)) sets?.bind(boxId, cpus)
  }
  return {
    admit: (boxId) => sets?.admit(boxId),
    bind,
    forget: (boxId) => sets?.forget(boxId),
    hasGroup: (root, boxId) =>
      !(root === blkio || (root === cpuset && isPlaced(boxId))) || fs.existsSync(home(root, boxId)),
    upgrade: (boxId) => {
      const path = cpuset === null || isPlaced(boxId) ? null : home(cpuset, boxId)
      if (version === 2 || path === null || fs.existsSync(path)) return
      fs.mkdirSync(path)
      sets?.admit(boxId)
      bind(boxId, cpusOf(home(cpu, boxId)))
      moveInto(path, () => processes(boxId))
    },
    balanceCpus: () => sets?.balance((boxId) => readCpuSeconds(layout, (root) => home(root, boxId))),
    directories: (boxId) => (version === 1 ? controllerHomes(layout, (root) => home(root, boxId)) : null),
  }
}
