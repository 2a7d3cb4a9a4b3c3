import { randomFillSync } from 'node:crypto'

/** Returns random bytes for one use, from a stock that is refilled in bulk. A system call would cost more than the rest of a nonce. */
export function takeRandomBytes(size: number): Buffer {
  if (used + size > STOCK_BYTES) {
    randomFillSync(stock)
    used = 0
  }
  const bytes = Buffer.from(stock.subarray(used, used + size))
  // Erases them from the stock, against later reads of memory.
  stock.fill(0, used, used + size)
  used += size
  return bytes
}

const STOCK_BYTES = 8192
const stock = Buffer.alloc(STOCK_BYTES)
let used = STOCK_BYTES
