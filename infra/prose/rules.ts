import { OLD_NAMES } from './old-names.ts'
import type { Passage } from './passage.ts'
import { BANNED, GLOSSARY, PASSIVE, type Phrase, RELATIVE } from './phrases.ts'
import { type Sentence, sentencesOf } from './sentence.ts'

export type RuleName = 'banned' | 'glossary' | 'joints' | 'long' | 'mean' | 'passive' | 'relative'

/** A violation, at an offset of the file. */
export interface ProseFinding {
  rule: RuleName
  at: number
  words: string
  advice: string
}

/** Counts of some passages. Add tallies to count several files. */
export interface Tally {
  sentences: number
  words: number
  counts: Record<Exclude<RuleName, 'mean'>, number>
}

/** The number of an area for each rule. 0 means that the area keeps the rule. */
export type Measures = Record<RuleName, number>

export function findingsOf(all: readonly Passage[]): { findings: ProseFinding[]; tally: Tally } {
  const passages = all.filter(({ kind }) => kind !== 'name')
  const sentences = passages.flatMap(sentencesOf)
  const findings = [
    ...all.filter(({ kind }) => kind === 'name').flatMap(findingsOfName),
    ...passages.flatMap((passage) => [...hitsOf('banned', BANNED, passage), ...hitsOf('glossary', GLOSSARY, passage)]),
    ...sentences.flatMap(findingsOfSentence),
  ].sort((a, b) => a.at - b.at)
  const tally = emptyTally()
  tally.sentences = sentences.filter(isMeasured).length
  tally.words = sentences.filter(isMeasured).reduce((sum, { words }) => sum + words, 0)
  for (const { rule } of findings) if (rule !== 'mean') tally.counts[rule] += 1
  return { findings, tally }
}

export function emptyTally(): Tally {
  return { sentences: 0, words: 0, counts: { banned: 0, glossary: 0, joints: 0, long: 0, passive: 0, relative: 0 } }
}

export function addTally(to: Tally, { sentences, words, counts }: Tally): void {
  to.sentences += sentences
  to.words += words
  for (const rule of COUNTED) to.counts[rule] += counts[rule]
}

/** Returns the numbers of a tally. Rounds shares and means up, so that a word more or less rarely changes them. */
export function measuresOf({ sentences, words, counts }: Tally): Measures {
  const least = Math.max(sentences, LIMITS.sentences)
  const share = (rule: 'joints' | 'passive'): number => above(LIMITS[rule], Math.ceil((counts[rule] / least) * 20) * 5)
  const mean = above(LIMITS.mean, Math.ceil(words / least))
  return { ...counts, mean, joints: share('joints'), passive: share('passive') }
}

function above(limit: number, value: number): number {
  return value > limit ? value : 0
}

function hitsOf(
  rule: 'banned' | 'glossary' | 'relative',
  phrases: readonly Phrase[],
  { start, text }: Pick<Passage, 'start' | 'text'>,
): ProseFinding[] {
  const plain = text.replaceAll(/\s/g, ' ')
  // A phrase can continue on the next line. Matches it with single spaces, then maps its index back.
  const { squeezed, places } = squeeze(plain)
  return phrases.flatMap(({ pattern, use }) =>
    [...squeezed.matchAll(pattern)].map(({ index, 0: words }) => ({
      rule,
      at: start + (places[index] ?? 0),
      words: rule === 'relative' ? beginningOf(squeezed.slice(index)) : words,
      advice: `use: ${use}`,
    })),
  )
}

/** Finds at most one old word in a name. */
function findingsOfName({ start, text }: Passage): ProseFinding[] {
  const old = OLD_NAMES.find(({ pattern }) => text.search(pattern) >= 0)
  return old === undefined ? [] : [{ rule: 'glossary', at: start, words: text, advice: `use: ${old.use}` }]
}

/** Makes one space of each run of them, with the place of every character. */
function squeeze(text: string): { squeezed: string; places: number[] } {
  if (!/\s\s/.test(text)) return { squeezed: text, places: Array.from({ length: text.length }, (_, i) => i) }
  let squeezed = ''
  const places: number[] = []
  for (let i = 0; i < text.length; i++) {
    if (text[i] === ' ' && text[i - 1] === ' ') continue
    squeezed += text[i]
    places.push(i)
  }
  return { squeezed, places }
}

function findingsOfSentence(sentence: Sentence): ProseFinding[] {
  const { kind, start, text, words } = sentence
  if (kind === 'heading' || words < 3) return []
  const findings = /\?["')”]*$/.test(text) ? [] : hitsOf('relative', RELATIVE, sentence)
  if (words > LIMITS.long)
    findings.push({
      rule: 'long',
      at: start,
      words: `${words} words: ${beginningOf(text)}`,
      advice: `at most ${LIMITS.long}: split it`,
    })
  if (!isMeasured(sentence)) return findings
  const joint = jointOf(text)
  if (joint !== null)
    findings.push({
      rule: 'joints',
      at: start + joint,
      words: beginningOf(text.slice(joint)),
      advice: 'end the sentence here',
    })
  const passive = PASSIVE.exec(text)
  if (passive !== null)
    findings.push({
      rule: 'passive',
      at: start + passive.index,
      words: passive[0].replaceAll(/\s+/g, ' '),
      advice: 'name who does it',
    })
  return findings
}

/** Returns true for a sentence that counts for the mean and the shares. Headings and cells without a full stop do not. */
function isMeasured({ kind, words, text }: Sentence): boolean {
  return words > 2 && kind !== 'heading' && (kind !== 'cell' || /[.!?)]$/.test(text))
}

/** Returns the index of a semicolon or colon that joins two thoughts. A colon before code or a list, or after a label, joins nothing. */
function jointOf(text: string): number | null {
  for (const { index, 0: sign } of text.matchAll(/[;:](?=\s+\S)/g)) {
    const before = text.slice(0, index)
    const after = text.slice(index + 1).trim()
    if (sign === ';') return index
    const isLabel = before.trim().split(/\s+/).length <= 2
    const isList = /^[^;]*,/.test(after) && !VERB.test(after)
    if (!isLabel && !isList && !/^["'(]*X{2}/.test(after) && after.split(/\s+/).length > 2) return index
  }
  return null
}

function beginningOf(text: string): string {
  const words = text.trim().replaceAll(/X{2,}/g, '`…`').split(/\s+/)
  return words.slice(0, 8).join(' ') + (words.length > 8 ? ' …' : '')
}

/**
 * Limits without a budget: words of a sentence, mean words, and the percentage of sentences with a joint or a passive. An area of fewer
 * than 10 sentences counts as 10, so that one sentence does not make a share.
 */
export const LIMITS = { long: 28, mean: 16, joints: 15, passive: 25, sentences: 10 }
const VERB = / (?:is|are|was|were|has|have|had|can|may|must|will|do|does|it|they|you|we) /
const COUNTED = ['banned', 'glossary', 'joints', 'long', 'passive', 'relative'] as const
