/** Returns all permutations of some values. */
export function permutationsOf<T>(all: readonly T[]): T[][] {
  if (all.length <= 1) return [[...all]]
  return all.flatMap((first) => permutationsOf(all.filter((each) => each !== first)).map((rest) => [first, ...rest]))
}
