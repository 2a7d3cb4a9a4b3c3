import fs from 'node:fs'
import type { ServiceError } from '../../../shared/errors.ts'
import { refusal } from '../../../shared/refusals.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'

/**
 * Limits the buffers of TCP and UDP sockets of a version 1 cgroup to a quarter of its memory, at least 16 MiB. Unlike version 2, it does
 * not charge them to the memory limit, and does not even count them without their own limit.
 */
export function limitSockets(path: string): void {
  const file = `${path}/memory.kmem.tcp.limit_in_bytes`
  const bytes = Math.max(SOCKETS_MIN, Math.floor(readNumber(`${path}/memory.limit_in_bytes`) / SOCKETS_PART))
  // A kernel that does not count the memory of sockets does not have it.
  if (fs.existsSync(file)) fs.writeFileSync(file, String(bytes))
}

/**
 * Limits the memory of the cgroup at `path` to `ramMb` MiB without swap. If it uses more, the kernel reclaims its caches, off the main
 * thread. If that is not enough, throws `below_use` with the amounts, and leaves the limit unchanged.
 */
export async function setMemoryLimit(path: string, ramMb: number, version: 1 | 2): Promise<void> {
  const bytes = ramMb * MIB
  if (version === 1) await setLimitV1(path, bytes)
  else await setLimitV2(path, bytes)
}

// A kubelet may set the same limits at the same time, which can make the order wrong. Then try again in the right one.
async function setLimitV1(path: string, bytes: number): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await setBoth(path, bytes)
      return limitSockets(path)
    } catch (error) {
      if (!isErrno(error, 'EINVAL') || attempt === ATTEMPTS) throw error
    }
  }
}

// The kernel requires memsw >= memory, so the order depends on the direction.
async function setBoth(path: string, bytes: number): Promise<void> {
  const [memory, both] = [`${path}/memory.limit_in_bytes`, `${path}/memory.memsw.limit_in_bytes`]
  const before = readNumber(memory)
  // A host without swap accounting does not have the memsw file.
  const files = fs.existsSync(both) ? (bytes > before ? [both, memory] : [memory, both]) : [memory]
  try {
    for (const file of files) await write(file, bytes)
  } catch (error) {
    if (!isErrno(error, 'EBUSY')) throw error
    await write(memory, before)
    throw belowUse(readNumber(`${path}/memory.usage_in_bytes`), bytes, error)
  }
}

// Checked first, since a limit below the unreclaimable memory would trigger OOM kills.
async function setLimitV2(path: string, bytes: number): Promise<void> {
  const stat = fs.readFileSync(`${path}/memory.stat`, 'utf8')
  const reclaimable = ['active_file', 'inactive_file', 'slab_reclaimable'].map((name) =>
    Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(stat)?.[1] ?? 0),
  )
  const used = readNumber(`${path}/memory.current`) - reclaimable.reduce((sum, each) => sum + each, 0)
  if (used > bytes) throw belowUse(used, bytes)
  await write(`${path}/memory.max`, bytes)
}

function write(file: string, bytes: number): Promise<void> {
  return fs.promises.writeFile(file, String(bytes))
}

function readNumber(file: string): number {
  return Number(fs.readFileSync(file, 'utf8'))
}

function belowUse(usedBytes: number, askedBytes: number, cause?: unknown): ServiceError {
  const [used, asked] = [Math.ceil(usedBytes / MIB), Math.floor(askedBytes / MIB)]
  return refusal(
    'below_use',
    [
      `\`ram_mb\`: the box uses ${used} MiB of memory, more than the ${asked} MiB asked for.`,
      'Stop programs in it, or ask for more.',
    ],
    {
      cause,
    },
  )
}

const ATTEMPTS = 10
const SOCKETS_PART = 4
const MIB = 1024 * 1024
const SOCKETS_MIN = 16 * MIB
