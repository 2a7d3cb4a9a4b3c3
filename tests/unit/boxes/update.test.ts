import { describe, expect, test } from '@jest/globals'
import { checkMountPath, checkPathIsFree } from '../../../agent/core/boxes/mount-paths.ts'
import { updatedRecord } from '../../../agent/core/boxes/update.ts'
import { limitsOf } from '../../../agent/core/reconcile/box-spec.ts'
import { boxRecord, SMALL_CONFIG } from '../../helpers/boxes/box-records.ts'

const UNBOUNDED = { networkMbps: null, diskMbps: null, diskIops: null }
const DEFAULTS = {
  base: 'debian',
  config: { ...SMALL_CONFIG, ram_mb: 512, storage_gb: 10 },
  gracePeriodSeconds: 10,
  allowsNesting: false,
  hostCores: 4,
  node: 'local',
}
const record = boxRecord({
  environment: { A: '1' },
  tags: { t: 'x' },
  port: 80,
  gracePeriodSeconds: 3,
  urlSettings: { auth: 'public', wake: true, idle_stop_seconds: 9 },
})

describe('an updated record', () => {
  test('is the same object if nothing changes', () => {
    for (const body of [{}, { port: 80 }, { config: {} }, { config: { cpus: 1 } }, { tags: { t: 'x' } }])
      expect(updatedRecord(record, body, DEFAULTS)).toBe(record)
  })

  test.each([
    [{ config: { cpus: 2 } }, { config: { ...record.config, cpus: 2 } }],
    [{ config: { cpus: null, ram_mb: 99 } }, { config: { ...record.config, cpus: 1, ram_mb: 99 } }],
    [{ config: null }, { config: DEFAULTS.config }],
    [{ port: 0 }, { port: null }],
    [{ port: null }, { port: null }],
    [{ environment: { B: '2' } }, { environment: { B: '2' } }],
    [
      { environment: null, tags: null },
      { environment: {}, tags: {} },
    ],
    [{ termination_grace_period_seconds: 0 }, { gracePeriodSeconds: 0 }],
    [{ termination_grace_period_seconds: null }, { gracePeriodSeconds: 10 }],
    [{ url_settings: { wake: false } }, { urlSettings: { auth: 'public', wake: false, idle_stop_seconds: 9 } }],
    [
      { url_settings: { idle_stop_seconds: null, auth: null } },
      { urlSettings: { auth: 'token', wake: true, idle_stop_seconds: null } },
    ],
    [{ url_settings: null }, { urlSettings: { auth: 'token', wake: false, idle_stop_seconds: null } }],
  ])('by %j has what is given and keeps the rest', (body, changes) => {
    expect(updatedRecord(record, body, DEFAULTS)).toEqual({ ...record, ...changes })
  })

  test('has no foreign region and no reserved name', () => {
    expect(() => updatedRecord(record, { config: { region: 'mars' } }, DEFAULTS)).toThrow(/must be "local"/)
    expect(() => updatedRecord(record, { environment: { BOX_ID: '1' } }, DEFAULTS)).toThrow(/BOX_ID/)
    expect(updatedRecord(record, { config: { region: 'local' } }, DEFAULTS)).toBe(record)
  })

  test('has no more processors than the host, unless it has them already', () => {
    expect(() => updatedRecord(record, { config: { cpus: 4.1 } }, DEFAULTS)).toThrow(/at most 4, the CPUs/)
    expect(updatedRecord(record, { config: { cpus: 4 } }, DEFAULTS).config.cpus).toBe(4)
    const large = boxRecord({ config: { ...record.config, cpus: 16 } })
    expect(updatedRecord(large, { config: { cpus: 16 } }, DEFAULTS)).toBe(large)
  })

  test.each([
    ['network_mbps', 'networkMbps'],
    ['disk_mbps', 'diskMbps'],
    ['disk_iops', 'diskIops'],
  ] as const)('has no more %s than a box of the deployment may have', (name, share) => {
    const bounded = { ...DEFAULTS, config: { ...DEFAULTS.config, [name]: 100 } }
    const updated = (given: number | null) => updatedRecord(record, { config: { [name]: given } }, bounded)
    expect(() => updated(101)).toThrow(/must be at most 100 /)
    expect([100, 7, null].map((given) => updated(given).config[name])).toEqual([100, 7, 100])
    expect(limitsOf(record, { ...UNBOUNDED, [share]: 100 })[share]).toBe(100)
    expect(limitsOf(updated(7), { ...UNBOUNDED, [share]: 3 })[share]).toBe(3)
    expect(limitsOf(record, UNBOUNDED)[share]).toBeNull()
  })
})

test('/dev/shm is half of the memory, unless it is set, and no more than all of it', () => {
  const shmOf = (config: Partial<typeof SMALL_CONFIG>): number =>
    limitsOf({ config: { ...SMALL_CONFIG, ...config } }, UNBOUNDED).shmMb
  expect([shmOf({}), shmOf({ ram_mb: 513 }), shmOf({ shm_mb: 7 }), shmOf({ shm_mb: 900 })]).toEqual([32, 256, 7, 64])
})

describe('where a volume may be mounted', () => {
  test.each(['/a', '/a/b.c/d e', '/процес', '/proces', '/devices', '/.hidden', '/a..b', '/run/x'])('%s', (path) => {
    expect(() => checkMountPath(path)).not.toThrow()
  })

  test.each([
    '/',
    '//',
    '/a/',
    '/a//b',
    '/.',
    '/..',
    '/a/./b',
    '/a/..',
    '/proc',
    '/proc/1',
    '/sys',
    '/sys/x',
    '/dev/shm',
  ])('%s is refused', (path) => {
    expect(() => checkMountPath(path)).toThrow(expect.objectContaining({ code: 'path_invalid' }))
  })

  test('not at or above another mount, but below and beside it', () => {
    const mounts = [{ name: 'v', path: '/a/b' }]
    for (const path of ['/a/b', '/a'])
      expect(() => checkPathIsFree(path, mounts)).toThrow(expect.objectContaining({ code: 'mount_path_taken' }))
    for (const path of ['/a/b/c', '/a/bc', '/ab']) expect(() => checkPathIsFree(path, mounts)).not.toThrow()
  })
})
