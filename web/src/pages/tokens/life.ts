/** Lives that a token can be minted with, the shortest first. */
const LIVES = [
  { seconds: 3_600, words: '1 hour' },
  { seconds: 86_400, words: '1 day' },
  { seconds: 604_800, words: '7 days' },
  { seconds: 2_592_000, words: '30 days' },
  { seconds: 31_536_000, words: '1 year' },
] as const

/** Returns the lives that a token may have whose minter ends at a time (null: never): none is longer than its own. */
export function livesWithin(minterEnds: string | null, now: number): readonly { seconds: number; words: string }[] {
  if (minterEnds === null) return LIVES
  const left = (Date.parse(minterEnds) - now) / 1000
  return LIVES.filter(({ seconds }) => seconds < left)
}
