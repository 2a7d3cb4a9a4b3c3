import { expect } from '@jest/globals'
import { SHARES, type ShareName } from '../../shared/schemas/shares.ts'

/** What is shared by a rule. */
export type NamesWith<Rule> = {
  [Name in ShareName]: (typeof SHARES)[Name]['rule'] extends Rule ? Name : never
}[ShareName]

/** Lists what is shared by a rule. */
export function namesWith<const Rule extends (typeof SHARES)[ShareName]['rule']>(rule: Rule): NamesWith<Rule>[] {
  return (Object.keys(SHARES) as NamesWith<Rule>[]).filter((name) => SHARES[name].rule === rule)
}

/** Takes by a call that throws where it refuses; returns false if it did. */
export function takes(act: () => unknown): boolean {
  try {
    act()
    return true
  } catch (error) {
    expect(error).toMatchObject({ code: expect.stringMatching(/^(rate_limited|quota_exceeded)$/) })
    return false
  }
}

/** Throws; for what a promise was rejected with. */
export function fail(error: unknown): never {
  throw error
}

/** The first of what a promise comes to: refused at once, or under way. */
export async function isUnderWay(work: Promise<unknown>): Promise<boolean> {
  const refused = work.then(
    () => true,
    (error: unknown) => takes(() => fail(error)),
  )
  return Promise.race([refused, new Promise<boolean>((resolve) => setImmediate(() => setImmediate(resolve, true)))])
}
