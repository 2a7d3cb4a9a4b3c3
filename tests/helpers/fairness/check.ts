import fc from 'fast-check'

// Else it draws some ten of what there may be: too few to meet.
fc.configureGlobal({ defaultSizeToMaxWhenMaxSpecified: true })

/**
 * Checks a property on `numRuns` examples, which TEST_SEED draws, or else the same ones each time. A failure prints the seed and the
 * smallest example that fails.
 */
export async function check<T>(property: fc.IRawProperty<T>, numRuns = 100): Promise<void> {
  await fc.assert(property, { seed: Number(process.env['TEST_SEED'] ?? SEED), numRuns })
}

/** Keys of those who share something: few, so that they meet. */
export const KEYS = ['a', 'b', 'c', 'd'] as const

/** Draws one of `KEYS`. */
export const anyKey: fc.Arbitrary<string> = fc.constantFrom(...KEYS)

const SEED = 20_261_127
