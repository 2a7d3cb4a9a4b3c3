import { expect, test } from '@jest/globals'
import type { ChannelSocket, Frame } from '../../../sdk/typescript/src/channel-socket.ts'
import { createTerminalStream } from '../../../sdk/typescript/src/terminal-stream.ts'

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)
const STATUS: Frame = { channel: 3, bytes: bytesOf('{"status":"Success"}') }

/** A socket that has received these frames. */
function socketWith(frames: Frame[], sent: Frame[]): ChannelSocket {
  const left = [...frames]
  return {
    id: 'exe_1',
    closed: () => null,
    close: () => undefined,
    send: async (channel, bytes) => void sent.push({ channel, bytes }),
    receive: async () => left.shift() ?? null,
    receiveReady: () => left.shift() ?? null,
  }
}

test('what programs send to an SSH agent comes by connection, between the output, and answers go back', async () => {
  const frames = [
    { channel: 1, bytes: bytesOf('before') },
    { channel: 5, bytes: Uint8Array.of(0, 0, 1, 2, 97) },
    { channel: 5, bytes: Uint8Array.of(0, 0) },
    { channel: 5, bytes: Uint8Array.of(0, 0, 1, 2) },
    { channel: 1, bytes: bytesOf('after') },
    STATUS,
  ]
  const sent: Frame[] = []
  const heard: [number, number][] = []
  const stream = createTerminalStream(
    socketWith(frames, sent),
    null,
    (id, bytes) => void heard.push([id, bytes.length]),
  )
  let output = ''
  for await (const { bytes } of stream) output += new TextDecoder().decode(bytes)
  expect([output, heard]).toEqual([
    'beforeafter',
    [
      [258, 1],
      [258, 0],
    ],
  ])
  await stream.answerAgent(258, bytesOf('hi'))
  await stream.answerAgent(258, new Uint8Array())
  await stream.answerAgent(7, new Uint8Array(300_000))
  expect(sent.map(({ channel, bytes }) => [channel, bytes.length])).toEqual([
    [5, 6],
    [5, 4],
    [5, 4 + 262_144],
    [5, 4 + 300_000 - 262_144],
  ])
  expect([...(sent[0]?.bytes ?? [])]).toEqual([0, 0, 1, 2, 104, 105])
})

test('a client that offers no agent ignores what comes for one', async () => {
  const stream = createTerminalStream(
    socketWith([{ channel: 5, bytes: Uint8Array.of(0, 0, 0, 1, 97) }, STATUS], []),
    null,
  )
  expect(await stream.ended()).toMatchObject({ exitCode: 0 })
})
