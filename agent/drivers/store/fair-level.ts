/**
 * Returns the most that each holder of `amounts` may keep, so that all together keep at most `total`. A holder with less keeps everything.
 * Infinity if all fit. Pure.
 */
export function fairLevel(amounts: readonly number[], total: number): number {
  let left = total
  for (const [index, amount] of amounts.toSorted((a, b) => a - b).entries()) {
    const level = Math.floor(left / (amounts.length - index))
    if (amount > level) return level
    left -= amount
  }
  return Number.POSITIVE_INFINITY
}
