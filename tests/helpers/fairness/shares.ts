import assert from 'node:assert/strict'
import fc from 'fast-check'
import { anyKey } from './check.ts'

/** A limited resource that accounts share, in the form that property tests use. */
export interface SharedThing {
  total: number
  /** Takes an amount for accounts. Returns a function that gives it back, or null if refused. */
  take(accounts: readonly string[], amount: number): (() => void) | null
}

/** A user action. `pick` chooses among all amounts taken, even amounts given back. */
export type ShareStep = { act: 'take'; accounts: string[]; amount: number } | { act: 'give back'; pick: number }

/** Draws user actions. Each takes between `min` and `max`, or gives an amount back. */
export function shareSteps({ min, max }: { min: number; max: number }): fc.Arbitrary<ShareStep[]> {
  const take = fc.record({
    act: fc.constant('take' as const),
    // An account can appear twice.
    accounts: fc.array(anyKey, { minLength: 1, maxLength: 3 }),
    amount: fc.integer({ min, max }),
  })
  const giveBack = fc.record({ act: fc.constant('give back' as const), pick: fc.nat({ max: 1_000 }) })
  return fc.array(fc.oneof({ weight: 3, arbitrary: take }, { weight: 2, arbitrary: giveBack }), { maxLength: 50 })
}

/**
 * Runs the steps and checks the shares:
 * - An amount is taken whole or refused.
 * - It is taken only if it leaves at least as much free as any of its accounts then holds.
 * - It is refused only if it would leave less.
 * - Giving it back twice frees it once.
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
  // Everything is free again, so one account gets half, and another gets half of the rest.
  assert.equal(takeAll(take, 'first'), Math.floor(total / 2))
  assert.equal(takeAll(take, 'second'), Math.floor((total - Math.floor(total / 2)) / 2))
}

/** Takes units for an account until one is refused. Returns the number taken. */
function takeAll(take: SharedThing['take'], account: string): number {
  let taken = 0
  while (take([account], 1) !== null) taken++
  return taken
}
