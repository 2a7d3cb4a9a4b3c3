import { createHash } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { eventually } from '../../helpers/eventually.ts'
import { makeScriptedStream } from '../../helpers/exec/scripted-stream.ts'
import { BOX, CAT, type StreamLab, startStreamLab } from '../../helpers/exec/stream-lab.ts'

const PONG = Buffer.from([0x8a, 0])
/** A close frame with code 1008. */
const TOO_MANY = Buffer.from([0x88, 2, 0x03, 0xf0])
const EMPTY = Buffer.from([0x82, 0x80, 0, 0, 0, 0])
const CALM = CAT.replace(BOX, '/v1/projects/calm/boxes/web')
let at: StreamLab

afterEach(() => at.close())

const soon = (look: () => boolean): Promise<void> => eventually(look, 5)

/** Returns a client's frame, masked with zeros. */
function frameOf(channel: number, text: string): Buffer {
  const payload = Buffer.from(text)
  return Buffer.concat([Buffer.from([0x82, 0x80 | (payload.length + 1), 0, 0, 0, 0, channel]), payload])
}

function repeated(frame: Buffer, count: number): Buffer {
  return Buffer.concat(Array.from({ length: count }, () => frame))
}

describe('tiny messages', () => {
  beforeEach(async () => {
    at = await startStreamLab()
  })

  test('come one in a turn of the event loop, whole and in order, though they were sent at once', async () => {
    const raw = await at.shakeHands()
    const command = await at.next()
    let turn = 0
    let isOver = false
    const spin = (): void => {
      turn++
      if (!isOver) setImmediate(spin)
    }
    spin()
    const turns = new Map<number, number>()
    const write = command.stdin.write.bind(command.stdin)
    command.stdin.write = ((piece: Buffer) => {
      turns.set(turn, (turns.get(turn) ?? 0) + 1)
      return write(piece)
    }) as typeof command.stdin.write
    const digits = Array.from({ length: 2_000 }, (_, index) => String(index % 10))
    raw.write(Buffer.concat(digits.map((digit) => frameOf(0, digit))))
    let read = ''
    for await (const piece of command.stdin) {
      read += String(piece)
      if (read.length === digits.length) break
    }
    isOver = true
    raw.destroy()
    expect(read).toBe(digits.join(''))
    // A turn of the agent and a turn of ws can change places.
    expect(Math.max(...turns.values())).toBeLessThanOrEqual(2)
  })

  test('of frames without end are refused', async () => {
    const raw = await at.shakeHands()
    const command = await at.next()
    const [first, more] = [Buffer.from([0x02, 0x80, 0, 0, 0, 0]), Buffer.from([0x00, 0x80, 0, 0, 0, 0])]
    const said: Buffer[] = []
    raw.on('data', (piece: Buffer) => said.push(piece))
    raw.write(Buffer.concat([first, repeated(more, 255)]))
    raw.write(Buffer.from([0x89, 0x80, 0, 0, 0, 0]))
    await soon(() => Buffer.concat(said).includes(PONG))
    expect(command.hasLeft()).toBe(false)
    raw.write(more)
    await command.left
    await soon(() => Buffer.concat(said).includes(TOO_MANY))
    raw.destroy()
  })

  test('of sizes tell the terminal the first and the last', async () => {
    const raw = await at.shakeHands()
    const command = await at.next()
    const sizes = Array.from({ length: 2_000 }, (_, index) => frameOf(4, `{"Width":${index + 1},"Height":1}`))
    raw.write(Buffer.concat(sizes))
    await soon(() => command.sizes.at(-1)?.cols === 2_000)
    expect(command.sizes[0]).toEqual({ cols: 1, rows: 1 })
    expect(command.sizes.length).toBeLessThan(1_000)
    raw.write(
      Buffer.concat([frameOf(4, '{"Width":7,"Height":7}'), frameOf(4, '{"Width":8,"Height":8}'), frameOf(0, 'x')]),
    )
    await new Promise((resolve) => command.stdin.once('data', resolve))
    // Input applies to the terminal size that was sent before it.
    expect(command.sizes.at(-1)).toEqual({ cols: 8, rows: 8 })
    raw.destroy()
  })
})

describe('an account beyond its rate of messages', () => {
  test('waits, while others do not', async () => {
    at = await startStreamLab({ messageRate: { perSecond: 0.001, burst: 100 } })
    const [wire, raw] = await flooding(200)
    await soon(() => wire.isPaused())
    const calm = await at.join(CALM)
    for (let count = 0; count < 50; count++) calm.client.send(0, 'x')
    let read = ''
    for await (const piece of calm.command.stdin) {
      read += String(piece)
      if (read.length === 50) break
    }
    expect(wire.isPaused()).toBe(true)
    raw.destroy()
  })

  test('is told of its close, and the client of the end', async () => {
    at = await startStreamLab({ messageRate: { perSecond: 0.001, burst: 1 } })
    const made = makeScriptedStream()
    at.respond = () => Promise.resolve(made)
    const { client } = await at.join()
    for (let count = 0; count < 10; count++) client.send(0, '')
    await soon(() => at.wires()[0]?.isPaused() === true)
    made.end({ exitCode: 3 })
    expect((await client.closed).code).toBe(1000)
    expect(client.status()?.details?.causes[0]?.message).toBe('3')
  })

  /** Opens a raw WebSocket, and sends `count` empty messages at once. */
  async function flooding(count: number) {
    const raw = await at.shakeHands()
    const command = await at.next()
    const [wire] = at.wires()
    if (wire === undefined) throw new Error('there is no connection')
    raw.write(repeated(EMPTY, count))
    return [wire, raw, command] as const
  }
})

test('long messages at full speed come whole', async () => {
  at = await startStreamLab()
  const { client, command } = await at.join()
  const [sent, read] = [createHash('sha256'), createHash('sha256')]
  const piece = Buffer.alloc(64 * 1024)
  const pieces = 512
  for (let count = 0; count < pieces; count++) {
    piece.writeUInt32LE(count)
    sent.update(piece)
    client.send(0, piece)
  }
  let bytes = 0
  for await (const part of command.stdin) {
    read.update(part as Buffer)
    bytes += (part as Buffer).length
    if (bytes === pieces * piece.length) break
  }
  expect(read.digest('hex')).toBe(sent.digest('hex'))
})
