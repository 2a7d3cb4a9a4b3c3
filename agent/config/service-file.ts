import { parseEnv } from 'node:util'

/**
 * Returns a sentence for each setting of a file that systemd reads otherwise than Node.js. Systemd starts the services, and the command
 * `boxyard` uses Node.js. For one, words after a value are a comment to Node.js and part of the value to systemd. Pure.
 */
export function tellAmbiguous(text: string, path: string): string[] {
  const [served, ours] = [readServiceFile(text), parseEnv(text)]
  const names = new Set([...Object.keys(served), ...Object.keys(ours)])
  return [...names]
    .filter((name) => name.startsWith('BOXYARD_') && served[name] !== ours[name])
    .sort()
    .map(
      (name) =>
        `${name} in ${path} is ${describe(served[name])} for the services, but ${describe(ours[name])} for this command. ` +
        'Write it as NAME=value, with nothing after the value.',
    )
}

function describe(value: string | undefined): string {
  return value === undefined ? 'not set' : JSON.stringify(value)
}

/** Reads a file of variables as `EnvironmentFile=` of systemd.exec(5) does. Pure. */
export function readServiceFile(text: string): Record<string, string> {
  const found: Record<string, string> = {}
  let rest = text
  while (rest !== '') {
    const comment = COMMENT.exec(rest)?.[0] ?? ''
    const [whole = '', name] = KEY.exec(rest.slice(comment.length)) ?? []
    rest = rest.slice(comment.length + whole.length)
    if (name === undefined) continue
    const value = readValue(rest)
    found[name] = value.text
    rest = rest.slice(value.length)
  }
  return found
}

/** Reads the value at the beginning of a text, with the end of its line. Takes quoted parts, then what is not quoted. */
function readValue(text: string): { text: string; length: number } {
  let value = ''
  let at = 0
  for (;;) {
    const [whole, single, double] = QUOTED.exec(text.slice(at)) ?? []
    if (whole === undefined) break
    at += whole.length
    value += single ?? (double ?? '').replaceAll(/\\([\\"$`]|\n)/g, (_escape, letter: string) => letter.trim())
  }
  const [whole = '', plain = ''] = PLAIN.exec(text.slice(at)) ?? []
  const unescaped = plain.trim().replaceAll(/\\([^])/g, (_escape, letter: string) => letter.trim())
  return { text: value + unescaped, length: at + whole.length }
}

/**
 * Writes variables as `readServiceFile` reads them. Node.js reads the same, except for a value that has `'` and one of `"`, `\\` and a
 * line break. No line means the same to both then. Pure.
 */
export function writeServiceFile(variables: Readonly<Record<string, string>>): string {
  return Object.entries(variables)
    .sort()
    .map(([name, value]) => `${name}=${quoted(value)}\n`)
    .join('')
}

function quoted(value: string): string {
  if (/^[\w./:@,+-]*$/.test(value)) return value
  if (!value.includes("'")) return `'${value}'`
  return /["\\\n]/.test(value) ? `'${value.replaceAll("'", `'"'"'`)}'` : `"${value}"`
}

const COMMENT = /^(?:\s|[#;](?:\\[^]|[^\\\n])*(?:\n|$))+/
/** Up to the value, or a line without one. */
const KEY = /^(?:([^=\n]*?)[^\S\n]*=|[^\n]*(?:\n|$))/
const QUOTED = /^[^\S\n]*(?:'([^']*)'|"((?:\\[^]|[^"\\])*)")/
const PLAIN = /^((?:\\[^]|[^\\\n])*)(?:\n|\\?$)/
