import { checked, lazyNative } from './libc.ts'

/**
 * Reserves `count` descriptors, at most half of all, for work in `useReservedDescriptors`. All other work meets the limit that much
 * earlier. Programs started after this inherit that limit as their soft one.
 */
export function reserveDescriptors(count: number): void {
  const { hard } = readLimit()
  const kept = BigInt(count) < hard / 2n ? BigInt(count) : hard / 2n
  hasReserve = true
  setLimit({ soft: hard - kept, hard })
}

/** Runs `work`, which must be synchronous, with the descriptors that were kept back for it. */
export function useReservedDescriptors<T>(work: () => T): T {
  if (!hasReserve) return work()
  const usual = readLimit()
  setLimit({ soft: usual.hard, hard: usual.hard })
  try {
    return work()
  } finally {
    setLimit(usual)
  }
}

interface Limit {
  soft: bigint
  hard: bigint
}

function readLimit(): Limit {
  const limit = Buffer.alloc(LIMIT_BYTES)
  checked(getrlimit()(RLIMIT_NOFILE, limit), 'getrlimit')
  return { soft: limit.readBigUInt64LE(0), hard: limit.readBigUInt64LE(8) }
}

function setLimit({ soft, hard }: Limit): void {
  const limit = Buffer.alloc(LIMIT_BYTES)
  limit.writeBigUInt64LE(soft, 0)
  limit.writeBigUInt64LE(hard, 8)
  checked(setrlimit()(RLIMIT_NOFILE, limit), 'setrlimit')
}

let hasReserve = false

const RLIMIT_NOFILE = 7
const LIMIT_BYTES = 16

const getrlimit = lazyNative<(resource: number, limit: Buffer) => number>(null, 'getrlimit', {
  result: 'int',
  args: ['int', 'void *'],
})
const setrlimit = lazyNative<(resource: number, limit: Buffer) => number>(null, 'setrlimit', {
  result: 'int',
  args: ['int', 'void *'],
})
