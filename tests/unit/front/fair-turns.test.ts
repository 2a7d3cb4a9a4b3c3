import { expect, test } from '@jest/globals'
import { createFairTurns } from '../../../shared/fair-turns.ts'

const never = new AbortController().signal

test('one owner has half of the turns at most, and another gets one at once', () => {
  const turns = createFairTurns(8, 100)
  const taken = Array.from({ length: 8 }, () => turns.take('one'))
  expect(taken.filter((end) => end !== null)).toHaveLength(4)
  expect(turns.take('other')).not.toBeNull()
})

test('owners that wait are served in rotation, each in its order', async () => {
  const turns = createFairTurns(2, 100)
  const first = turns.take('one')
  const order: string[] = []
  const wait = async (owner: string, name: string): Promise<void> => {
    const end = await turns.wait(owner, never)
    order.push(name)
    end()
  }
  const all = [wait('one', 'one 1'), wait('one', 'one 2'), wait('one', 'one 3')]
  await Promise.resolve()
  expect(turns.take('one')).toBeNull()
  const second = turns.take('two')
  all.push(wait('two', 'two 1'), wait('two', 'two 2'))
  await Promise.resolve()
  expect(turns.waiting()).toBe(5)
  first?.()
  second?.()
  await Promise.all(all)
  expect(order.toSorted()).toEqual(['one 1', 'one 2', 'one 3', 'two 1', 'two 2'])
  expect(order.filter((name) => name.startsWith('one'))).toEqual(['one 1', 'one 2', 'one 3'])
  expect(order.indexOf('two 1')).toBeLessThan(order.indexOf('one 3'))
  expect(turns.waiting()).toBe(0)
})

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
