import { describe, expect, test } from '@jest/globals'
import { withDeadline } from '../../../agent/core/common/deadline.ts'
import type { Clock } from '../../../agent/ports/host/clock.ts'

/** A clock whose sleeps end when the test says so. */
function heldClock(): Clock & { ring(): void } {
  let ring = (): void => undefined
  return {
    now: () => 0,
    sleep: (_ms, signal) =>
      new Promise((resolve) => {
        ring = resolve
        signal?.addEventListener('abort', () => resolve())
      }),
    ring: () => ring(),
  }
}

describe('withDeadline', () => {
  const options = (clock: Clock, onLate: () => void) => ({ ms: 60_000, what: 'The box did not start', clock, onLate })

  test('gives what the work gives', async () => {
    await expect(
      withDeadline(
        Promise.resolve(7),
        options(heldClock(), () => undefined),
      ),
    ).resolves.toBe(7)
    const failing = withDeadline(
      Promise.reject(new Error('no')),
      options(heldClock(), () => undefined),
    )
    await expect(failing).rejects.toThrow('no')
  })

  test('gives up at the deadline, and tells when the work is done after all', async () => {
    const clock = heldClock()
    const work = Promise.withResolvers<number>()
    let isLate = false
    const result = withDeadline(
      work.promise,
      options(clock, () => {
        isLate = true
      }),
    )
    clock.ring()
    await expect(result).rejects.toThrow('The box did not start within 60 s.')
    expect(isLate).toBe(false)
    work.resolve(7)
    await work.promise
    await Promise.resolve()
    expect(isLate).toBe(true)
  })
})
