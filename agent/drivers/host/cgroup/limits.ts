import fs from 'node:fs'
import { readTextIfThere } from '../../../lib/disk/file-text.ts'
import { isErrno } from '../../../lib/syscalls/libc.ts'
import { limitSockets } from '../memory.ts'

/** Sets the limits of a box for memory, without swap, and processes. */
export function limitBox(
  paths: { memory: string; pids: string },
  { ramMb, pidsMax }: { ramMb: number; pidsMax: number },
  isV1: boolean,
): void {
  const bytes = String(ramMb * 1024 * 1024)
  fs.writeFileSync(`${paths.pids}/pids.max`, String(pidsMax))
  fs.writeFileSync(`${paths.memory}/${isV1 ? 'memory.limit_in_bytes' : 'memory.max'}`, bytes)
  // No swap. A host without swap accounting does not have the file.
  const swap = isV1 ? 'memory.memsw.limit_in_bytes' : 'memory.swap.max'
  if (fs.existsSync(`${paths.memory}/${swap}`)) fs.writeFileSync(`${paths.memory}/${swap}`, isV1 ? bytes : '0')
  if (isV1) limitSockets(paths.memory)
}

/** Sets the CPU limit of a cgroup, in CPUs. */
export function limitCpus(path: string, cpus: number, isV1: boolean): void {
  const quota = quotaOf(cpus)
  if (isV1) fs.writeFileSync(`${path}/cpu.cfs_quota_us`, String(quota))
  else fs.writeFileSync(`${path}/cpu.max`, `${quota} ${PERIOD_US}`)
}

/**
 * Lifts the CPU limits of version 2 cgroups that a box with nesting has made, after their processes were killed. They need CPU time to end.
 * The box could have left a thousand of them 1 ms a second, which takes minutes.
 */
export function liftCpuLimits(paths: readonly string[]): void {
  for (const file of paths.map((path) => `${path}/cpu.max`))
    try {
      if (/^\d/.test(readTextIfThere(file))) fs.writeFileSync(file, 'max')
    } catch (error) {
      if (!isErrno(error, 'ENOENT', 'ENODEV')) throw error
    }
}

function quotaOf(cpus: number): number {
  return Math.max(MIN_QUOTA_US, Math.round(cpus * PERIOD_US))
}

/** As `BoxCgroups.raiseParent`. */
export function raiseParent(
  homes: { memory: string; cpu: string },
  { cpus, ramMb }: { cpus: number; ramMb: number },
  isV1: boolean,
): void {
  raise(`${homes.memory}/../${isV1 ? 'memory.limit_in_bytes' : 'memory.max'}`, ramMb * 1024 * 1024)
  raise(`${homes.cpu}/../${isV1 ? 'cpu.cfs_quota_us' : 'cpu.max'}`, quotaOf(cpus), isV1 ? '' : ` ${PERIOD_US}`)
}

// Does not change a file without a limit (`max` or -1).
function raise(file: string, value: number, rest = ''): void {
  const now = Number.parseInt(fs.readFileSync(file, 'utf8'), 10)
  if (now > 0 && now < value) fs.writeFileSync(file, `${value}${rest}`)
}

/** Returns the CPU limit of a version 1 cgroup, in CPUs. */
export function cpusOf(path: string): number {
  return Number(fs.readFileSync(`${path}/cpu.cfs_quota_us`, 'utf8')) / PERIOD_US
}

const PERIOD_US = 100_000
const MIN_QUOTA_US = 1_000
