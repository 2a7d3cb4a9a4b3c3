import fs from 'node:fs'
import { isErrno } from '../../lib/syscalls/libc.ts'
import type { BoxUsage } from '../../ports/boxes/runtime.ts'
import type { CgroupLayout } from './cgroup/layout.ts'

/** Reads the usage of a box from its cgroups (`home` below each hierarchy) and its init `pid`. Returns null if it is gone. */
export function readUsage(layout: CgroupLayout, home: (root: string) => string, pid: number): BoxUsage | null {
  const { version, cpuacct } = layout
  const isV1 = version === 1
  const [pids, memory] = [home(layout.pids), home(layout.memory)]
  try {
    const memoryBytes = readNumber(`${memory}/${isV1 ? 'memory.usage_in_bytes' : 'memory.current'}`)
    const stat = fs.readFileSync(`${memory}/memory.stat`, 'utf8')
    return {
      cpuSeconds: cpuacct === null ? null : isV1 ? readCpuV1(home(cpuacct)) : readCpuV2(home(cpuacct)),
      memoryBytes,
      cacheBytes: Math.min(memoryBytes, fieldOf(stat, isV1 ? 'total_inactive_file' : 'inactive_file')),
      pids: readNumber(`${pids}/pids.current`),
      network: parseInterface(fs.readFileSync(`/proc/${pid}/net/dev`, 'utf8')),
    }
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENODEV', 'ESRCH', 'EINVAL')) return null
    throw error
  }
}

/** Reads the CPU seconds of a box since its start from its cgroup. Returns null if it is gone, or the host does not count them. */
export function readCpuSeconds({ version, cpuacct }: CgroupLayout, home: (root: string) => string): number | null {
  if (cpuacct === null) return null
  try {
    return version === 1 ? readCpuV1(home(cpuacct)) : readCpuV2(home(cpuacct))
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENODEV')) return null
    throw error
  }
}

/** Sums the counters of all interfaces but loopback in the text of `/proc/<pid>/net/dev`. Pure. */
export function parseInterface(text: string): BoxUsage['network'] {
  const sum = { receivedBytes: 0, receivedPackets: 0, sentBytes: 0, sentPackets: 0 }
  for (const line of text.split('\n')) {
    const [name = '', counts = ''] = line.trim().split(/:\s*/)
    if (counts === '' || name === 'lo') continue
    const [received = 0, receivedPackets = 0, , , , , , , sent = 0, sentPackets = 0] = counts.split(/\s+/).map(Number)
    sum.receivedBytes += received
    sum.receivedPackets += receivedPackets
    sum.sentBytes += sent
    sum.sentPackets += sentPackets
  }
  return sum
}

function readCpuV1(home: string): number {
  return readNumber(`${home}/cpuacct.usage`) / 1e9
}

function readCpuV2(home: string): number {
  return fieldOf(fs.readFileSync(`${home}/cpu.stat`, 'utf8'), 'usage_usec') / 1e6
}

function fieldOf(text: string, name: string): number {
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1] ?? 0)
}

function readNumber(file: string): number {
  return Number(fs.readFileSync(file, 'utf8'))
}
