import { createServer } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { expect, test } from '@jest/globals'
import { listenAt } from '../../../shared/http/listen.ts'

test('an address that no interface has yet is waited for', async () => {
  const server = createServer()
  // The system refuses like this until the interface has its address.
  const real = server.listen.bind(server)
  let refusals = 0
  server.listen = ((...args: Parameters<typeof real>) => {
    if (refusals === 2) return real(...args)
    refusals += 1
    setImmediate(() => server.emit('error', Object.assign(new Error('no address'), { code: 'EADDRNOTAVAIL' })))
    return server
  }) as typeof server.listen
  await listenAt(server, { host: '127.0.0.1', port: 0 })
  expect([refusals, server.listening, server.listenerCount('error')]).toEqual([2, true, 0])
  server.close()
})

test('a port that is taken is refused at once', async () => {
  const other = createTcpServer()
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  const { port } = other.address() as AddressInfo
  await expect(listenAt(createServer(), { host: '127.0.0.1', port })).rejects.toMatchObject({ code: 'EADDRINUSE' })
  other.close()
})
