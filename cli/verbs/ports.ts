import type { Socket } from 'node:net'
import type { BoxHandle } from '../../sdk/typescript/src/boxyard.ts'
import { createHostOpener } from '../context/box-host.ts'
import { UsageError } from '../output/failures.ts'
import { printLine, reportLine } from '../output/terminal.ts'
import { isLeaving, joinPort, listenUntilInterrupted } from '../ports/forwarding.ts'
import type { Verb } from './verb.ts'

const portForward: Verb = {
  words: 'port-forward',
  args: '<box> <ports...>',
  flags: [['--address <address>', 'local address to listen on (127.0.0.1)']],
  summary: 'Forward local TCP ports to ports of a box, LOCAL[:PORT], until Ctrl-C. LOCAL 0 picks a free port',
  examples: ['boxyard port-forward web 5432', 'boxyard port-forward web 8000:80 0:22'],
  operations: ['openPort'],
  run: async ({ boxyard, project }, [name = '', ...given], flags) => {
    const pairs = given.map(portsOf)
    const box = boxyard.box(project(), name)
    await box.info()
    const host = addressOf(flags['address'])
    const listeners = pairs.map(({ local, port }) => {
      const elsewhere = `boxyard port-forward ${name} 0:${port}`
      return { host, port: local, elsewhere, take: (socket: Socket) => carry(socket, box, port) }
    })
    await listenUntilInterrupted(listeners, (index, at) => {
      printLine(`Forwarding ${host}:${at} to port ${pairs[index]?.port} of ${name}`)
    })
  },
}

const proxy: Verb = {
  words: 'proxy',
  args: '',
  flags: [
    ['--address <address>', 'local address to listen on (127.0.0.1)'],
    ['--port <port>', 'local port to listen on (1080). 0 picks a free port'],
  ],
  summary: 'Run a SOCKS5 proxy until Ctrl-C. It connects only to ports of boxes, as BOX[.PROJECT].boxyard',
  examples: ['boxyard proxy', 'curl --socks5-hostname 127.0.0.1:1080 http://web.boxyard:8000/'],
  hostsNameProject: true,
  operations: ['openPort'],
  run: async (context, _args, flags) => {
    const { serveSocks } = await import('../ports/socks.ts')
    const { port = '1080' } = flags
    if (typeof port !== 'string' || !/^\d{1,5}$/.test(port) || Number(port) > PORT_MAX)
      throw new UsageError(`--port: must be a port up to ${PORT_MAX}, not "${String(port)}".`)
    const host = addressOf(flags['address'])
    const open = createHostOpener(context)
    const take = (socket: Socket): Promise<void> => serveSocks(socket, open, tellError)
    const elsewhere = 'boxyard proxy --port 0'
    await listenUntilInterrupted([{ host, port: Number(port), elsewhere, take }], (_, at) => {
      printLine(`SOCKS5 proxy at ${host}:${at}`)
    })
  },
}

/** The commands that reach ports. */
export const PORT_VERBS: readonly Verb[] = [portForward, proxy]

function portsOf(text: string): { local: number; port: number } {
  const [, local = '', port = local] = /^(\d{1,5})(?::(\d{1,5}))?$/.exec(text) ?? []
  const pair = { local: Number(local), port: Number(port) }
  if (local === '' || pair.local > PORT_MAX || pair.port > PORT_MAX || pair.port === 0)
    throw new UsageError(`<ports>: must be LOCAL[:PORT] with ports up to ${PORT_MAX}, not "${text}".`)
  return pair
}

async function carry(socket: Socket, box: BoxHandle, port: number): Promise<void> {
  try {
    await joinPort(socket, await box.connect(port))
  } catch (error) {
    if (!socket.destroyed || !isLeaving(error)) tellError(`port ${port}`, error)
    // Makes the client see an error rather than an end.
    socket.resetAndDestroy()
  }
}

function tellError(what: string, error: unknown): void {
  reportLine(`boxyard: ${what}: ${error instanceof Error ? error.message : String(error)}`)
}

/** Returns the address to listen on. @throws UsageError for an empty one, which would mean all addresses of this machine */
function addressOf(flag: unknown): string {
  if (flag === '') throw new UsageError('--address: must be a local address such as 127.0.0.1, not "".')
  return typeof flag === 'string' ? flag : '127.0.0.1'
}

const PORT_MAX = 65_535
