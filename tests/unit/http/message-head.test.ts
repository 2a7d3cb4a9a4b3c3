import { expect, test } from '@jest/globals'
import { messageHead } from '../../../agent/server/message-head.ts'

test.each([
  [0, '82 01 01'],
  [124, '82 7d 01'],
  [125, '82 7e 00 7e 01'],
  [65_534, '82 7e ff ff 01'],
  [65_535, '82 7f 00 00 00 00 00 01 00 00 01'],
  [0xffff_fffe, '82 7f 00 00 00 00 ff ff ff ff 01'],
])('the head of a message with %i bytes after its first', (restLength, bytes) => {
  expect(messageHead(restLength, 1).toString('hex')).toBe(bytes.replaceAll(' ', ''))
})

test.each([
  [1, '82 01'],
  [125, '82 7d'],
  [126, '82 7e 00 7e'],
  [65_536, '82 7f 00 00 00 00 00 01 00 00'],
])('the head of a message of %i bytes that all follow', (length, bytes) => {
  expect(messageHead(length, null).toString('hex')).toBe(bytes.replaceAll(' ', ''))
})
