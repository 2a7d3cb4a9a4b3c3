import fs from 'node:fs'
import { ServiceError } from '../../../shared/errors.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'

/**
 * Bounds the memory of the cgroup at `path`, of a hierarchy of that version, by `ramMb` MiB without swap, from now on; to get
 * below what is used its caches are given up, off the main thread. Throws `below_use` with figures and nothing changed.
 */
export async function setMemoryLimit(path: string, ramMb: number, version: 1 | 2): Promise<void> {
  const bytes = ramMb * MIB
  if (version === 1) await setFirst(path, bytes)
  else await setSecond(path, bytes)
}

// Somebody else may set the same limits meanwhile, as a kubelet does: then the order was wrong, and is chosen anew.
async function setFirst(path: string, bytes: number): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await setBoth(path, bytes)
    } catch (error) {
      if (!isErrno(error, 'EINVAL') || attempt === ATTEMPTS) throw error
    }
  }
}

// Memory and swap together may never be less than memory alone, so the order depends on the direction.
async function setBoth(path: string, bytes: number): Promise<void> {
  const [memory, both] = [`${path}/memory.limit_in_bytes`, `${path}/memory.memsw.limit_in_bytes`]
  const before = readNumber(memory)
  // A host without swap accounting has no such file.
  const files = fs.existsSync(both) ? (bytes > before ? [both, memory] : [memory, both]) : [memory]
  try {
    for (const file of files) await write(file, bytes)
  } catch (error) {
    if (!isErrno(error, 'EBUSY')) throw error
    await write(memory, before)
    throw belowUse(readNumber(`${path}/memory.usage_in_bytes`), bytes, error)
  }
}

// To write a limit below what cannot be reclaimed would make the kernel end processes.
async function setSecond(path: string, bytes: number): Promise<void> {
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
  return new ServiceError('below_use', `The box uses ${used} MiB of memory, more than the ${asked} MiB asked for.`, {
    cause,
  })
}

const ATTEMPTS = 10
const MIB = 1024 * 1024
