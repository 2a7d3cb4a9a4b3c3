import { NAME_MAX } from './refusal-words.ts'

/** Returns a name with the next free number, such as `web-2` for `web`, within the length limit of names. */
export function numberedName(name: string, taken: Iterable<string>): string {
  const names = new Set(taken)
  const [, plain = name, last = '1'] = /^(.+)-([1-9]\d{0,5})$/.exec(name) ?? []
  for (let number = Number(last) + 1; ; number++) {
    const found = joined(plain, String(number))
    if (!names.has(found)) return found
  }
}

/** Returns a name with an ending, within the length limit of names, and with a number if it is taken. */
export function endedName(name: string, ending: string, taken: Iterable<string>): string {
  const names = new Set(taken)
  const found = joined(name, ending.slice(0, ENDING_MAX))
  return names.has(found) ? numberedName(found, names) : found
}

function joined(name: string, ending: string): string {
  return `${name.slice(0, NAME_MAX - 1 - ending.length)}-${ending}`.replace(/-{2,}/g, '-').replace(/-$/, '')
}

/** Leaves half of the name for the source's name. */
const ENDING_MAX = 31
