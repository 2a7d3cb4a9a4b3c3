import { readFileSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { availableParallelism, loadavg } from 'node:os'
import type { HostFacts } from '../../ports/host/facts.ts'

/** Creates `HostFacts` of a Linux host, which reads /proc and statfs. */
export function createLinuxHost(): HostFacts {
  return {
    load: () => {
      const [one = 0, five = 0, fifteen = 0] = loadavg()
      return {
        cpu: { cores: availableParallelism(), load_avg_1: one, load_avg_5: five, load_avg_15: fifteen },
        memory: readMemory(),
      }
    },
    storage: async (path) => {
      const { bsize, blocks, bfree, bavail } = await statfs(path)
      return {
        path,
        totalBytes: blocks * bsize,
        usedBytes: (blocks - bfree) * bsize,
        availableBytes: bavail * bsize,
      }
    },
  }
}

/** Returns the id of the current boot. Processes of another boot are gone. */
export function readBootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
}

// Values of proc_meminfo(5) are in KiB. MemAvailable is the memory available without swapping.
function readMemory(): { total_bytes: number; used_bytes: number; available_bytes: number } {
  const text = readFileSync('/proc/meminfo', 'utf8')
  const field = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1] ?? 0) * 1024
  const total = field('MemTotal')
  const available = field('MemAvailable')
  return { total_bytes: total, used_bytes: total - available, available_bytes: available }
}
