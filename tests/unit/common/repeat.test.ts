import { afterEach, beforeEach, expect, jest, test } from '@jest/globals'
import { repeat } from '../../../shared/repeat.ts'

beforeEach(() => void jest.useFakeTimers())
afterEach(() => void jest.useRealTimers())

test('work that throws, or rejects, is done again, and each error is reported once', async () => {
  const errors: unknown[] = []
  const outcomes = [
    () => undefined,
    () => {
      throw new Error('EMFILE')
    },
    () => Promise.reject(new Error('EMFILE')),
    () => Promise.reject(new Error('ENFILE')),
    () => undefined,
    () => Promise.reject(new Error('ENFILE')),
  ]
  let calls = 0
  const stop = repeat(() => outcomes[calls++]?.(), { everyMs: 10, onError: (error) => errors.push(error) })
  await jest.advanceTimersByTimeAsync(60)
  stop()
  await jest.advanceTimersByTimeAsync(60)
  expect(calls).toBe(outcomes.length)
  expect(errors.map(String)).toEqual(['Error: EMFILE', 'Error: ENFILE', 'Error: ENFILE'])
})
