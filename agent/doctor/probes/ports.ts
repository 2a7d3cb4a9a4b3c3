import { readdirSync, readlinkSync } from 'node:fs'
import { createServer, isIP } from 'node:net'
import { join, resolve } from 'node:path'
import type { AgentSettings } from '../../config/agent.ts'
import { edgePids } from '../../drivers/edge/process.ts'
import { unitOf } from '../../lib/disk/data-lock.ts'
import { tryReadText } from '../../lib/disk/file-text.ts'
import type { PortFacts, Seen } from '../facts.ts'

export interface PortsRequest {
  agent: AgentSettings
  front: { host: string; port: number }
  isRoot: boolean
}

/** Looks at the processes that listen at the service's addresses. */
export async function probePorts({ agent, front, isRoot }: PortsRequest): Promise<PortFacts[]> {
  const isOurs = await createOwnership(agent)
  return Promise.all(
    addressesOf(agent, front).map(async (address) => {
      const inodes = listeningAt(address.host, address.port).map(({ inode }) => inode)
      const holders = holdersOf(inodes, isRoot, isOurs)
      const isFree = inodes.length === 0
      return { ...address, holders, refusal: isFree ? await tryListening(address) : null }
    }),
  )
}

interface Address {
  variable: string
  host: string
  port: number
}

function addressesOf({ host, port, data, metrics, edge }: AgentSettings, front: PortsRequest['front']): Address[] {
  return [
    { variable: 'BOXYARD_PORT', ...front },
    { variable: 'BOXYARD_AGENT_PORT', host, port },
    { variable: 'BOXYARD_DATA_PORT', host: data.host, port: data.port },
    ...(metrics ? [{ variable: 'BOXYARD_METRICS_PORT', ...metrics }] : []),
    { variable: 'BOXYARD_EDGE_PORT', host: edge.host, port: edge.port },
    ...(edge.acme?.httpPort ? [{ variable: 'BOXYARD_EDGE_HTTP_PORT', host: edge.host, port: edge.acme.httpPort }] : []),
  ].filter(({ port: wanted }) => wanted !== 0)
}

/** Tests whether only root or the user of this process listens at an address, because any user may while the service is down. */
export function isTrustedListener({ host, port }: { host: string; port: number }): boolean {
  const users = listeningAt(host, port).map(({ uid }) => uid)
  return users.length > 0 && users.every((uid) => uid === 0 || uid === process.getuid?.())
}

/** Returns the sockets that listen at an address, or at all addresses with its port. */
function listeningAt(host: string, port: number): ListeningSocket[] {
  return parseListening(tryReadText('/proc/net/tcp'), tryReadText('/proc/net/tcp6')).filter(
    (socket) => socket.port === port && (socket.isAny || ANY.has(host) || isIP(host) === 0 || socket.host === host),
  )
}

interface ListeningSocket {
  host: string
  isAny: boolean
  port: number
  uid: number
  inode: string
}

/** Parses the listening sockets of /proc/net/tcp and tcp6. Pure. */
export function parseListening(tcp: string, tcp6: string): ListeningSocket[] {
  return [tcp, tcp6].flatMap((text) =>
    text
      .split('\n')
      .slice(1)
      .flatMap((line) => {
        const fields = line.trim().split(/\s+/)
        const [, local = '', , state] = fields
        if (state !== LISTEN) return []
        const [address = '', port = ''] = local.split(':')
        const host = addressOf(address)
        const [uid, inode] = [Number(fields[UID]), fields[INODE] ?? '']
        return [{ host, isAny: /^0+$/.test(address), port: Number.parseInt(port, 16), uid, inode }]
      }),
  )
}

// The kernel writes each 32-bit word in the order of the host, which is little-endian.
function addressOf(hex: string): string {
  const words = hex.match(/.{8}/g) ?? []
  const bytes = words.flatMap((word) => [...Buffer.from(word, 'hex').reverse()])
  if (bytes.length === 4) return bytes.join('.')
  if (bytes.slice(0, 12).join() === MAPPED) return bytes.slice(12).join('.')
  if (bytes.join() === LOOPBACK6) return '::1'
  return Buffer.from(bytes).toString('hex').match(/.{4}/g)?.join(':') ?? ''
}

type Holder = Extract<PortFacts['holders'], { value: unknown }>['value'][number]

function holdersOf(inodes: readonly string[], isRoot: boolean, isOurs: (pid: number) => boolean): Seen<Holder[]> {
  if (inodes.length === 0) return { value: [] }
  const wanted = new Set(inodes.map((inode) => `socket:[${inode}]`))
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && opens(name, wanted))
  if (pids.length === 0)
    return { hidden: isRoot ? 'its process is in another namespace' : 'only root sees its process' }
  return {
    value: pids.map(Number).map((pid) => ({
      pid,
      command: tryReadText(`/proc/${pid}/comm`).trim(),
      unit: unitOf(tryReadText(`/proc/${pid}/cgroup`)),
      isOurs: isOurs(pid),
    })),
  }
}

function opens(pid: string, sockets: ReadonlySet<string>): boolean {
  const directory = `/proc/${pid}/fd`
  return orElse([], () => readdirSync(directory)).some((fd) =>
    sockets.has(orElse('', () => readlinkSync(join(directory, fd)))),
  )
}

/** Returns a test whether a process belongs to this deployment: its agent, its front or its edge. */
async function createOwnership({ dataDir, runRoot }: AgentSettings): Promise<(pid: number) => boolean> {
  const instance = tryReadText(join(dataDir, 'instance')).trim()
  const edge = instance === '' ? [] : await edgePids(join(runRoot, instance))
  return (pid) => {
    if (edge.includes(pid)) return true
    if (!isServiceCommand(tryReadText(`/proc/${pid}/cmdline`).split('\0'))) return false
    const environment = tryReadText(`/proc/${pid}/environ`).split('\0')
    const given = environment.find((line) => line.startsWith('BOXYARD_DATA_DIR='))?.split('=')[1]
    return resolve(given ?? '/var/lib/boxyard') === dataDir
  }
}

/** Tests whether a command runs an agent or a front, from a checkout or as installed. Pure. */
export function isServiceCommand(command: readonly string[]): boolean {
  return command.some((word) => /(^|\/)(agent\/(bundle\/)?main|functions\/(bundle\/)?standalone)\.(ts|mjs)$/.test(word))
}

/** Returns the error code of a try to listen. Null if it succeeded. */
function tryListening({ host, port }: Address): Promise<string | null> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(null)))
  })
}

/** Reads a file that may be gone by now, or that only others may read. */
function orElse<T>(fallback: T, read: () => T): T {
  try {
    return read()
  } catch {
    return fallback
  }
}

const ANY: ReadonlySet<string> = new Set(['0.0.0.0', '::'])
const UID = 7
const INODE = 9
const LISTEN = '0A'
const MAPPED = '0,0,0,0,0,0,0,0,0,0,255,255'
const LOOPBACK6 = '0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,1'
