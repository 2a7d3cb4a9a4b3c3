import type { Mutant } from './mutants.ts'

export type NumberedMutant = Mutant & { number: number }

/** Name of the function that returns whether a mutant is active. See `switchModule`. */
const SWITCH = '__isMutant'

/**
 * Adds mutants to their source, each behind a numbered switch, so that one tree holds all of them. `mutants` have the order of
 * `compareSites`. The source imports the switch from `module`.
 */
export function weaveMutants(text: string, mutants: readonly NumberedMutant[], module: string): string {
  const rest = [...mutants]
  const weave = (from: number, to: number): string => {
    let woven = ''
    let at = from
    for (let next = rest[0]; next !== undefined && next.start < to; next = rest[0]) {
      rest.shift()
      woven += text.slice(at, next.start) + choose(next, weave(next.start, next.end))
      at = next.end
    }
    return woven + text.slice(at, to)
  }
  return `import { ${SWITCH} } from '${module}'; ${weave(0, text.length)}`
}

function choose({ number, replacement, opensStatement }: NumberedMutant, original: string): string {
  if (replacement === undefined) return `{ if (!${SWITCH}(${number})) { ${original} } }`
  // The sources have no semicolons. A parenthesis at the start of a statement would call the end of the line before it.
  return `${opensStatement ? '0, ' : ''}(${SWITCH}(${number}) ? (${replacement}) : (${original}))`
}

/**
 * Returns the source of the module with the switch. Each process that loads a mutated source, including processes that tests start, reads
 * the numbers of the active mutants from the file `active`. It appends the number of each mutant that it reaches to the file `reached`.
 */
export function switchModule({ active, reached }: { active: string; reached: string }): string {
  return `import { openSync, readFileSync, writeSync } from 'node:fs'
const active = new Set(readFileSync(${JSON.stringify(active)}, 'utf8').split('\\n').filter(Boolean).map(Number))
const asked = new Set()
// Opened now: a thread that enters a box no longer finds this path.
const reached = openSync(${JSON.stringify(reached)}, 'a')
export function ${SWITCH}(number) {
  if (!asked.has(number)) {
    asked.add(number)
    writeSync(reached, number + '\\n')
  }
  return active.has(number)
}
`
}
