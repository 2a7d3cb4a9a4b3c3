import { flagAdvice } from '../verbs/flags-elsewhere.ts'
import type { Verb } from '../verbs/verb.ts'

/** The fields of a command that its errors need. */
type CommandShape = Pick<Verb, 'args' | 'flags' | 'whenMissing'>

/**
 * Rewrites an error of commander for people. Adds which flag is meant, and drops guesses whose letters differ too much. `command` is null
 * for errors before the command. A pure function.
 */
export function parseErrorText(text: string, command: CommandShape | null): string {
  const [line = '', ...guesses] = text
    .trimEnd()
    .replace(/^error: /, 'boxyard: ')
    .split('\n')
  const [, kind, typed = ''] = /unknown (option|command) '([^]*)'$/.exec(line) ?? []
  const advice = kind === 'option' ? flagAdvice(typed, command) : null
  if (advice !== null) return `${line}\n(${advice})`
  const isMissing = line.includes('missing required argument')
  if (isMissing && command?.whenMissing !== undefined) return [line, `(${command.whenMissing})`].join('\n')
  return [line, ...guesses.flatMap((guess) => closeGuess(typed, guess) ?? [])].join('\n')
}

/** Returns the guess without the words that differ too much, or null if none is left. */
function closeGuess(typed: string, guess: string): string | null {
  const [, list] = /^\(Did you mean (?:one of )?(.*)\?\)$/.exec(guess) ?? []
  if (list === undefined) return guess
  const close = list.split(', ').filter((word) => distance(typed, word) <= (typed.length < LONG ? 1 : 2))
  if (close.length === 0) return null
  return `(Did you mean ${close.length > 1 ? 'one of ' : ''}${close.join(', ')}?)`
}

/** Counts the letters to insert, delete, replace or swap with their neighbor that make one word of the other. */
function distance(one: string, other: string): number {
  const rows = [Array.from({ length: other.length + 1 }, (_, j) => j)]
  const at = (i: number, j: number): number => rows[i]?.[j] ?? Number.POSITIVE_INFINITY
  for (let i = 1; i <= one.length; i++) {
    rows[i] = [i]
    for (let j = 1; j <= other.length; j++) {
      const isSwapped = one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1]
      const replaced = at(i - 1, j - 1) + (one[i - 1] === other[j - 1] ? 0 : 1)
      const swapped = isSwapped ? at(i - 2, j - 2) + 1 : Number.POSITIVE_INFINITY
      rows[i]?.push(Math.min(at(i - 1, j) + 1, at(i, j - 1) + 1, replaced, swapped))
    }
  }
  return at(one.length, other.length)
}

/** Letters of a word in which two mistakes are likely. */
const LONG = 9
