import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { hostname, networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { findNodeAddress } from './node-address.ts'

/** Choices made when a cluster is created. They stay until it is removed. */
export interface ClusterRecord {
  name: string
  /** The directory of the built programs. */
  programs: string
  /** This host if it is the only node. */
  node: { name: string; address: string; mtu: number }
  nodeCount: number
  /** Subnet of the pods, and of several nodes, a /22. */
  subnet: string
  ports: { apiServer: number; kubelet: number; etcd: number; etcdPeer: number }
}

/** Paths of a cluster's files, all removed with the cluster. */
export interface ClusterPaths {
  /** Every directory above a container's root is traversable by all users, because pods run as their own users. */
  state: string
  /** Sockets, process ids and mounts. */
  run: string
  record: string
  keys: string
  log: string
  bin: string
  adminKubeconfig: string
  agentKubeconfig: string
  containerdSocket: string
}

export function clusterPaths(name: string): ClusterPaths {
  if (!/^[a-z0-9][a-z0-9-]{0,15}$/.test(name)) {
    throw new Error(
      `The name of a cluster must be 1 to 16 of a-z, 0-9 and "-", without "-" at the beginning, not "${name}".`,
    )
  }
  const state = join(STATES, name)
  const run = join(RUNS, name)
  return {
    state,
    run,
    record: join(state, 'cluster.json'),
    keys: join(state, 'keys'),
    log: join(state, 'log'),
    bin: join(state, 'bin'),
    adminKubeconfig: join(state, 'admin.kubeconfig'),
    agentKubeconfig: join(state, 'agent.kubeconfig'),
    containerdSocket: join(run, 'containerd.sock'),
  }
}

/** Returns the names of all clusters of this host, including unfinished ones and leftovers. */
export function listClusters(): string[] {
  return [...new Set([STATES, RUNS].flatMap((directory) => directories(directory)))].sort()
}

/** Returns the record of a cluster, or null if it was never created. */
export function readRecord(name: string): ClusterRecord | null {
  const { record } = clusterPaths(name)
  if (!existsSync(record)) return null
  // Records of earlier versions, which knew one node only, lack the number of nodes.
  return { nodeCount: 1, ...(JSON.parse(readFileSync(record, 'utf8')) as Omit<ClusterRecord, 'nodeCount'>) }
}

/** Chooses ports and a subnet that no other cluster of this host uses, and writes the record. Call it under the host's lock. */
export async function createClusterRecord(name: string, programs: string, nodeCount = 1): Promise<ClusterRecord> {
  const others = listClusters()
    .map(readRecord)
    .filter((record) => record !== null)
  const record: ClusterRecord = {
    name,
    programs,
    node: { name: hostname().toLowerCase(), ...findNodeAddress() },
    nodeCount,
    subnet: chooseSubnet(name, others),
    ports: await choosePorts(name, others),
  }
  const paths = clusterPaths(name)
  mkdirSync(paths.state, { recursive: true, mode: 0o711 })
  writeFileSync(paths.record, JSON.stringify(record, null, 2))
  return record
}

/** Picks a subnet of 10.160.0.0/11, which neither boxes of the embedded runtime nor the services of a cluster use. */
function chooseSubnet(name: string, others: readonly ClusterRecord[]): string {
  const used = new Set(others.map(({ subnet }) => subnet))
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? [])
  for (let i = 0; i < SUBNETS; i++) {
    const index = (seed(name) + i) % SUBNETS
    const network = `10.${160 + (index >> 6)}.${(index & 63) << 2}`
    const isTaken = addresses.some(({ address }) => address.startsWith(`10.${160 + (index >> 6)}.`))
    if (!used.has(`${network}.0/22`) && !isTaken) return `${network}.0/22`
  }
  throw new Error('All networks of 10.160.0.0/11 are in use. Stop another cluster first.')
}

/** Picks ports below the range of outgoing connections, so that a restarted part finds its port free. */
async function choosePorts(name: string, others: readonly ClusterRecord[]): Promise<ClusterRecord['ports']> {
  const used = new Set(others.flatMap(({ ports }) => Object.values(ports)))
  const free: number[] = []
  for (let i = 0; i < PORTS && free.length < 4; i++) {
    const port = FIRST_CLUSTER_PORT + ((seed(name) * 4 + i) % PORTS)
    if (!used.has(port) && (await isFree(port))) free.push(port)
  }
  const [apiServer, kubelet, etcd, etcdPeer] = free
  if (apiServer === undefined || kubelet === undefined || etcd === undefined || etcdPeer === undefined) {
    throw new Error(`No four ports are free from ${FIRST_CLUSTER_PORT} to ${FIRST_CLUSTER_PORT + PORTS - 1}.`)
  }
  return { apiServer, kubelet, etcd, etcdPeer }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen({ port, exclusive: true }, () => server.close(() => resolve(true)))
  })
}

function seed(name: string): number {
  return createHash('sha256').update(name).digest().readUInt16BE()
}

function directories(path: string): string[] {
  if (!existsSync(path)) return []
  return readdirSync(path, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
}

/** The first of 10,000 ports that clusters choose from. Tests use ports below it. */
export const FIRST_CLUSTER_PORT = 20_000

const STATES = '/var/lib/boxyard-cluster'
const RUNS = '/run/boxyard-cluster'
const SUBNETS = 32 * 64
const PORTS = 10_000
