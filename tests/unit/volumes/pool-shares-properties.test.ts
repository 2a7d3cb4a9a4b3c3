import assert from 'node:assert/strict'
import { test } from '@jest/globals'
import fc from 'fast-check'
import { UNLIMITED_QUOTA } from '../../../agent/core/common/admission.ts'
import { StorageBounds } from '../../../agent/core/common/storage-bounds.ts'
import { startPoolShares } from '../../../agent/core/volumes/pool-shares.ts'
import { check, KEYS } from '../../helpers/fairness/check.ts'
import { createFakeTime } from '../../helpers/imagined-time.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'

const GIB = 1024 ** 3
const POOL = 100 * GIB
const RESERVE_PERCENT = 10
/** Recorded quota of each project. */
const RECORDED = 90 * GIB

/** GiB that each project wants to use before a check. */
const anyWrites = fc.array(fc.array(fc.nat({ max: 60 }), { minLength: KEYS.length, maxLength: KEYS.length }), {
  minLength: 1,
  maxLength: 8,
})

test('of a pool that is nearly full the projects that keep more than the reserve are held back, and no others; all go on once there is room', async () => {
  const property = fc.asyncProperty(anyWrites, async (writes) => {
    const { clock, advance } = createFakeTime()
    const used = new Map<string, number>(KEYS.map((project) => [project, 0]))
    const limits = new Map<string, number | null>()
    const left = (): number => POOL - [...used.values()].reduce((sum, bytes) => sum + bytes, 0)
    const accounts = {
      all: async () => new Map(used),
      limit: async (project: string, bytes: number | null) => void limits.set(project, bytes),
    }
    const usage = { totalBytes: POOL, pendingBytes: 0 }
    const filesystem = {
      capacity: async () => ({ totalBytes: POOL, availableBytes: left() }),
      condition: async () => ({ data: { ...usage, usedBytes: POOL - left() }, metadata: { ...usage, usedBytes: 0 } }),
      commit: async () => undefined,
    }
    const quota = { ...UNLIMITED_QUOTA, storageGb: RECORDED / GIB, version: 1, updatedAt: 0 }
    const quotas = { get: async () => quota, list: async () => ({ records: [], hasMore: false }) }
    const bounds = new StorageBounds({ store: { quotas }, accounts, defaultQuota: UNLIMITED_QUOTA } as never)
    const deps = { filesystem, accounts, bounds, clock, logger: silentLogger, reservePercent: RESERVE_PERCENT } as never
    const shares = startPoolShares(deps)
    const look = async (): Promise<void> => {
      // Long enough that no fast writer is expected to continue.
      advance(1e9)
      await shares.check()
    }
    await bounds.recover()
    for (const write of writes) {
      // Grows up to the limit, or shrinks, but never fills more than the pool. A changed quota lifts no hold.
      for (const [index, project] of KEYS.entries()) {
        const [wanted, now] = [(write[index] ?? 0) * GIB, used.get(project) ?? 0]
        if ((write[index] ?? 0) % 3 === 0) await bounds.apply(project)
        used.set(project, Math.min(wanted, Math.max(now, limits.get(project) ?? RECORDED), now + left()))
      }
      await look()
      const percent = (left() / POOL) * 100
      for (const project of KEYS) {
        const [bytes, limit] = [used.get(project) ?? 0, limits.get(project)]
        const isLarge = bytes > (POOL * RESERVE_PERCENT) / 100
        const isShort = percent < RESERVE_PERCENT
        if (isShort && isLarge) assert.ok(typeof limit === 'number' && limit <= bytes, `${project} may grow`)
        if ((isShort && !isLarge) || percent >= 1.5 * RESERVE_PERCENT)
          assert.equal(limit ?? RECORDED, RECORDED, `${project} is held back`)
      }
    }
    for (const project of KEYS) used.set(project, 0)
    await look()
    assert.deepEqual(
      KEYS.map((project) => limits.get(project)),
      KEYS.map(() => RECORDED),
    )
    assert.equal(bounds.held().size, 0)
    shares.close()
  })
  await check(property, 100)
})
