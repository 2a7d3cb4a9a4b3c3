import { randomFillSync } from 'node:crypto'

/** Random bytes for one use, from a stock that is filled now and then: asking the kernel costs more than all else of a nonce. */
export function takeRandomBytes(size: number): Buffer {
  if (used + size > STOCK_BYTES) {
    randomFillSync(stock)
    used = 0
  }
  const bytes = Buffer.from(stock.subarray(used, used + size))
  // Nobody is to find it here afterwards.
  stock.fill(0, used, used + size)
  used += size
  return bytes
}

const STOCK_BYTES = 8192
const stock = Buffer.alloc(STOCK_BYTES)
let used = STOCK_BYTES
