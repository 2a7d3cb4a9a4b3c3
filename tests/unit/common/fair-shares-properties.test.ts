import { expect, test } from '@jest/globals'
import fc from 'fast-check'
import { createValueStreams } from '../../../agent/core/common/value-streams.ts'
import { createFileTransfers } from '../../../agent/drivers/files/transfers.ts'
import { createFairShares } from '../../../shared/fair-shares.ts'
import { createBodyBudget } from '../../../shared/http/body-budget.ts'
import { CALLER } from '../../helpers/caller.ts'
import { check } from '../../helpers/fairness/check.ts'
import { expectFairShares, type SharedThing, shareSteps } from '../../helpers/fairness/shares.ts'

type Take = SharedThing['take']

/** Things that are shared, with the largest amount that one call takes. */
const THINGS: Record<string, { atOnce: number; open(total: number): Take }> = {
  'shares themselves': { atOnce: 8, open: (total) => createFairShares(total).take },
  'large bodies': {
    atOnce: 8,
    open: (total) => {
      const bodies = createBodyBudget(total, 0)
      return (accounts, amount) => orNull(() => bodies.hold(() => accounts, amount))
    },
  },
  'file transfers': {
    atOnce: 1,
    open: (total) => {
      const transfers = createFileTransfers({ total, perBox: 1 })
      let box = 0
      return (accounts) => orNull(() => transfers.acquire({ boxId: `box_${box++}`, accounts }))
    },
  },
  streams: {
    atOnce: 1,
    open: (atOnce) => {
      const deps = { clock: { now: () => 0, sleep: async () => undefined } }
      const streams = createValueStreams<string>(deps, { kind: 'words', atOnce })
      return (accounts) => orNull(() => streams.enter({ ...CALLER, accounts }))
    },
  },
}

/** Returns null if no share is free. */
function orNull<T>(take: () => T): T | null {
  try {
    return take()
  } catch (error) {
    expect(error).toMatchObject({ code: 'rate_limited' })
    return null
  }
}

test.each(Object.entries(THINGS))('%s are taken and given back by the rule of shares', async (_name, thing) => {
  const least = thing.atOnce === 1 ? 1 : 0
  const steps = shareSteps({ min: least, max: thing.atOnce })
  const property = fc.property(fc.integer({ min: 1, max: 40 }), steps, (total, all) =>
    expectFairShares({ total, take: thing.open(total) }, all),
  )
  await check(property, 200)
})

test('one account leaves half, and another half of that, whatever the first takes and gives back, by whichever boxes', async () => {
  const property = fc.property(
    fc.integer({ min: 4, max: 64 }),
    fc.array(fc.tuple(fc.constantFrom('box 1', 'box 2', 'box 3'), fc.boolean()), { maxLength: 80 }),
    (total, uses) => {
      const shares = createFairShares(total)
      const held: (() => void)[] = []
      for (const [box, isTaken] of uses) {
        const giveBack = isTaken ? shares.take([box, 'loud']) : null
        if (giveBack !== null) held.push(giveBack)
        else held.shift()?.()
      }
      let calm = 0
      while (shares.take(['box 9', 'calm']) !== null) calm++
      expect(held.length).toBeLessThanOrEqual(Math.floor(total / 2))
      expect(calm).toBeGreaterThanOrEqual(Math.floor((total - Math.floor(total / 2)) / 2))
    },
  )
  await check(property)
})

test('accounts that take by turns all get a share of as many as there are, and two', async () => {
  const property = fc.property(fc.integer({ min: 2, max: 9 }), fc.integer({ min: 20, max: 200 }), (accounts, total) => {
    const shares = createFairShares(total)
    const got = Array.from({ length: accounts }, () => 0)
    for (let isTaken = true; isTaken; ) {
      isTaken = false
      for (let account = 0; account < accounts; account++) {
        if (shares.take(`account ${account}`) === null) continue
        got[account] = (got[account] ?? 0) + 1
        isTaken = true
      }
    }
    for (const each of got) expect(each).toBeGreaterThanOrEqual(Math.floor(total / (accounts + 2)))
  })
  await check(property)
})
