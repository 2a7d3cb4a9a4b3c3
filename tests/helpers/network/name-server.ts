import { type AddressInfo, createServer, type Socket } from 'node:net'

/** A DNS server on loopback that resolves every name to this machine. */
export interface NameServer {
  port: number
  close(): Promise<void>
}

/** Starts a server for DNS over TCP, on a free port. */
export async function startNameServer(): Promise<NameServer> {
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
        socket.write(framed(answerTo(pending.subarray(2, end))))
        pending = pending.subarray(end)
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        for (const socket of open) socket.destroy()
        server.close(() => resolve())
      }),
  }
}

function framed(message: Buffer): Buffer {
  const size = Buffer.alloc(2)
  size.writeUInt16BE(message.length)
  return Buffer.concat([size, message])
}

/** Answers 127.0.0.1 to a question for an A record, and nothing to any other (RFC 1035 §4). */
function answerTo(message: Buffer): Buffer {
  let end = HEAD_BYTES
  while (message[end] !== 0) end += 1 + (message[end] ?? 0)
  end += 5
  const isAddress = message.readUInt16BE(end - 4) === 1
  const head = Buffer.from(message.subarray(0, HEAD_BYTES))
  head.writeUInt16BE(0x8180, 2)
  for (const [at, count] of [1, isAddress ? 1 : 0, 0, 0].entries()) head.writeUInt16BE(count, 4 + 2 * at)
  // A pointer to the question's name, type A, class IN, TTL 0, four bytes.
  const record = Buffer.from([0xc0, HEAD_BYTES, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 127, 0, 0, 1])
  return Buffer.concat([head, message.subarray(HEAD_BYTES, end), isAddress ? record : Buffer.alloc(0)])
}

const HEAD_BYTES = 12
