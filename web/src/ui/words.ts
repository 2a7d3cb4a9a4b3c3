/** Formats a number of bytes for people, such as `1.5 GiB`. */
export function bytesText(bytes: number | null | undefined): string {
  if (bytes === null || bytes === undefined) return '–'
  let value = bytes
  let unit = 0
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024
    unit++
  }
  const digits = unit === 0 || value >= 100 ? 0 : 1
  return `${Number(value.toFixed(digits))} ${UNITS[unit]}`
}

/** Returns how long ago a time was, such as `5 min ago`. */
export function agoText(time: string | null | undefined, now: number): string {
  if (time === null || time === undefined) return '–'
  const seconds = Math.round((now - Date.parse(time)) / 1000)
  const text = spanText(Math.abs(seconds))
  return Math.abs(seconds) < 5 ? 'now' : seconds < 0 ? `in ${text}` : `${text} ago`
}

/** Returns a length of time, such as `2 h`. */
export function spanText(seconds: number): string {
  for (const [size, word] of SPANS) if (seconds >= size) return `${Math.floor(seconds / size)} ${word}`
  return `${Math.max(0, Math.floor(seconds))} s`
}

/** Returns a time in the visitor's own zone. */
export function timeText(time: string | null | undefined): string {
  if (time === null || time === undefined) return '–'
  return new Date(time).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' })
}

/** Returns the time of day in the user's own zone, such as `14:05` or `14:05:30`, from seconds since the epoch. */
export function clockText(seconds: number, hasSeconds: boolean): string {
  const at = new Date(seconds * 1000)
  const parts = [at.getHours(), at.getMinutes(), ...(hasSeconds ? [at.getSeconds()] : [])]
  return parts.map((part) => String(part).padStart(2, '0')).join(':')
}

/** Returns a count with its word, such as `1 core` or `2 cores`. */
export function countWords(count: number, word: string): string {
  return `${count} ${count === 1 ? word : `${word}s`}`
}

/** Says that cells of a fleet did not answer, so that their resources are missing. */
export function missingCellsText(cells: readonly string[]): string {
  return `Some data is missing. ${cells.length === 1 ? 'Cell' : 'Cells'} ${cells.join(', ')} cannot be reached.`
}

/** Describes in words how full something is, once it is nearly full. */
export function fullnessOf(used: number, total: number): 'nearly full' | 'full' | null {
  const part = total > 0 ? used / total : 0
  return part > 0.99 ? 'full' : part > 0.9 ? 'nearly full' : null
}

/** Returns the tone of a state, by its first word: `exited (3)` is a failure, and `exited (0)` is not. */
export function toneOf(status: string): Tone {
  const [, word = '', code = '0'] = /^([a-z_]+)(?:.*\((\d+)\))?/.exec(status) ?? []
  return code === '0' ? (STATES[word] ?? 'neutral') : 'bad'
}

/** Meaning of the color of a badge. */
export type Tone = 'good' | 'warn' | 'bad' | 'neutral'

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']
const SPANS: readonly [number, string][] = [
  [86_400, 'd'],
  [3_600, 'h'],
  [60, 'min'],
]
const STATES: Readonly<Record<string, Tone>> = {
  running: 'good',
  done: 'good',
  ok: 'good',
  ready: 'good',
  active: 'good',
  pending: 'warn',
  degraded: 'warn',
  unknown: 'warn',
  interrupted: 'warn',
  failed: 'bad',
  unavailable: 'bad',
  lost: 'bad',
  killed: 'bad',
  timed: 'bad',
  out: 'bad',
}
