import fc from 'fast-check'

// Otherwise fast-check draws arrays of about ten items, too few for keys to compete.
fc.configureGlobal({ defaultSizeToMaxWhenMaxSpecified: true })

/**
 * Checks a property on `numRuns` examples. They are the same each time unless TEST_SEED is set. A failure prints the seed and the smallest
 * failing example.
 */
export async function check<T>(property: fc.IRawProperty<T>, numRuns = 100): Promise<void> {
  await fc.assert(property, { seed: Number(process.env['TEST_SEED'] ?? SEED), numRuns })
}

/** Keys that share something. There are only a few, so that they compete. */
export const KEYS = ['a', 'b', 'c', 'd'] as const

/** Draws one of `KEYS`. */
export const anyKey: fc.Arbitrary<string> = fc.constantFrom(...KEYS)

const SEED = 20_261_127
