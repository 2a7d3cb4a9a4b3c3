import { formatBytes } from './meter.ts'

/**
 * Formats an answer for people. Shows sizes in bytes, MiB or GiB as `1.5 MiB`, times in seconds as `1h 30m`, and other values unchanged.
 * The name of a field shows its unit, even in the middle, as in `unread_input_bytes_at_once`. A pure function.
 */
export function withUnits(value: unknown, field = ''): unknown {
  if (typeof value === 'number') return textOf(field, value)
  if (Array.isArray(value)) return value.map((each) => withUnits(each, field))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withUnits(each, name)]))
}

function textOf(field: string, value: number): unknown {
  const words = field.split('_')
  const perSecond = field.endsWith('_per_second') ? '/s' : ''
  const unit = words.map((word) => SIZES[word]).find((size) => size !== undefined)
  if (unit !== undefined) return `${formatBytes(value * unit)}${perSecond}`
  return words.at(-1) === 'seconds' ? timeText(value) : value
}

/** Formats a time, such as `1h 30m`, without the units after the first `parts`. A pure function. */
export function timeText(seconds: number, parts: number = TIMES.length): string {
  let left = seconds
  const all = TIMES.flatMap(([unit, name]) => {
    const whole = name === 's' ? left : Math.floor(left / unit)
    left -= whole * unit
    return whole === 0 ? [] : [`${whole}${name}`]
  })
  return all.length === 0 ? '0s' : all.slice(0, parts).join(' ')
}

const SIZES: Readonly<Record<string, number | undefined>> = { bytes: 1, mb: 1024 ** 2, gb: 1024 ** 3 }
const TIMES = [
  [86_400, 'd'],
  [3600, 'h'],
  [60, 'm'],
  [1, 's'],
] as const
