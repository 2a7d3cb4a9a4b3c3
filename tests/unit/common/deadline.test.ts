import { describe, expect, test } from '@jest/globals'
import { withDeadline, withTimer } from '../../../agent/core/common/deadline.ts'
import type { Clock } from '../../../agent/ports/host/clock.ts'

/** A clock whose sleeps end at `ring`, or when their signal aborts. */
function heldClock(): Clock & { ring(): void; isAsleep(): boolean } {
  let [ring, isAsleep] = [(): void => undefined, false]
  return {
    now: () => 0,
    sleep: (_ms, signal) =>
      new Promise((resolve) => {
        isAsleep = true
        ring = () => {
          isAsleep = false
          resolve()
        }
        signal?.addEventListener('abort', ring)
      }),
    ring: () => ring(),
    isAsleep: () => isAsleep,
  }
}

describe('withDeadline', () => {
  const options = (clock: Clock, onLate: () => void) => ({ ms: 60_000, what: 'The box did not start', clock, onLate })

  test('returns the result of the work', async () => {
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

  test('gives up at the deadline, and reports when the work ends later', async () => {
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

describe('withTimer', () => {
  const never = new Promise<never>(() => undefined)
  const raced = (over: Promise<void>): Promise<string> => Promise.race([never, over.then(() => 'over')])

  test.each<[string, () => Promise<number>]>([
    ['succeeds', () => Promise.resolve(7)],
    ['fails', () => Promise.reject(new Error('no'))],
    ['throws', () => fail()],
  ])('leaves no timer behind when the work %s', async (_, work) => {
    const clock = heldClock()
    await withTimer({ clock, ms: 60_000 }, work).catch(() => 0)
    expect(clock.isAsleep()).toBe(false)
  })

  test('aborts the signal of the work when its time is over', async () => {
    const clock = heldClock()
    const result = withTimer({ clock, ms: 60_000 }, raced)
    expect(clock.isAsleep()).toBe(true)
    clock.ring()
    expect(await result).toBe('over')
  })

  test('aborts it as well when the caller gives up', async () => {
    const giveUp = new AbortController()
    const result = withTimer({ clock: heldClock(), ms: 60_000, signal: giveUp.signal }, raced)
    giveUp.abort()
    expect(await result).toBe('over')
  })
})

function fail(): never {
  throw new Error('no')
}
