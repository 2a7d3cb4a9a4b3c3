import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { afterEach, expect, test } from '@jest/globals'
import ssh2 from 'ssh2'
import { quickenCiphers } from '../../../cli/ssh/packet-ciphers.ts'
import { makeSshKey } from '../../../cli/ssh/private-keys.ts'

const SIZES = Array.from({ length: 60 }, (_, step) => step + 2 * step ** 2 + (step % 7 === 0 ? 60_000 : 0))
let leave = (): void => undefined
afterEach(() => leave())

const hostKey = makeSshKey('host')

/** Serves an ssh2 client at one end of a pipe, and echoes the data of a channel. Returns whether the ciphers became quick. */
function serveEcho(transport: Socket): boolean[] {
  const isQuick: boolean[] = []
  const server = new ssh2.Server({ hostKeys: [hostKey] }, (connection) => {
    connection.on('error', () => undefined)
    connection.on('handshake', () => isQuick.push(quickenCiphers(connection, transport)))
    connection.on('authentication', (context) => context.accept())
    connection.on('session', (accept) => {
      accept().on('exec', (acceptExec) => {
        const channel = acceptExec()
        channel.pipe(channel)
      })
    })
  })
  server.injectSocket(transport)
  return isQuick
}

async function connect(cipher: string): Promise<{ client: ssh2.Client; isQuick: boolean[] }> {
  const listener = createServer().listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const serving = once(listener, 'connection').then(([socket]) => serveEcho(socket as Socket))
  const client = new ssh2.Client()
  leave = () => {
    client.destroy()
    listener.close()
  }
  const { port } = listener.address() as AddressInfo
  client.connect({ host: '127.0.0.1', port, username: 'root', password: '', algorithms: { cipher: [cipher as never] } })
  await once(client, 'ready')
  return { client, isQuick: await serving }
}

test.each(['aes128-gcm@openssh.com', 'aes256-gcm@openssh.com'])(
  'packets of any size go both ways unchanged: %s',
  async (cipher) => {
    const { client, isQuick } = await connect(cipher)
    const channel = await new Promise<ssh2.ClientChannel>((resolve, reject) => {
      client.exec('echo', (error, made) => (error ? reject(error) : resolve(made)))
    })
    const received: Buffer[] = []
    channel.on('data', (piece: Buffer) => received.push(piece))
    const sent = SIZES.map((size) => randomBytes(size))
    for (const piece of sent) channel.write(piece)
    channel.end('end')
    await once(channel, 'end')
    expect(Buffer.concat(received).equals(Buffer.concat([...sent, Buffer.from('end')]))).toBe(true)
    expect(isQuick).toEqual([true])
  },
)

test('ciphers of another kind are left as they are', async () => {
  const { isQuick } = await connect('aes128-ctr')
  expect(isQuick).toEqual([false])
})
