import { PassThrough } from 'node:stream'
import { expect, test } from '@jest/globals'
import { createUnreadInput } from '../../../agent/shim/unread-input.ts'

const ofMib = (count: number): string => Buffer.alloc(count * 1024 ** 2).toString('base64')
const tooMuch = expect.objectContaining({ code: 'rate_limited' })

test('one box can hold half of the total, and leaves the others theirs', () => {
  const unread = createUnreadInput()
  unread.take('a', ofMib(32))
  expect(() => unread.take('a', ofMib(1))).toThrow(tooMuch)
  unread.take('a', '')
  unread.take('b', ofMib(16))
  expect(() => unread.take('b', ofMib(1))).toThrow(tooMuch)
})

test('input that was read, or never will be, is freed', async () => {
  const unread = createUnreadInput()
  unread.take('a', ofMib(32)).drop()
  const stdin = new PassThrough()
  unread.take('a', ofMib(32)).writeTo(stdin, { keepsOpen: true })
  expect(() => unread.take('a', ofMib(1))).toThrow(tooMuch)
  for await (const piece of stdin) if ((piece as Buffer).length === 32 * 1024 ** 2) break
  unread.take('a', ofMib(32))
})
