import { checked, lazyNative } from './libc.ts'

/** Returns true if adjtimex(2) reports that the kernel's clock is kept in step with a time source. */
export function isClockSynchronized(): boolean {
  const timex = Buffer.alloc(TIMEX_BYTES)
  checked(adjtimex()(timex), 'adjtimex')
  return (timex.readInt32LE(STATUS_OFFSET) & STA_UNSYNC) === 0
}

const adjtimex = lazyNative<(timex: Buffer) => number>(null, 'adjtimex', { result: 'int', args: ['void *'] })
const TIMEX_BYTES = 208
const STATUS_OFFSET = 40
const STA_UNSYNC = 0x40
