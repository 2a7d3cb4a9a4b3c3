import assert from 'node:assert/strict'
import { test } from '@jest/globals'
import fc from 'fast-check'
import { startPoolShares } from '../../../agent/core/volumes/pool-shares.ts'
import { anyKey, check } from '../../helpers/fairness/check.ts'
import { createFakeTime } from '../../helpers/imagined-time.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'

const GIB = 1024 ** 3
const POOL = 100 * GIB
const RESERVE_PERCENT = 10
/** The quota of each volume, by its record. */
const RECORDED = 50 * GIB

/** What each of a few volumes has written until a check, in GiB. */
const anyVolumes = fc.array(anyKey, { minLength: 1, maxLength: 8 })
const anyWrites = fc.array(fc.array(fc.nat({ max: 25 }), { minLength: 8, maxLength: 8 }), {
  minLength: 1,
  maxLength: 8,
})

test('of a pool that is nearly full the projects that hold more than the reserve are held back, and no others; all go on once there is room', async () => {
  const property = fc.asyncProperty(anyVolumes, anyWrites, async (projects, writes) => {
    const { clock, advance } = createFakeTime()
    const volumes = projects.map((project, index) => ({
      subvolume: `v${index}`,
      project,
      sizeGb: 50,
      used: 0,
      quota: RECORDED,
    }))
    const left = (): number => POOL - volumes.reduce((sum, { used }) => sum + used, 0)
    const of = (name: string) => volumes.find(({ subvolume }) => subvolume === name) ?? assert.fail(name)
    const usage = { totalBytes: POOL, pendingBytes: 0 }
    const filesystem = {
      capacity: async () => ({ totalBytes: POOL, availableBytes: left() }),
      condition: async () => ({ data: { ...usage, usedBytes: POOL - left() }, metadata: { ...usage, usedBytes: 0 } }),
      commit: async () => undefined,
      usedBytes: async (name: string) => of(name).used,
      setQuota: async (name: string, bytes: number) => void (of(name).quota = bytes),
    }
    const store = { boxes: { each: async function* () {} }, volumes: { all: async () => volumes } }
    const deps = { store, filesystem, clock, logger: silentLogger, reservePercent: RESERVE_PERCENT } as never
    const shares = startPoolShares(deps)
    const check = async (): Promise<void> => {
      // Long enough that no fast writer is expected to go on.
      advance(1e9)
      await shares.check()
    }
    for (const write of writes) {
      // A request gives some of them a quota of its own.
      for (const [index, volume] of volumes.entries()) if ((write[index] ?? 0) % 3 === 0) volume.quota = RECORDED
      // Grows up to the quota, or shrinks, but never fills more than the pool.
      for (const [index, volume] of volumes.entries()) {
        const wanted = (write[index] ?? 0) * GIB
        volume.used = Math.min(wanted, volume.quota, volume.used + left())
      }
      await check()
      const percent = (left() / POOL) * 100
      for (const { project, quota, used } of volumes) {
        const held = volumes.filter((each) => each.project === project).reduce((sum, each) => sum + each.used, 0)
        const isLarge = held > (POOL * RESERVE_PERCENT) / 100
        const isShort = percent < RESERVE_PERCENT
        if (isShort && isLarge) assert.ok(quota <= used, `${project} may grow`)
        if ((isShort && !isLarge) || percent >= 1.5 * RESERVE_PERCENT)
          assert.equal(quota, RECORDED, `${project} is held back`)
      }
    }
    for (const volume of volumes) volume.used = 0
    await check()
    assert.deepEqual(new Set(volumes.map(({ quota }) => quota)), new Set([RECORDED]))
    shares.close()
  })
  await check(property, 100)
})
