import type { BoxRecord } from '../../../agent/ports/store/boxes.ts'
import { newId } from '../../../shared/ids.ts'

/** The configuration of a small box without network and disk limits. */
export const SMALL_CONFIG: BoxRecord['config'] = {
  cpus: 1,
  ram_mb: 64,
  region: 'local',
  storage_gb: 1,
  network_mbps: null,
  disk_mbps: null,
  disk_iops: null,
  nesting: false,
  shm_mb: null,
  core_dumps: false,
}

/** Returns a complete record of a newly created box. `overrides` replaces fields. */
export function boxRecord(overrides: Partial<BoxRecord> = {}): BoxRecord {
  const id = overrides.id ?? newId('box', 1_700_000_000_000)
  return {
    id,
    project: 'demo',
    name: 'web',
    version: 1,
    createdAt: 1000,
    updatedAt: 1000,
    base: 'busybox',
    baseId: null,
    forkOf: null,
    root: `sub_${id}`,
    desired: { power: 'running', generation: 1 },
    observed: {
      status: 'pending',
      reason: 'creating',
      message: null,
      since: 1000,
      generation: 0,
      bootId: null,
    },
    config: SMALL_CONFIG,
    environment: {},
    tags: {},
    port: null,
    domains: [],
    gracePeriodSeconds: 10,
    leaseUntil: null,
    urlSettings: { auth: 'token', wake: false, idle_stop_seconds: null },
    mounts: [],
    restore: null,
    restoreFault: null,
    createdBy: { token: 'tok_a', idempotencyKey: null },
    ...overrides,
  }
}
