import type { Passage } from './passage.ts'

/** A sentence of a passage. `start` is its offset in the file. */
export interface Sentence {
  kind: Passage['kind']
  start: number
  text: string
  words: number
}

/** Splits a passage into sentences. A full stop ends one only before a capital, a digit or code. */
export function sentencesOf({ kind, start, text }: Passage): Sentence[] {
  const ends = [...text.matchAll(END)]
    .filter(({ index }) => !ABBREVIATION.test(text.slice(0, index + 1)))
    .map(({ index, 0: end }) => index + end.length)
  return [...ends, text.length]
    .map((end, i) => {
      const from = i === 0 ? 0 : (ends[i - 1] ?? 0)
      const raw = text.slice(from, end)
      const sentence = raw.trimStart()
      return {
        kind,
        start: start + from + raw.length - sentence.length,
        text: sentence.trimEnd(),
        words: countWords(sentence),
      }
    })
    .filter(({ words }) => words > 0)
}

/** Counts words. A dash or another sign does not count, and an enumeration of code counts as one. */
function countWords(text: string): number {
  return text
    .replaceAll(ENUMERATION, 'X')
    .split(/\s+/)
    .filter((word) => /[\p{L}\p{N}]/u.test(word)).length
}

const END = /[.!?…][)"'”’]*\s+(?=["'“(]*[\p{Lu}\p{N}])/gu
const ENUMERATION = /X{2,}(?:(?:,|,? and|,? or| ·)\s+X{2,})+/g
const ABBREVIATION = /\b(?:e\.g|i\.e|cf|vs|approx|No)\.$/
