import { expect, test } from '@jest/globals'
import { retryWhileBusy } from '../../../agent/core/volumes/retry-while-busy.ts'
import type { Clock } from '../../../agent/ports/host/clock.ts'
import { type ErrorCode, ServiceError } from '../../../shared/errors.ts'

/** A clock that each sleep advances. It records the sleeps. */
function movingClock(): Clock & { slept: number[] } {
  let now = 0
  const slept: number[] = []
  return {
    slept,
    now: () => now,
    sleep: async (ms) => {
      slept.push(ms)
      now += ms
    },
  }
}

const failing = (code: ErrorCode, times: number, rests: number[] = []) => {
  let left = times
  return async (restMs: number): Promise<string> => {
    rests.push(restMs)
    if (left-- > 0) throw new ServiceError(code, 'Not now.')
    return 'done'
  }
}

test('a busy call is retried after growing pauses, and gets the time left', async () => {
  const [clock, rests] = [movingClock(), [] as number[]]
  const done = retryWhileBusy(failing('volume_busy', 8, rests), { clock, codes: ['volume_busy'], deadline: 10_000 })
  await expect(done).resolves.toBe('done')
  expect(clock.slept).toEqual([5, 10, 20, 40, 80, 160, 200, 200])
  expect(rests.slice(0, 4)).toEqual([10_000, 9_995, 9_985, 9_965])
})

test('its failure is returned after an attempt at the deadline, which may not wait', async () => {
  const [clock, rests] = [movingClock(), [] as number[]]
  const done = retryWhileBusy(failing('box_busy', 99, rests), { clock, codes: ['box_busy'], deadline: 12 })
  await expect(done).rejects.toMatchObject({ code: 'box_busy' })
  expect(clock.slept).toEqual([5, 7])
  expect(rests).toEqual([12, 7, 0])
})

test.each<[string, () => Promise<never>]>([
  ['of another code', () => Promise.reject(new ServiceError('box_busy', 'Not now.'))],
  ['of another kind', () => Promise.reject(new Error('The disk is gone.'))],
])('a failure %s is returned at once', async (_, attempt) => {
  const clock = movingClock()
  await expect(retryWhileBusy(attempt, { clock, codes: ['volume_busy'], deadline: 9 })).rejects.toBeInstanceOf(Error)
  expect(clock.slept).toEqual([])
})

test('an aborted caller is released before the next attempt', async () => {
  const [clock, giveUp, rests] = [movingClock(), new AbortController(), [] as number[]]
  const busy = failing('volume_busy', 99, rests)
  const attempt = (restMs: number): Promise<string> => {
    if (rests.length === 1) giveUp.abort(new Error('The service stops.'))
    return busy(restMs)
  }
  const options = { clock, codes: ['volume_busy'], deadline: 1_000, signal: giveUp.signal } as const
  await expect(retryWhileBusy(attempt, options)).rejects.toThrow('The service stops.')
  expect(rests).toHaveLength(2)
})
