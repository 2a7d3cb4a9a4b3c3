import { timeText } from './units.ts'

/**
 * Adds the form that people type to the bounds of a fault, such as `at most 7d (604800 seconds)`. The last word of the field names the unit.
 * An upper bound of a time is rounded down to two units, so that the service accepts it. A pure function.
 */
export function withTypedUnits(field: string, detail: string): string {
  const unit = field.split('_').at(-1) ?? ''
  const name = NAMES.get(unit)
  if (name === undefined) return detail
  return detail.replaceAll(BOUND, (bound, relation: string) => {
    const value = Number(bound.slice(relation.length))
    if (value === 0) return bound
    const typed = unit === 'seconds' ? timeOf(value, LOWER.has(relation)) : sizeOf(value, unit)
    return typed === `${value}s` ? `${relation}${typed}` : `${relation}${typed} (${value} ${name})`
  })
}

function timeOf(seconds: number, isLower: boolean): string {
  if (seconds > 0 && seconds < 1) return `${seconds * 1000}ms`
  return isLower ? timeText(seconds) : timeText(seconds, 2)
}

/** Returns a size in the largest unit in which it is a whole number. */
function sizeOf(size: number, unit: string): string {
  let [value, at] = [size, unit === 'mb' ? 0 : 1]
  while (value >= 1024 && value % 1024 === 0 && at < SIZES.length - 1) {
    value /= 1024
    at++
  }
  return `${value}${SIZES[at]}`
}

const BOUND = /\b(at most |at least |less than |more than |from |to )\d+(?:\.\d+)?(?!\w|\.\d| [a-z]+s\b)/g
const LOWER: ReadonlySet<string> = new Set(['at least ', 'more than ', 'from '])
/** Names of the units of plain numbers, by the last word of a field. */
const NAMES: ReadonlyMap<string, string> = new Map([
  ['seconds', 'seconds'],
  ['mb', 'MiB'],
  ['gb', 'GiB'],
])
const SIZES = ['m', 'g', 't']
