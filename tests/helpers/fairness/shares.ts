import assert from 'node:assert/strict'
import fc from 'fast-check'
import { anyKey } from './check.ts'

/** Something bounded that accounts share, as the properties of all such things use it. */
export interface SharedThing {
  total: number
  /** Takes an amount for accounts; returns what gives it back, null if it is refused. */
  take(accounts: readonly string[], amount: number): (() => void) | null
}

/** One thing that the users do; `pick` chooses among all that was taken, also what was given back. */
export type ShareStep = { act: 'take'; accounts: string[]; amount: number } | { act: 'give back'; pick: number }

/** Draws what users do with something of which one takes between `min` and `max`. */
export function shareSteps({ min, max }: { min: number; max: number }): fc.Arbitrary<ShareStep[]> {
  const take = fc.record({
    act: fc.constant('take' as const),
    // An account may be named twice.
    accounts: fc.array(anyKey, { minLength: 1, maxLength: 3 }),
    amount: fc.integer({ min, max }),
  })
  const giveBack = fc.record({ act: fc.constant('give back' as const), pick: fc.nat({ max: 1_000 }) })
  return fc.array(fc.oneof({ weight: 3, arbitrary: take }, { weight: 2, arbitrary: giveBack }), { maxLength: 50 })
}

/**
 * Has users do the steps, and expects that whatever they take is taken whole, leaves at least as much free as any of its accounts then
 * holds, and is refused only where it would not; and that it comes back once, however often it is given back.
 */
export function expectFairShares({ total, take }: SharedThing, steps: readonly ShareStep[]): void {
  const taken: { accounts: ReadonlySet<string>; amount: number; giveBack(): void; isHeld: boolean }[] = []
  const heldBy = (account: string | null): number =>
    taken
      .filter(({ accounts, isHeld }) => isHeld && (account === null || accounts.has(account)))
      .reduce((sum, { amount }) => sum + amount, 0)
  const mayTake = (accounts: ReadonlySet<string>, amount: number): boolean => {
    const left = total - heldBy(null) - amount
    return amount === 0 || (left >= 0 && [...accounts].every((account) => heldBy(account) + amount <= left))
  }
  for (const step of steps) {
    if (step.act === 'take') {
      const accounts = new Set(step.accounts)
      const giveBack = take(step.accounts, step.amount)
      const isRight = (giveBack !== null) === mayTake(accounts, step.amount)
      assert.ok(isRight, `${step.amount} for ${step.accounts.join()} are ${giveBack === null ? 'refused' : 'taken'}`)
      if (giveBack !== null) taken.push({ accounts, amount: step.amount, giveBack, isHeld: true })
    } else {
      const chosen = taken[step.pick % Math.max(1, taken.length)]
      chosen?.giveBack()
      if (chosen !== undefined) chosen.isHeld = false
    }
  }
  for (const { giveBack } of taken) giveBack()
  // All of it is there again: one account gets half, and another half of the rest.
  assert.equal(takeAll(take, 'first'), Math.floor(total / 2))
  assert.equal(takeAll(take, 'second'), Math.floor((total - Math.floor(total / 2)) / 2))
}

/** Takes for an account, one by one, until it is refused; returns how many it got. */
function takeAll(take: SharedThing['take'], account: string): number {
  let taken = 0
  while (take([account], 1) !== null) taken++
  return taken
}
