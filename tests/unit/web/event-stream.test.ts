import { expect, test } from '@jest/globals'
import { readEventStream, type StreamMessage } from '../../../web/src/api/event-stream.ts'

async function read(...pieces: string[]): Promise<StreamMessage[]> {
  const bytes = pieces.map((piece) => new TextEncoder().encode(piece))
  const messages: StreamMessage[] = []
  for await (const message of readEventStream(ReadableStream.from(bytes))) messages.push(message)
  return messages
}

test('messages come whole, however their bytes are cut', async () => {
  const text = 'id: 7\nevent: problem\ndata: {"a":\ndata: 1}\n\nid: 8\n\n'
  const expected = [
    { name: 'problem', id: '7', data: '{"a":\n1}' },
    { name: 'message', id: '8', data: '' },
  ]
  expect(await read(text)).toEqual(expected)
  expect(await read(...text)).toEqual(expected)
})

test('line ends of both kinds are taken, comments and unknown fields are not', async () => {
  expect(await read(': silence\r\nretry: 5\r\nid:9\r\ndata:x\r\n\r\n')).toEqual([
    { name: 'message', id: '9', data: 'x' },
  ])
})

test('a message that is cut off is none', async () => {
  expect(await read('id: 1\ndata: x\n\nid: 2\ndata: y')).toEqual([{ name: 'message', id: '1', data: 'x' }])
})
