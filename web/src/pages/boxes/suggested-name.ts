import { numberedName } from '../../ui/free-name.ts'

/** Returns a free name for a new box, such as `calm-otter`. `random` returns numbers from 0 to 1. */
export function suggestedName(taken: Iterable<string>, random: () => number = Math.random): string {
  const names = new Set(taken)
  const wordOf = (words: readonly string[]): string => words[Math.floor(random() * words.length)] ?? 'new'
  const name = `${wordOf(MOODS)}-${wordOf(ANIMALS)}`
  return names.has(name) ? numberedName(name, names) : name
}

const MOODS =
  'able bold brave bright calm clear cool deft eager fair fast fine fond glad kind keen lucid neat quick warm'.split(
    ' ',
  )
const ANIMALS =
  'ant bee crab crow deer dove fox frog gull hare heron ibis lynx mole newt otter owl seal swan wren'.split(' ')
