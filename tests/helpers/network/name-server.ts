import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'

/** A DNS server on loopback. It resolves every name to this machine, and serves the given TXT records. */
export interface NameServer {
  port: number
  /** Texts by name, of at most 255 bytes each. */
  texts: Map<string, string[]>
  close(): Promise<void>
}

/** Starts a DNS server on TCP and UDP, on a free port. */
export async function startNameServer(): Promise<NameServer> {
  const texts = new Map<string, string[]>()
  const open = new Set<Socket>()
  const server = createServer((socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
    socket.on('error', () => socket.destroy())
    let pending = Buffer.alloc(0)
    socket.on('data', (piece) => {
      pending = Buffer.concat([pending, piece])
      while (pending.length >= 2 && pending.length >= 2 + pending.readUInt16BE(0)) {
        const end = 2 + pending.readUInt16BE(0)
        socket.write(framed(answerTo(pending.subarray(2, end), texts)))
        pending = pending.subarray(end)
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const datagrams = createSocket('udp4')
  datagrams.on('message', (message, from) => datagrams.send(answerTo(message, texts), from.port, from.address))
  datagrams.bind(port, '127.0.0.1')
  await once(datagrams, 'listening')
  return {
    port,
    texts,
    close: async () => {
      for (const socket of open) socket.destroy()
      await Promise.all([
        new Promise((resolve) => server.close(resolve)),
        new Promise<void>((resolve) => datagrams.close(() => resolve())),
      ])
    },
  }
}

function framed(message: Buffer): Buffer {
  const size = Buffer.alloc(2)
  size.writeUInt16BE(message.length)
  return Buffer.concat([size, message])
}

/** Answers a question for an A record with 127.0.0.1, and one for TXT with the texts. Other questions get an empty answer (RFC 1035 §4). */
function answerTo(message: Buffer, texts: ReadonlyMap<string, readonly string[]>): Buffer {
  const labels: string[] = []
  let end = HEAD_BYTES
  for (let length = message[end] ?? 0; length !== 0; length = message[end] ?? 0) {
    labels.push(message.toString('latin1', end + 1, end + 1 + length))
    end += 1 + length
  }
  end += 5
  const type = message.readUInt16BE(end - 4)
  const records =
    type === TYPE.A
      ? [recordOf(type, Buffer.from([127, 0, 0, 1]))]
      : type === TYPE.TXT
        ? (texts.get(labels.join('.').toLowerCase()) ?? []).map((text) => recordOf(type, textOf(text)))
        : []
  const head = Buffer.from(message.subarray(0, HEAD_BYTES))
  head.writeUInt16BE(0x8180, 2)
  for (const [at, count] of [1, records.length, 0, 0].entries()) head.writeUInt16BE(count, 4 + 2 * at)
  return Buffer.concat([head, message.subarray(HEAD_BYTES, end), ...records])
}

/** Encodes a record with a pointer to the question's name, class IN, TTL 0, and the data. */
function recordOf(type: number, data: Buffer): Buffer {
  return Buffer.concat([Buffer.from([0xc0, HEAD_BYTES, 0, type, 0, 1, 0, 0, 0, 0, 0, data.length]), data])
}

function textOf(text: string): Buffer {
  return Buffer.concat([Buffer.from([text.length]), Buffer.from(text)])
}

const HEAD_BYTES = 12
const TYPE = { A: 1, TXT: 16 } as const
