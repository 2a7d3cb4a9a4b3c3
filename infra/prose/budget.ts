import type { Measures, RuleName } from './rules.ts'

/** Budgets by area. An omitted area or rule has the budget 0. */
export type Budgets = Record<string, Partial<Measures>>

/** A number of an area that is not its budget. */
export interface Mismatch {
  area: string
  rule: RuleName
  budget: number
  found: number
}

/**
 * Reads lines of the form `area: rule=number …`. A merge can leave two lines for one area. Then the lower number of each rule counts.
 * @throws Error for any other line
 */
export function parseBudgets(text: string): Budgets {
  const budgets: Budgets = {}
  for (const line of text.split('\n').filter((each) => each !== '' && !each.startsWith('#'))) {
    const [, area, rest = ''] = /^([^:\s]+(?: (?:names|strings))?):((?: [a-z]+=\d+)+)$/.exec(line) ?? []
    if (area === undefined) throw new Error(`this is no line of a budget: ${line}`)
    const own: Partial<Measures> = Object.fromEntries(
      rest
        .trim()
        .split(' ')
        .map((pair) => pairOf(pair)),
    )
    const other = budgets[area]
    budgets[area] = other === undefined ? own : lowerOf(other, own)
  }
  return budgets
}

export function formatBudgets(budgets: Budgets): string {
  const lines = Object.entries(budgets).map(([area, measures]) => {
    const pairs = RULES.flatMap((rule) => ((measures[rule] ?? 0) > 0 ? [`${rule}=${measures[rule]}`] : []))
    return pairs.length === 0 ? null : `${area}: ${pairs.join(' ')}`
  })
  return [HEAD, ...lines.filter((line) => line !== null).sort(), ''].join('\n')
}

/** Returns every number that is above its budget or below it. */
export function compareBudgets(budgets: Budgets, found: Readonly<Record<string, Measures>>): Mismatch[] {
  const areas = [...new Set([...Object.keys(budgets), ...Object.keys(found)])].sort()
  return areas.flatMap((area) =>
    RULES.map((rule) => ({ area, rule, budget: budgets[area]?.[rule] ?? 0, found: found[area]?.[rule] ?? 0 })).filter(
      (each) => each.budget !== each.found,
    ),
  )
}

/** Returns the budgets lowered to what was found. Never raises one, and drops an area that is gone. */
export function lowerBudgets(budgets: Budgets, found: Readonly<Record<string, Measures>>): Budgets {
  return Object.fromEntries(Object.entries(budgets).map(([area, own]) => [area, lowerOf(own, found[area] ?? {})]))
}

function lowerOf(a: Partial<Measures>, b: Partial<Measures>): Partial<Measures> {
  return Object.fromEntries(RULES.map((rule) => [rule, Math.min(a[rule] ?? 0, b[rule] ?? 0)]))
}

function pairOf(pair: string): [string, number] {
  const [rule = '', number = ''] = pair.split('=')
  if (!RULES.some((each) => each === rule)) throw new Error(`there is no rule of prose with the name ${rule}`)
  return [rule, Number(number)]
}

const RULES = [
  'banned',
  'glossary',
  'joints',
  'long',
  'mean',
  'passive',
  'relative',
] as const satisfies readonly RuleName[]
const HEAD = '# Written by `npm run prose -- --update`, which only lowers a number (CONTRIBUTING.md, Prose).'
