/** Lifetimes of a new token, shortest first. */
const LIVES = [
  { seconds: 3_600, words: '1 hour' },
  { seconds: 86_400, words: '1 day' },
  { seconds: 604_800, words: '7 days' },
  { seconds: 2_592_000, words: '30 days' },
  { seconds: 31_536_000, words: '1 year' },
] as const

/** Returns the possible lifetimes of a token. None is longer than the creating token's own, which ends at a time (null for never). */
export function livesWithin(minterEnds: string | null, now: number): readonly { seconds: number; words: string }[] {
  if (minterEnds === null) return LIVES
  const left = (Date.parse(minterEnds) - now) / 1000
  return LIVES.filter(({ seconds }) => seconds < left)
}
