/**
 * Draws `count` of `items` that repeat one another, in order, as `pickSample`; all of them where TEST_DRAW is `all`, as in
 * `npm run test:all`. CI draws by the tree it tests, so that each tree runs others of them.
 */
export function draw<T>(items: readonly T[], count: number): readonly T[] {
  return process.env['TEST_DRAW'] === 'all' ? items : pickSample(items, count)
}

/** `count` of `items`, in order, drawn by TEST_SEED or by the time; the seed is printed, so that a draw can be repeated. */
export function pickSample<T>(items: readonly T[], count: number): T[] {
  const random = createRandom(readSeed())
  const chosen = new Set<number>()
  while (chosen.size < Math.min(count, items.length)) chosen.add(Math.floor(random() * items.length))
  return items.filter((_, index) => chosen.has(index))
}

/** TEST_SEED, or one by the time; printed. */
export function readSeed(): number {
  const seed = Number(process.env['TEST_SEED'] ?? Date.now() % 1_000_000)
  process.stderr.write(`TEST_SEED=${seed}\n`)
  return seed
}

/** Numbers from 0 to 1 that follow from the seed (mulberry32). */
export function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}
