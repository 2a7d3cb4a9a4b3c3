import { expect } from '@jest/globals'
import { SHARES, type ShareName } from '../../shared/schemas/shares.ts'

/** Names of the resources shared by a rule. */
export type NamesWith<Rule> = {
  [Name in ShareName]: (typeof SHARES)[Name]['rule'] extends Rule ? Name : never
}[ShareName]

/** Lists the resources shared by a rule. */
export function namesWith<const Rule extends (typeof SHARES)[ShareName]['rule']>(rule: Rule): NamesWith<Rule>[] {
  return (Object.keys(SHARES) as NamesWith<Rule>[]).filter((name) => SHARES[name].rule === rule)
}

/** Calls `act`. Returns false if it throws the error of a limit. */
export function takes(act: () => unknown): boolean {
  try {
    act()
    return true
  } catch (error) {
    expect(error).toMatchObject({ code: expect.stringMatching(/^(rate_limited|quota_exceeded)$/) })
    return false
  }
}

/** Throws the reason of a rejected promise. */
export function fail(error: unknown): never {
  throw error
}

/** Returns false if a promise is refused at once, or true if it is still running. */
export async function isUnderWay(work: Promise<unknown>): Promise<boolean> {
  const refused = work.then(
    () => true,
    (error: unknown) => takes(() => fail(error)),
  )
  return Promise.race([refused, new Promise<boolean>((resolve) => setImmediate(() => setImmediate(resolve, true)))])
}
