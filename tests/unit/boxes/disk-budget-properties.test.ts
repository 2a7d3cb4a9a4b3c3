import assert from 'node:assert/strict'
import { test } from '@jest/globals'
import fc from 'fast-check'
import { budgetAfter, budgetOf, leftOf } from '../../../agent/drivers/boxes/disk-budget.ts'
import { check } from '../../helpers/fairness/check.ts'

const bounds = { diskMbps: 10, diskIops: 100 }

/** Use of a running box until the next check. At most its maximum debt. */
const anyUse = fc.record({
  seconds: fc.double({ min: 0, max: 3, noNaN: true }),
  bytes: fc.nat({ max: 100e6 }),
  operations: fc.nat({ max: 1_000 }),
})

test('a box that is paused while nothing is left takes no more than a second and its rate give, and goes on as soon as that is paid', async () => {
  const property = fc.property(fc.array(anyUse, { maxLength: 40 }), (uses) => {
    let budget = budgetOf(1)
    let [seconds, bytes, operations] = [0, 0, 0]
    for (const use of uses) {
      if (leftOf(budget) < 0) {
        const debt = -leftOf(budget)
        budget = budgetAfter(budget, { used: { bytes: 0, operations: 0 }, seconds: debt, bounds })
        seconds += debt
        assert.ok(Math.abs(leftOf(budget)) < ROUNDING, 'it goes on once its debt is paid')
      }
      const before = { bytes, operations }
      budget = budgetAfter(budget, { used: use, seconds: use.seconds, bounds })
      seconds += use.seconds
      bytes += use.bytes
      operations += use.operations
      // The box pays later for its use since the last check.
      assert.ok(before.bytes <= (1 + seconds + ROUNDING) * bounds.diskMbps * 1e6, `${before.bytes} bytes`)
      assert.ok(before.operations <= (1 + seconds + ROUNDING) * bounds.diskIops, `${before.operations} operations`)
    }
  })
  await check(property, 200)
})

/** Tolerance for sums of floating-point fractions. */
const ROUNDING = 1e-6
