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

test.each(['\n', '\r\n', '\r'])('line ends of %j are taken wherever the bytes are cut', async (end) => {
  const text = ['id: 7', 'data: a', '', 'event: problem', 'data: b', 'data: c', '', '', 'data: d', '', ''].join(end)
  const expected = await read(text.replaceAll(end, '\n'))
  expect(expected.map(({ data }) => data)).toEqual(['a', 'b\nc', 'd'])
  // A single CR at the end can be half of a line end. Its message arrives with the next piece.
  for (let at = 1; at < text.length; at++) {
    const messages = await read(text.slice(0, at), text.slice(at), end === '\r' ? ':' : '')
    expect(messages).toEqual(expected)
  }
})

test('who stops early lets the stream go, where it cannot be iterated', async () => {
  let isCancelled = false
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new TextEncoder().encode('data: x\n\n')),
    cancel: () => {
      isCancelled = true
    },
  })
  Object.defineProperty(body, Symbol.asyncIterator, { value: undefined })
  for await (const { data } of readEventStream(body)) {
    expect(data).toBe('x')
    break
  }
  expect(isCancelled).toBe(true)
})

test('a message that is cut off is none', async () => {
  expect(await read('id: 1\ndata: x\n\nid: 2\ndata: y')).toEqual([{ name: 'message', id: '1', data: 'x' }])
})
