import assert from 'node:assert/strict'
import { test } from '@jest/globals'
import fc from 'fast-check'
import { fairLevel } from '../../../agent/drivers/store/fair-level.ts'
import { check } from '../../helpers/fairness/check.ts'

test('all together keep what there is, none less than an equal part of it, and no more could be kept', async () => {
  const amounts = fc.array(fc.nat({ max: 1_000 }), { minLength: 1, maxLength: 12 })
  const property = fc.property(amounts, fc.nat({ max: 4_000 }), (all, total) => {
    const level = fairLevel(all, total)
    const keptAt = (each: number): number => all.reduce((sum, amount) => sum + Math.min(amount, each), 0)
    assert.ok(keptAt(level) <= total)
    if (level === Number.POSITIVE_INFINITY) return
    assert.ok(level >= Math.floor(total / all.length), 'less than an equal part')
    assert.ok(keptAt(level + 1) > total, 'more could be kept')
  })
  await check(property, 300)
})
