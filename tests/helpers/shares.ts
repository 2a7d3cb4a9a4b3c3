import { SHARES, type ShareName } from '../../shared/schemas/shares.ts'

/** What is shared by a rule. */
export type NamesWith<Rule> = {
  [Name in ShareName]: (typeof SHARES)[Name]['rule'] extends Rule ? Name : never
}[ShareName]

/** Lists what is shared by a rule. */
export function namesWith<const Rule extends (typeof SHARES)[ShareName]['rule']>(rule: Rule): NamesWith<Rule>[] {
  return (Object.keys(SHARES) as NamesWith<Rule>[]).filter((name) => SHARES[name].rule === rule)
}
