import { afterEach, beforeEach, expect, jest, test } from '@jest/globals'
import { ApiError } from '../../../sdk/typescript/src/index.ts'
import { createPauses, type Pauses, readPersistently } from '../../../web/src/api/patience.ts'

beforeEach(() => {
  jest.useFakeTimers()
})

afterEach(() => {
  jest.useRealTimers()
})

/** Waits for the next pause, and returns its length. */
async function nextMs(pauses: Pauses): Promise<number> {
  const begun = Date.now()
  const over = pauses.wait(new AbortController().signal)
  await jest.advanceTimersToNextTimerAsync()
  await over
  return Date.now() - begun
}

test('a pause is twice as long as the one before, within its bounds', async () => {
  const pauses = createPauses({ firstMs: 10, longestMs: 35 })
  for (const ms of [10, 20, 35, 35]) expect(await nextMs(pauses)).toBe(ms)
})

test('pauses begin anew once something has come', async () => {
  const pauses = createPauses()
  for (const ms of [250, 500]) expect(await nextMs(pauses)).toBe(ms)
  pauses.restart()
  for (const ms of [250, 500, 1_000, 2_000, 4_000, 5_000, 5_000]) expect(await nextMs(pauses)).toBe(ms)
})

test('a pause ends at once when its signal aborts, and leaves no timer', async () => {
  const stopped = new AbortController()
  const over = createPauses().wait(stopped.signal)
  stopped.abort()
  await over
  await createPauses().wait(stopped.signal)
  expect(jest.getTimerCount()).toBe(0)
})

test('a read is repeated until it is answered, and told of when it is lost and when it is back', async () => {
  const told: boolean[] = []
  let reads = 0
  const answer = readPersistently(
    async () => {
      if (++reads < 4) throw new Error('away')
      return 'answered'
    },
    { signal: new AbortController().signal, onLost: (isLost) => told.push(isLost) },
  )
  await jest.advanceTimersByTimeAsync(250 + 500 + 1_000)
  expect(await answer).toBe('answered')
  expect(told).toEqual([true, true, true, false])
})

test('a read is not repeated for an answer that another would get as well, nor once nobody waits', async () => {
  const refused = new ApiError(
    { code: 'not_found', status: 404, detail: 'none', requestId: null, retryable: false, errors: [] },
    null,
  )
  const patience = { signal: new AbortController().signal, onLost: () => undefined }
  await expect(readPersistently(() => Promise.reject(refused), patience)).rejects.toBe(refused)
  const reason = new Error('nobody waits')
  const left = { ...patience, signal: AbortSignal.abort(reason) }
  await expect(readPersistently(() => Promise.reject(new Error('away')), left)).rejects.toBe(reason)
})
