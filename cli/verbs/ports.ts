import { createServer, type Server, type Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { BoxHandle } from '../../sdk/typescript/src/boxyard.ts'
import { UsageError } from '../output/failures.ts'
import type { Verb } from './verb.ts'

const portForward: Verb = {
  words: 'port-forward',
  args: '<box> <ports...>',
  flags: [['--address <address>', 'where to listen here (127.0.0.1)']],
  summary: 'Reach TCP ports of a box at ports of this machine, LOCAL[:PORT], until Ctrl-C; 0 is a free one',
  examples: ['boxyard port-forward web 5432', 'boxyard port-forward web 8000:80 0:22'],
  operations: ['openPort'],
  run: async ({ boxyard, project }, [name = '', ...given], flags) => {
    const pairs = given.map(portsOf)
    const box = boxyard.box(project(), name)
    await box.info()
    const host = typeof flags['address'] === 'string' ? flags['address'] : '127.0.0.1'
    const servers: Server[] = []
    const open = new Set<Socket>()
    const take = (socket: Socket, port: number): void => {
      open.add(socket.once('close', () => open.delete(socket)))
      void carry(socket, box, port)
    }
    try {
      for (const { local, port } of pairs) {
        servers.push(await listen({ host, local }, (socket) => take(socket, port)))
        const address = servers.at(-1)?.address()
        const at = typeof address === 'object' && address !== null ? address.port : local
        process.stdout.write(`Forwarding ${host}:${at} to port ${port} of ${name}\n`)
      }
      await untilInterrupted()
    } finally {
      for (const server of servers) server.close()
      for (const socket of open) socket.destroy()
    }
  },
}

/** The verbs that reach ports. */
export const PORT_VERBS: readonly Verb[] = [portForward]

function portsOf(text: string): { local: number; port: number } {
  const [, local = '', port = local] = /^(\d{1,5})(?::(\d{1,5}))?$/.exec(text) ?? []
  const pair = { local: Number(local), port: Number(port) }
  if (local === '' || pair.local > PORT_MAX || pair.port > PORT_MAX || pair.port === 0)
    throw new UsageError(`Not LOCAL[:PORT] with ports up to ${PORT_MAX}: ${text}`)
  return pair
}

function listen({ host, local }: { host: string; local: number }, take: (socket: Socket) => void): Promise<Server> {
  // A client that has sent all still waits for the answer.
  const server = createServer({ allowHalfOpen: true, noDelay: true }, take)
  return new Promise((resolve, reject) => {
    server.once('error', (error) => reject(new Error(`Port ${local} of ${host}: ${error.message}`)))
    server.listen(local, host, () => resolve(server))
  })
}

async function carry(socket: Socket, box: BoxHandle, port: number): Promise<void> {
  socket.on('error', () => undefined)
  try {
    const { readable, writable } = await box.connect(port)
    await pipeline(socket, Duplex.fromWeb({ readable, writable }), socket)
  } catch (error) {
    if (!socket.destroyed || !isLeaving(error))
      process.stderr.write(`boxyard: port ${port}: ${error instanceof Error ? error.message : String(error)}\n`)
    // Tells the client of an error, not of an end.
    socket.resetAndDestroy()
  }
}

function isLeaving(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE'
}

function untilInterrupted(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve())
  })
}

const PORT_MAX = 65_535
