import { UsageError } from '../output/failures.ts'

/** Reads a quantity of a flag: a number in the flag's unit, or with a unit, such as `2g`, `512m`, `1h30m` or `30d`. @throws UsageError */
export function quantityOf(kind: QuantityKind, flag: string, value: unknown): number {
  const { units, unit, precision, examples } = KINDS[kind]
  const text = String(value).trim().toLowerCase()
  const bare = finiteNumberOf(text)
  if (bare !== null && bare >= 0) return bare
  const parts = [...text.matchAll(PART)]
  const known = parts.map(
    ([, number, name = '']) => Number(number) * (Object.hasOwn(units, name) ? (units[name] ?? 0) : Number.NaN),
  )
  const sum = known.reduce((all, each) => all + each, 0)
  const name = `--${flag.replaceAll('_', '-')}`
  if (parts.length > 0 && parts.map(([part]) => part).join('') === text && Number.isFinite(sum)) {
    const quantity = Math.round((sum / unit) * precision) / precision
    // Zero has a special meaning, such as none.
    if (quantity === 0 && /[1-9]/.test(text))
      throw new UsageError(`${name}: "${String(value)}" is too small. It must be ${examples}.`)
    return quantity
  }
  throw new UsageError(`${name}: must be ${examples}, not "${String(value)}".`)
}

/** Reads a time, which can be a distance from now, such as `10m`. */
export function sinceOf(flag: string, value: unknown): unknown {
  if (typeof value !== 'string' || !/^\d[\d.]*[a-z]/.test(value) || value.includes('T')) return value
  const now = performance.timeOrigin + performance.now()
  return new Date(Math.max(0, now - quantityOf('seconds', flag, value) * 1000)).toISOString()
}

/** Reads the number of a flag. `orElse` names other words that it accepts. @throws UsageError */
export function numberOf(flag: string, value: unknown, orElse = ''): number {
  const number = finiteNumberOf(String(value))
  if (number === null) throw new UsageError(`${flagOf(flag)}: must be a number${orElse}, not "${String(value)}".`)
  return number
}

/** Returns the flag of a field. */
export function flagOf(name: string): string {
  return `--${name.replaceAll('_', '-')}`
}

/**
 * Parses a number without a unit. Returns null if it is not a number, or if JSON cannot hold it. JSON holds null for numbers that are too
 * large, which the service reads as no limit, and 0 for those that are too small. A pure function.
 */
export function finiteNumberOf(text: string): number | null {
  const number = Number(text)
  const isLost = number === 0 && /^[^e]*[1-9]/i.test(text)
  return text.trim() === '' || !Number.isFinite(number) || isLost ? null : number
}

/** Returns a delay for a timer from seconds. Node.js sets longer delays to 1 ms, and accepts only whole milliseconds. A pure function. */
export function timerMs(seconds: number): number {
  return Math.ceil(Math.min(seconds, LONGEST_TIMER_SECONDS) * 1000)
}

/** The words of a time without an end. */
export const NO_SPAN: ReadonlySet<unknown> = new Set(['never', 'forever'])
const LONGEST_TIMER_SECONDS = 2_147_483

export type QuantityKind = keyof typeof KINDS

/** Returns whether fields of this kind are quantities. */
export function isQuantity(kind: string): kind is QuantityKind {
  return Object.hasOwn(KINDS, kind)
}

const PART = /(\d+(?:\.\d+)?|\.\d+)\s*([a-z]+)\s*/gy
const SECONDS = withNames([
  [0.001, 'ms'],
  [1, 's sec secs second seconds'],
  [60, 'm min mins minute minutes'],
  [3600, 'h hr hrs hour hours'],
  [86_400, 'd day days'],
  [604_800, 'w week weeks'],
])
/** Powers of 1024, like limits of boxes. */
const BYTES = withNames([
  [1, 'b'],
  [1024, 'k kb ki kib'],
  [1024 ** 2, 'm mb mi mib'],
  [1024 ** 3, 'g gb gi gib'],
  [1024 ** 4, 't tb ti tib'],
])
const KINDS = {
  seconds: {
    units: SECONDS,
    unit: 1,
    precision: 1000,
    examples: 'a time such as 90s, 12h or 30d, or a number of seconds',
  },
  span: {
    units: SECONDS,
    unit: 1,
    precision: 1000,
    examples: 'a time such as 90s, 12h or 30d, a number of seconds, or never',
  },
  mib: { units: BYTES, unit: 1024 ** 2, precision: 1, examples: 'a size such as 512m or 2g, or a number of MiB' },
  gib: { units: BYTES, unit: 1024 ** 3, precision: 1024, examples: 'a size such as 512m or 20g, or a number of GiB' },
}

function withNames(rows: readonly (readonly [number, string])[]): Readonly<Record<string, number | undefined>> {
  return Object.fromEntries(rows.flatMap(([value, names]) => names.split(' ').map((name) => [name, value])))
}
