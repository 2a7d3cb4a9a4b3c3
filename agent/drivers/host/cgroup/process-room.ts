import { readTextIfThere } from '../../../lib/disk/file-text.ts'

/** How many processes and threads a box may have, and whether the kernel refused to start some. */
export interface ProcessRoom {
  /** Null for unlimited. */
  max: number | null
  /** How many more can start now. Null for unlimited. */
  free: number | null
  /** How often the kernel has refused to start one, in all. */
  refusals: number
}

/**
 * Reads the pids controller of a box at `home`. Kernels count a refusal in the cgroup that has the limit (since 6.11, version 2), or else
 * in the cgroup of the refused process. `below` lists the cgroups to include for the latter.
 */
export function readProcessRoom(home: string, below: readonly string[]): ProcessRoom {
  const max = numberIn(`${home}/pids.max`)
  const current = numberIn(`${home}/pids.current`) ?? 0
  const refusals = [home, ...below].reduce((sum, path) => sum + readRefusals(path), 0)
  return { max, free: max === null ? null : Math.max(0, max - current), refusals }
}

function readRefusals(path: string): number {
  return Number(/^max (\d+)$/m.exec(readTextIfThere(`${path}/pids.events`))?.[1] ?? 0)
}

function numberIn(file: string): number | null {
  const text = readTextIfThere(file).trim()
  return /^\d+$/.test(text) ? Number(text) : null
}
