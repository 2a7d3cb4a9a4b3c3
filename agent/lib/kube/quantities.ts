/**
 * Parses a Kubernetes quantity such as `250m`, `16Gi`, `1.5` or `2e3` into its base unit: cores, bytes, or a count. Throws if it
 * is not a quantity.
 */
export function parseQuantity(text: string): number {
  const [, number, exponent, suffix = ''] = QUANTITY.exec(text) ?? []
  if (number === undefined) throw new Error(`Not a Kubernetes quantity: ${text.slice(0, 40)}`)
  if (exponent !== undefined) return Number(`${number}e${exponent}`)
  // Uses a decimal exponent, since 100 * 1e-3 is not 0.1 for every number.
  const decimal = DECIMAL_EXPONENTS[suffix]
  return decimal === undefined ? Number(number) * 1024 ** BINARY_POWERS.indexOf(suffix) : Number(`${number}e${decimal}`)
}

// In apimachinery/pkg/api/resource, `E` without digits is exa, and `E` with digits an exponent.
const QUANTITY = /^([+-]?(?:\d+\.?\d*|\.\d+))(?:[eE]([+-]?\d+)|([KMGTPE]i|[numkMGTPE]?))$/
const DECIMAL_EXPONENTS: Record<string, number> = { n: -9, u: -6, m: -3, '': 0, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 }
const BINARY_POWERS = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei']
