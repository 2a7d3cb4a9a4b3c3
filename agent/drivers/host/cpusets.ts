import fs from 'node:fs'
import { readTextIfThere } from '../../lib/disk/file-text.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'
import type { CgroupLayout } from './cgroup/layout.ts'
import { type BoundBox, chooseCpus, parseCpus, planMoves } from './cpu-choice.ts'

/** Binds each box to as many CPUs as its limit allows, so that programs which count CPUs find only those. */
export interface CpuSets {
  /** Gives a new box, whose cgroup exists, all CPUs. With version 1 nothing can run in it before. */
  admit(boxId: string): void
  /** Binds a box to `cpus` CPUs, rounded up. Keeps its current CPUs where they still fit. */
  bind(boxId: string, cpus: number): void
  /**
   * Binds running boxes to other CPUs where that spreads their usage since the last call more evenly. `usage` returns the CPU seconds of a
   * box since its start, or null if it is gone.
   */
  balance(usage: (boxId: string) => number | null): void
  forget(boxId: string): void
}

interface CpuSetPaths {
  /** The parent cgroup of all boxes, below the mount point, beginning with a slash. */
  above: string
  home(root: string, boxId: string): string
  /** If true, every box has all CPUs of the host. */
  bindsAll: boolean
}

/** Opens the CPU sets of an instance, or returns null where the host has none. */
export function openCpuSets({ version, cpuset }: CgroupLayout, paths: CpuSetPaths): CpuSets | null {
  if (cpuset === null || !fs.existsSync(`${cpuset}${paths.above}/cpuset.cpus`)) return null
  const { bindsAll } = paths
  const above = `${cpuset}${paths.above}`
  const home = (boxId: string): string => paths.home(cpuset, boxId)
  const effective = version === 1 ? 'cpuset.effective_cpus' : 'cpuset.cpus.effective'
  const seen = new Map<string, { usage: number; at: number }>()
  let bound: Map<string, BoundBox> | undefined
  // The kernel keeps the sets. This reads them once and writes through.
  const boxes = (): Map<string, BoundBox> => {
    bound ??= new Map(listBoxes(above).map((id) => [id, { id, cpus: readCpus(`${home(id)}/cpuset.cpus`), load: 0 }]))
    return bound
  }
  const available = (): number[] => readCpus(`${above}/${effective}`)
  const write = (id: string, cpus: readonly number[], load: number): void => {
    fs.writeFileSync(`${home(id)}/cpuset.cpus`, cpus.join(','))
    boxes().set(id, { id, cpus, load })
  }
  return {
    admit: (boxId) => {
      if (version === 1) inheritCpus(home(boxId))
    },
    bind: (boxId, cpus) => {
      const { cpus: held = [] } = boxes().get(boxId) ?? {}
      const all = available()
      const others = [...boxes().values()].filter(({ id, cpus: theirs }) => id !== boxId && theirs.length > 0)
      const count = bindsAll ? all.length : Math.max(1, Math.ceil(cpus))
      // Until its use is known, a box counts with its limit.
      write(boxId, chooseCpus({ available: all, held, count }, others), cpus)
    },
    balance: (usage) => {
      if (bindsAll || boxes().size === 0) return
      const now = performance.now()
      for (const box of boxes().values()) {
        const before = seen.get(box.id)
        const used = usage(box.id)
        if (used === null) continue
        seen.set(box.id, { usage: used, at: now })
        if (before !== undefined)
          boxes().set(box.id, { ...box, load: ((used - before.usage) * 1000) / (now - before.at) })
      }
      for (const { id, cpus } of planMoves(
        [...boxes().values()].filter((box) => box.cpus.length > 0),
        available(),
      ))
        ifThere(() => write(id, cpus, boxes().get(id)?.load ?? 0))
    },
    forget: (boxId) => {
      bound?.delete(boxId)
      seen.delete(boxId)
    },
  }
}

/** Gives a version 1 cgroup the CPUs and memory nodes of the one above it, without which nothing can run in it. */
export function inheritCpus(path: string): void {
  for (const name of ['cpuset.mems', 'cpuset.cpus'])
    fs.writeFileSync(`${path}/${name}`, fs.readFileSync(`${path}/../${name}`))
}

function listBoxes(above: string): string[] {
  const entries = fs.readdirSync(above, { withFileTypes: true })
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
}

function readCpus(file: string): number[] {
  return parseCpus(readTextIfThere(file))
}

function ifThere(act: () => void): void {
  try {
    act()
  } catch (error) {
    if (!isErrno(error, 'ENOENT', 'ENODEV')) throw error
  }
}
