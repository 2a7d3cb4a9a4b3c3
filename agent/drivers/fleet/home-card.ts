import type { BoxConfig } from '../../../shared/schemas/boxes.ts'
import { timestamp } from '../../../shared/time.ts'
import type { HomeCard } from '../../ports/fleet/directory.ts'

/** Builds the cached summary of a `Home`. Leaves out null values. */
export function encodeCard({ createdAt, base, forkOf, port, config, storageGb }: HomeCard): Record<string, unknown> {
  const limits = config && {
    cpus: config.cpus,
    ramMb: config.ram_mb,
    region: config.region,
    networkMbps: config.network_mbps,
    diskMbps: config.disk_mbps,
    diskIops: config.disk_iops,
    nesting: config.nesting,
    shmMb: config.shm_mb,
    coreDumps: config.core_dumps,
  }
  const all = { base, forkOf, port, createdAt: timestamp(createdAt), config: withoutNull({ ...limits, storageGb }) }
  return withoutNull(all)
}

/** Reads the cached summary of a `Home`, or returns null if it has none. */
export function decodeCard(card: unknown): HomeCard | null {
  const { createdAt, base, forkOf, port, config } = (card ?? {}) as Record<string, unknown>
  const time = timeOr(createdAt)
  const { storageGb, ...limits } = (config ?? {}) as Record<string, unknown>
  if (time === null || typeof storageGb !== 'number') return null
  return {
    createdAt: time,
    base: typeof base === 'string' ? base : null,
    forkOf: typeof forkOf === 'string' ? forkOf : null,
    port: numberOr(port),
    config: decodeConfig(limits, storageGb),
    storageGb,
  }
}

function decodeConfig(limits: Record<string, unknown>, storageGb: number): BoxConfig | null {
  const { cpus, ramMb, region } = limits
  if (typeof cpus !== 'number' || typeof ramMb !== 'number' || typeof region !== 'string') return null
  return {
    cpus,
    ram_mb: ramMb,
    region,
    storage_gb: storageGb,
    network_mbps: numberOr(limits['networkMbps']),
    disk_mbps: numberOr(limits['diskMbps']),
    disk_iops: numberOr(limits['diskIops']),
    nesting: limits['nesting'] === true,
    shm_mb: numberOr(limits['shmMb']),
    core_dumps: limits['coreDumps'] === true,
  }
}

function withoutNull(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null))
}

function numberOr(value: unknown): number | null {
  return typeof value === 'number' ? value : null
}

function timeOr(value: unknown): number | null {
  const time = typeof value === 'string' ? Date.parse(value) : Number.NaN
  return Number.isNaN(time) ? null : time
}
