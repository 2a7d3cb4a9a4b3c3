import { expect, test } from '@jest/globals'
import { createFairTurns } from '../../../shared/fair-turns.ts'

const never = new AbortController().signal

test('who gives up waiting leaves its place, and too many are refused', async () => {
  const turns = createFairTurns(2, 4)
  const end = turns.take('one')
  const leaving = new AbortController()
  const waits = [turns.wait('one', leaving.signal), turns.wait('one', never)]
  await expect(turns.wait('one', never)).rejects.toThrow('2 requests wait')
  leaving.abort(new Error('the client left'))
  await expect(waits[0]).rejects.toThrow('the client left')
  await expect(turns.wait('one', leaving.signal)).rejects.toThrow('the client left')
  expect(turns.waiting()).toBe(1)
  end?.()
  ;(await waits[1])?.()
  expect(turns.waiting()).toBe(0)
  expect(turns.take('one')).not.toBeNull()
})
