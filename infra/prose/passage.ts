/**
 * A paragraph, cell, comment or string without its markup. `text` is as long as its source, so an index into it plus `start` is the
 * offset in the file. Spaces replace markup, and a word of X replaces code. A name has its words as text.
 */
export interface Passage {
  kind: 'text' | 'cell' | 'heading' | 'comment' | 'string' | 'name'
  start: number
  text: string
}

/** Replaces each match of `pattern` by as many spaces. */
export function blank(text: string, pattern: RegExp): string {
  return text.replaceAll(pattern, (match) => ' '.repeat(match.length))
}

/** Replaces each match of `pattern` by a word of the same length. */
export function wordFor(text: string, pattern: RegExp): string {
  return text.replaceAll(pattern, (match) => 'X'.repeat(match.length))
}

/** Splits a passage before each match of `pattern`. */
export function splitPassage(passage: Passage, pattern: RegExp): Passage[] {
  const cuts = [0, ...[...passage.text.matchAll(pattern)].map(({ index }) => index), passage.text.length]
  return cuts
    .slice(0, -1)
    .map((from, i) => ({ ...passage, start: passage.start + from, text: passage.text.slice(from, cuts[i + 1]) }))
    .filter(({ text }) => /\p{L}/u.test(text))
}

/** Inline code and addresses, which the rules skip. */
export const CODE = /(`+)[^`]+?\1|<?\bhttps?:\/\/[^\s)>]+>?/g
