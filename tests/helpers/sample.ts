/**
 * Draws `count` of `items`, in order, like `pickSample`. The items overlap in what they test. Returns all of them if TEST_DRAW is `all`, as
 * in `npm run test:all`. CI takes the seed from the tree, so that each tree runs a different sample.
 */
export function draw<T>(items: readonly T[], count: number): readonly T[] {
  return drawsAll() ? items : pickSample(items, count)
}

/** Returns true in `npm run test:all`, which leaves nothing out. */
export function drawsAll(): boolean {
  return process.env['TEST_DRAW'] === 'all'
}

/** Picks `count` of `items`, in order, with TEST_SEED or the time as the seed. Prints the seed, so that you can repeat the draw. */
export function pickSample<T>(items: readonly T[], count: number): T[] {
  const random = createRandom(readSeed())
  const chosen = new Set<number>()
  while (chosen.size < Math.min(count, items.length)) chosen.add(Math.floor(random() * items.length))
  return items.filter((_, index) => chosen.has(index))
}

/** Returns TEST_SEED, or a seed from the time. Prints it. */
export function readSeed(): number {
  const seed = Number(process.env['TEST_SEED'] ?? Date.now() % 1_000_000)
  process.stderr.write(`TEST_SEED=${seed}\n`)
  return seed
}

/** Creates a generator of numbers from 0 to 1 that depends only on the seed (mulberry32). */
export function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}
