import { expect, test } from '@jest/globals'
import { withUnits } from '../../../cli/output/units.ts'
import { LIMIT_TEXTS } from '../../../shared/schemas/limits.ts'

test('sizes of every unit and times have one form', () => {
  const config = { ram_mb: 512, cpus: 0.5, storage_gb: null, grace_period_seconds: 10 }
  const limits = {
    ...{ exec_kept_bytes: 4 * 1024 ** 2, unread_input_bytes_at_once: 64 * 1024 ** 2, idempotency_bytes_kept: 1000 },
    ...{ unread_output_bytes_per_second: 1536, audit_keep_seconds: 7_776_000, requests_per_second: 200 },
    ...{ wait_seconds: 25, ticket_keep_seconds: 5430, none_seconds: 0, record_bytes_per_project: 1024 ** 3 },
  }
  expect(withUnits({ defaults: { config, volume_size_gb: 1 }, limits, bases: ['debian'] })).toEqual({
    defaults: {
      config: { ram_mb: '512 MiB', cpus: 0.5, storage_gb: null, grace_period_seconds: '10s' },
      volume_size_gb: '1.0 GiB',
    },
    limits: {
      ...{ exec_kept_bytes: '4.0 MiB', unread_input_bytes_at_once: '64.0 MiB', idempotency_bytes_kept: '1000 B' },
      ...{ unread_output_bytes_per_second: '1.5 KiB/s', audit_keep_seconds: '90d', requests_per_second: 200 },
      ...{ wait_seconds: '25s', ticket_keep_seconds: '1h 30m 30s', none_seconds: '0s' },
      record_bytes_per_project: '1.0 GiB',
    },
    bases: ['debian'],
  })
})

test('no limit that is a size or a time is a bare number', () => {
  const limits = Object.fromEntries(Object.keys(LIMIT_TEXTS).map((name) => [name, 4096]))
  const bare = Object.entries(withUnits(limits) as Record<string, unknown>).filter(([, value]) => value === 4096)
  expect(bare.map(([name]) => name).filter((name) => /bytes|_[mg]b(_|$)|seconds/.test(name))).toEqual([])
})
