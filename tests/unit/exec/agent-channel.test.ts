import { type Duplex, duplexPair } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeEach, describe, expect, test } from '@jest/globals'
import { AgentChannel } from '../../../agent/core/exec/agent-channel.ts'
import { eventually } from '../../helpers/eventually.ts'

let listener: (connection: Duplex) => void
let closes = 0
let channel: AgentChannel
let sent: [connection: number, text: string][] = []

beforeEach(() => {
  closes = 0
  sent = []
  channel = new AgentChannel({
    path: '/tmp/ssh-1/agent',
    serve: (given) => {
      listener = given
    },
    close: async () => void closes++,
  })
})

/** Connects a program of the box, and returns the program's end. */
function connect(): Duplex {
  const [program, ours] = duplexPair()
  listener(ours)
  return program.on('error', () => undefined)
}

function readAll(): void {
  channel.output.on('data', (payload: Buffer) => sent.push([payload.readUInt32BE(0), payload.subarray(4).toString()]))
}

describe('the connections to an agent', () => {
  test('have numbers, and pass bytes and the ends of both directions', async () => {
    readAll()
    const [one, two] = [connect(), connect()]
    one.write('first')
    two.end('second')
    await eventually(() => sent.length === 3)
    expect(sent).toEqual(
      expect.arrayContaining([
        [1, 'first'],
        [2, 'second'],
        [2, ''],
      ]),
    )
    const got: string[] = []
    two.on('data', (bytes: Buffer) => got.push(bytes.toString()))
    channel.take(2, Buffer.from('reply'))
    channel.take(2, new Uint8Array())
    await eventually(() => two.readableEnded)
    expect(got.join('')).toBe('reply')
    // The channel drops answers to connections that have ended or never existed.
    channel.take(2, Buffer.from('late'))
    channel.take(99, Buffer.from('unknown'))
    one.destroy()
    await eventually(() => sent.some(([id, text]) => id === 1 && text === ''))
  })

  test('make the programs wait while the client does not read', async () => {
    const program = connect()
    let written = 0
    const write = (): void => {
      if (written > 64 * 1024 ** 2) return
      written += 65_536
      program.write(Buffer.alloc(65_536), write)
    }
    write()
    await sleep(200)
    expect(written).toBeLessThan(2 * 1024 ** 2)
    const before = written
    channel.output.resume()
    await eventually(() => written > before + 2 * 1024 ** 2)
    program.destroy()
  })

  test('are cut off when a program leaves 512 KiB of answers unread, and others go on', async () => {
    readAll()
    const [stuck, other] = [connect(), connect()]
    for (let n = 0; n < 12; n++) channel.take(1, Buffer.alloc(65_536))
    await eventually(() => sent.some(([id, text]) => id === 1 && text === ''))
    const got: string[] = []
    other.on('data', (bytes: Buffer) => got.push(bytes.toString()))
    channel.take(2, Buffer.from('works'))
    await eventually(() => got.join('') === 'works')
    stuck.destroy()
  })

  test('end with the channel, which removes the socket once', async () => {
    readAll()
    connect()
    await Promise.all([channel.close(), channel.close()])
    expect(closes).toBe(1)
    await eventually(() => channel.output.readableEnded)
  })
})
