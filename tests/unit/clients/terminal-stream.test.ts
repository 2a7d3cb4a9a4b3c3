import { expect, test } from '@jest/globals'
import { CHANNEL, type ChannelSocket, type Frame } from '../../../sdk/typescript/src/channel-socket.ts'
import { createTerminalStream } from '../../../sdk/typescript/src/terminal-stream.ts'

const KIB = 1024

/** Makes a socket on which frames arrive in bursts. All frames of a burst arrive at once. */
function socketOf(...bursts: Frame[][]): ChannelSocket {
  let here: Frame[] = []
  return {
    id: 'exec_1',
    send: async () => undefined,
    receive: async () => {
      if (here.length === 0) here = bursts.shift() ?? []
      return here.shift() ?? null
    },
    receiveReady: () => here.shift() ?? null,
    closed: () => null,
    close: () => undefined,
  }
}

const frame = (channel: number, text: string): Frame => ({ channel, bytes: new TextEncoder().encode(text) })
const out = (text: string): Frame => frame(CHANNEL.stdout, text)
const err = (text: string): Frame => frame(CHANNEL.stderr, text)
const success = frame(CHANNEL.status, '{"status":"Success"}')

async function piecesOf(socket: ChannelSocket): Promise<string[]> {
  const stream = createTerminalStream(socket, null)
  const pieces: string[] = []
  for await (const piece of stream) pieces.push(`${piece.stream} ${new TextDecoder().decode(piece.bytes)}`)
  expect(await stream.ended()).toEqual({ exitCode: 0, message: null })
  return pieces
}

test('what has come of one stream is one piece, and the order of both stays', async () => {
  const bursts = [[out('a'), out('b'), err('c'), err('d'), out('e')], [out('f')], [out('g'), success]]
  expect(await piecesOf(socketOf(...bursts))).toEqual(['stdout ab', 'stderr cd', 'stdout e', 'stdout f', 'stdout g'])
})

test('a piece is no longer than 64 KiB, unless it came so', async () => {
  const short = 'x'.repeat(24 * KIB)
  const long = 'y'.repeat(100 * KIB)
  const pieces = await piecesOf(socketOf([out(short), out(short), out(short), out(long), out(short), success]))
  const lengths = pieces.map((piece) => (piece.length - 'stdout '.length) / KIB)
  expect(lengths).toEqual([48, 24, 100, 24])
})
