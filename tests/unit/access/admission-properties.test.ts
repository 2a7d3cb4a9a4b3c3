import assert from 'node:assert/strict'
import { test } from '@jest/globals'
import fc from 'fast-check'
import { createAdmission, UNLIMITED_QUOTA } from '../../../agent/core/common/admission.ts'
import type { QuotaRecord, Usage } from '../../../agent/ports/store/volumes.ts'
import { ServiceError } from '../../../shared/errors.ts'
import { anyKey, check, KEYS } from '../../helpers/fairness/check.ts'

const MIB = 1024 ** 2
const NOTHING: Usage = { boxes: 0, volumes: 0, cpus: 0, ramMb: 0, storageGb: 0 }
type Quantity = keyof Usage
const QUANTITIES = Object.keys(NOTHING) as Quantity[]

interface Growth extends Usage {
  project: string
  recordBytes: number
}

const anyBound = fc.option(fc.nat({ max: 12 }))
const anyQuota = fc.record({ boxes: anyBound, cpus: anyBound, ramMb: anyBound, storageGb: anyBound })
const anyGrowths = fc.array(
  fc.record({
    project: anyKey,
    boxes: fc.nat({ max: 1 }),
    volumes: fc.nat({ max: 1 }),
    cpus: fc.nat({ max: 3 }),
    ramMb: fc.nat({ max: 3 }),
    storageGb: fc.nat({ max: 3 }),
    recordBytes: fc.nat({ max: 5 }),
  }),
  { maxLength: 25 },
)
const anyLimits = fc.record({
  boxesMax: fc.integer({ min: 1, max: 12 }),
  volumesMax: fc.integer({ min: 1, max: 12 }),
  hostMb: fc.integer({ min: 1, max: 20 }),
  recordBytes: fc.integer({ min: 1, max: 40 }),
})

/** Opens records whose reads and writes interleave in any order that the scheduler draws. */
function openRecords(scheduler: fc.Scheduler, quotas: ReadonlyMap<string, QuotaRecord>) {
  const written: Growth[] = []
  const sum = (project: string | null, of: (growth: Growth) => number): number =>
    written.filter((each) => project === null || each.project === project).reduce((total, each) => total + of(each), 0)
  const usage = (project: string | null): Usage => {
    const used = { ...NOTHING }
    for (const quantity of QUANTITIES) used[quantity] = sum(project, (each) => each[quantity])
    return used
  }
  const bytes = (project: string | null): number => sum(project, ({ recordBytes }) => recordBytes)
  const later = async <T>(read: () => T): Promise<T> => scheduler.schedule(Promise.resolve()).then(read)
  return {
    usage,
    bytes,
    store: {
      quotas: {
        get: (project: string) => later(() => quotas.get(project) ?? null),
        usage: (project: string | null) => later(() => usage(project)),
        recordBytes: (project: string) => later(() => ({ own: bytes(project), all: bytes(null) })),
      },
    },
    write: (growth: Growth) => later(() => void written.push(growth)),
  }
}

test('of growth that is asked for at once what fits is admitted, and no more than each project and the host may have', async () => {
  const quotas = fc.array(anyQuota, { minLength: KEYS.length, maxLength: KEYS.length })
  const property = fc.asyncProperty(
    fc.scheduler(),
    quotas,
    anyLimits,
    anyGrowths,
    async (scheduler, bounds, most, growths) => {
      const given = new Map(
        KEYS.map((key, index) => [key, { ...UNLIMITED_QUOTA, ...bounds[index], version: 1, updatedAt: 0 }]),
      )
      const records = openRecords(scheduler, given)
      const memory = { total_bytes: most.hostMb * MIB, available_bytes: most.hostMb * MIB }
      const { admit } = createAdmission({
        store: records.store as never,
        host: { load: () => ({ memory }) } as never,
        limits: { boxesMax: most.boxesMax, volumesMax: most.volumesMax, memoryOvercommit: 1, memoryReserveBytes: 0 },
        defaultQuota: UNLIMITED_QUOTA,
        recordBytes: most.recordBytes,
      })
      const outcomes = Promise.allSettled(growths.map((growth) => admit(growth, () => records.write(growth))))
      await scheduler.waitFor(outcomes)
      for (const [project, quota] of given) {
        const used = records.usage(project)
        for (const quantity of ['boxes', 'cpus', 'ramMb', 'storageGb'] as const)
          assert.ok(used[quantity] <= (quota[quantity] ?? Number.POSITIVE_INFINITY), `${quantity} of ${project}`)
        // At its last growth, each project leaves free at least as many bytes as it uses.
        assert.ok(records.bytes(project) <= most.recordBytes / 2, `records of ${project}`)
      }
      const all = records.usage(null)
      assert.ok(all.boxes <= most.boxesMax && all.volumes <= most.volumesMax && all.ramMb <= most.hostMb)
      for (const [index, outcome] of (await outcomes).entries()) {
        if (outcome.status === 'fulfilled') continue
        assert.ok(
          outcome.reason instanceof ServiceError && outcome.reason.code === 'quota_exceeded',
          String(outcome.reason),
        )
        // There is at least as much space at the end as at the time of the refusal.
        assert.ok(!fits(growths[index], { records, quotas: given, most }), `${index} was refused, and fits`)
      }
    },
  )
  await check(property, 60)
})

/** Admits on a host with the given memory and at most one volume. A box starts only if `reserveMb` stay available. */
function admissionOn({ availableMb, reserveMb }: { availableMb: number; reserveMb: number }) {
  const usage = async (): Promise<Usage> => ({ ...NOTHING, volumes: 1 })
  const memory = { total_bytes: 64 * MIB, available_bytes: availableMb * MIB }
  return createAdmission({
    store: { quotas: { get: async () => null, usage } } as never,
    host: { load: () => ({ memory }) } as never,
    limits: { boxesMax: 9, volumesMax: 1, memoryOvercommit: 1, memoryReserveBytes: reserveMb * MIB },
    defaultQuota: UNLIMITED_QUOTA,
  })
}

test('no box starts while the host has less memory than it keeps for itself', async () => {
  const start = { project: 'a', boxes: 1, ramMb: 1 }
  await assert.rejects(admissionOn({ availableMb: 7, reserveMb: 8 }).check(start), {
    code: 'runtime_unavailable',
    message: 'This host is short of memory: 7 MiB are available, and a start needs 8 MiB.',
  })
  await admissionOn({ availableMb: 8, reserveMb: 8 }).check(start)
})

test('a refusal says how many volumes the deployment holds', async () => {
  await assert.rejects(admissionOn({ availableMb: 8, reserveMb: 8 }).check({ project: 'a', volumes: 1 }), {
    code: 'quota_exceeded',
    message:
      'This deployment holds 1 of at most 1 volumes. Delete one, or have the operator raise BOXYARD_VOLUMES_MAX.',
  })
})

interface Bounds {
  records: Pick<ReturnType<typeof openRecords>, 'usage' | 'bytes'>
  quotas: ReadonlyMap<string, QuotaRecord>
  most: { boxesMax: number; volumesMax: number; hostMb: number; recordBytes: number }
}

function fits(growth: Growth | undefined, { records: { usage, bytes }, quotas, most }: Bounds): boolean {
  if (growth === undefined) return false
  const quota = quotas.get(growth.project)
  const own = usage(growth.project)
  const isWithinQuota = (['boxes', 'cpus', 'ramMb', 'storageGb'] as const).every(
    (quantity) =>
      growth[quantity] === 0 || own[quantity] + growth[quantity] <= (quota?.[quantity] ?? Number.POSITIVE_INFINITY),
  )
  const all = usage(null)
  const isWithinHost =
    (growth.boxes === 0 || all.boxes + growth.boxes <= most.boxesMax) &&
    (growth.volumes === 0 || all.volumes + growth.volumes <= most.volumesMax) &&
    (growth.ramMb === 0 || all.ramMb + growth.ramMb <= most.hostMb)
  const left = most.recordBytes - bytes(null) - growth.recordBytes
  const isWithinRecords = growth.recordBytes === 0 || bytes(growth.project) + growth.recordBytes <= left
  return isWithinQuota && isWithinHost && isWithinRecords
}
