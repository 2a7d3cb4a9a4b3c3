import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { createNftNetwork, type NftNetworkSettings } from '../../../agent/drivers/network/nft-network.ts'
import { NAME_SERVER } from '../../../agent/drivers/network/slots.ts'
import { runOk } from '../../../agent/lib/run.ts'
import type { Network, NetworkMember, NetworkSlot } from '../../../agent/ports/boxes/network.ts'
import { passable, passableNode } from '../passable.ts'
import { silentLogger } from '../silent-logger.ts'

/** The network namespace of a box or of the outside. Null for the host's own. */
export type Place = Pick<NetworkSlot, 'networkNamespace'> | NetworkSlot | null

/** A network beyond the host, with a public address at either end. */
export interface Outside {
  address: string
  hostAddress: string
  networkNamespace: string
  close(): void
}

export interface LabServer {
  /** Output so far, with a line for each peer. */
  lines: string[]
  pid: number
  close(): void
}

export interface Question {
  protocol: 'tcp' | 'udp'
  host: string
  port: number
  /** Source address. */
  source?: string
  /** Time without an answer after which it counts as blocked, in ms. The default of 800 suits only UDP answers that must not arrive. */
  patienceMs?: number
}

/** Returns settings of a new instance, with directories in a new temporary directory. */
export function labSettings(changes: Partial<NftNetworkSettings> = {}): NftNetworkSettings {
  const home = mkdtempSync(`${tmpdir()}/boxyard-network-`)
  execFileSync('chmod', ['711', home])
  return {
    instanceId: randomUUID(),
    dataDir: home,
    runDir: `${home}/run`,
    subnet: '10.213.0.0/16',
    egress: true,
    allowPrivate: false,
    dns: [],
    spareMin: 2,
    logger: silentLogger,
    ...changes,
  }
}

/** Opens a network, runs `work`, and removes the network. */
export async function withNetwork<T>(settings: NftNetworkSettings, work: (network: Network) => Promise<T>): Promise<T> {
  const network = createNftNetwork(settings)
  await network.open()
  try {
    return await work(network)
  } finally {
    await network.close({ release: true })
    rmSync(settings.dataDir, { recursive: true, force: true })
  }
}

/** Creates the outside, a namespace behind an interface of the host. It gets `extraAddresses` in addition to its public address. */
export async function openOutside(extraAddresses: readonly string[] = []): Promise<Outside> {
  const child = spawn('unshare', ['--net', 'sh', '-c', 'echo ready; read -r _'], { stdio: ['pipe', 'pipe', 'inherit'] })
  await firstOutput(child)
  const namespace = `/proc/${child.pid}/ns/net`
  // Test files run in parallel, so each uses its own subnet of 203.0.113.0/24.
  const part = (process.pid % 62) * 4
  const [hostAddress, address] = [`203.0.113.${part + 1}`, `203.0.113.${part + 2}`]
  const name = `out${process.pid % 100_000}`
  const inside = (line: string): Promise<unknown> => runOk('nsenter', [`--net=${namespace}`, 'ip', ...line.split(' ')])
  await runOk('ip', ['link', 'add', name, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', String(child.pid)])
  await runOk('ip', ['address', 'add', `${hostAddress}/30`, 'dev', name])
  await runOk('ip', ['link', 'set', name, 'up'])
  await inside('link set lo up')
  await inside(`address add ${address}/30 dev eth0`)
  await inside('link set eth0 up')
  await inside(`route add default via ${hostAddress}`)
  for (const extra of extraAddresses) {
    await inside(`address add ${extra}/32 dev eth0`)
    await runOk('ip', ['route', 'add', `${extra}/32`, 'via', address, 'dev', name])
  }
  return {
    address,
    hostAddress,
    networkNamespace: namespace,
    close: () => {
      execFileSync('ip', ['link', 'delete', name])
      child.stdin.end()
    },
  }
}

/** Starts a server at `place` that answers `tag`. It answers on TCP, and on UDP after `delay` ms or when its process gets SIGUSR2. */
export async function serveAt(
  place: Place,
  port: number,
  tag: string,
  delay: number | 'signal' = 0,
): Promise<LabServer> {
  const [command, args] = enter(place, ['serve', String(port), tag, String(delay)])
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines: string[] = []
  child.stdout.on('data', (data: Buffer) => lines.push(...data.toString().trim().split('\n')))
  await firstOutput(child)
  return { lines, pid: child.pid ?? 0, close: () => child.kill('SIGKILL') }
}

/** Returns a server's answer, which is its tag, `refused` or `blocked`. */
export async function ask(place: Place, question: Question): Promise<string> {
  const { protocol, host, port, source, patienceMs = PATIENCE_MS } = question
  const values = [port, patienceMs, source].filter((value) => value !== undefined)
  const [command, args] = enter(place, [protocol, host, ...values.map(String)])
  return (await runOk(command, args)).stdout
}

/** Returns the answer of a TCP server. */
export function tcp(place: Place, host: string, port: number): Promise<string> {
  return ask(place, { protocol: 'tcp', host, port })
}

/** Returns the answer of a UDP server. */
export function udp(place: Place, host: string, port: number, patienceMs = PATIENCE_MS): Promise<string> {
  return ask(place, { protocol: 'udp', host, port, patienceMs })
}

/** Returns a box of the lab. Its id contains the project and the name. */
export function member(project: string, name: string): NetworkMember {
  return { boxId: `box_${project}_${name}`, project, name }
}

/** Joins a box of the lab to a network. */
export function join(network: Network, project: string, name: string): Promise<NetworkSlot> {
  return network.join(member(project, name))
}

/** Runs `work` while each slot has a server on BOX_PORT that answers with the slot's address. */
export async function withServers(
  slots: readonly NetworkSlot[],
  work: (servers: LabServer[]) => Promise<unknown>,
): Promise<void> {
  const servers = await Promise.all(slots.map((slot) => serveAt(slot, BOX_PORT, slot.address)))
  try {
    await work(servers)
  } finally {
    for (const server of servers) server.close()
  }
}

/** Runs a program as the root of a box's namespaces, or as host root in only its network namespace. */
export async function runIn(
  slot: NetworkSlot,
  command: readonly string[],
  as: 'box' | 'host' = 'box',
): Promise<string> {
  const user = as === 'box' ? [`--user=${slot.userNamespace}`] : []
  return (await runOk('nsenter', [...user, `--net=${slot.networkNamespace}`, ...command])).stdout
}

/** Resolves with the first chunk that a child prints. */
export function firstOutput(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    child.stdout?.once('data', (data: Buffer) => resolve(data.toString()))
    child.once('exit', (code) => reject(new Error(`the child ended with ${code}`)))
  })
}

/** Starts the DNS client of tests/fixtures/dns-client.ts in `place`. */
export function startDns(place: Place, args: readonly string[]): ChildProcess {
  const [command, all] = enter(place, args, DNS_CLIENT)
  return spawn(command, all, { stdio: ['ignore', 'pipe', 'inherit'] })
}

/** Returns what a DNS client in `place` prints, trimmed. */
export async function dns(place: Place, ...args: string[]): Promise<string> {
  const [command, all] = enter(place, args, DNS_CLIENT)
  return (await runOk(command, all)).stdout.trim()
}

/** Queries the name server of boxes for a record. */
export function lookUp(place: Place, name: string, ...how: string[]): Promise<string> {
  return dns(place, 'ask', NAME_SERVER, name, ...how)
}

function enter(place: Place, args: readonly string[], script = PROBE): [command: string, args: string[]] {
  const program = [passableNode(), passable(script), ...args]
  if (place === null) return [passableNode(), program.slice(1)]
  const user = 'userNamespace' in place ? [`--user=${place.userNamespace}`] : []
  return ['nsenter', [...user, `--net=${place.networkNamespace}`, ...program]]
}

/** Limit for a UDP answer that must arrive, from a server that may be slow to run. */
export const ANSWER_MS = 30_000
/** Port of the servers in boxes. */
export const BOX_PORT = 7000

const DNS_CLIENT = new URL('../../fixtures/dns-client.ts', import.meta.url).pathname
const PROBE = new URL('../../fixtures/net-probe.ts', import.meta.url).pathname
/** Limit for connections, and for answers that must not arrive. */
const PATIENCE_MS = 800
