import { join } from 'node:path'
import { clusterCgroup } from './cgroups.ts'
import { type ClusterRecord, clusterPaths } from './record.ts'

/** Maximum number of nodes of a cluster. Its subnet has space for the pods of this many. */
export const MAX_NODES = 5

/** A node of a cluster. The only one is this host itself. Each of several has its own network, mount and UTS namespace. */
export interface NodeRecord {
  /** From 1. */
  number: number
  /** Its name in Kubernetes, and in its UTS namespace. */
  name: string
  /** Its IPv4 address, of this host or on the bridge of the cluster. */
  address: string
  /** Subnet of its pods, as CIDR. */
  podSubnet: string
  /** Suffix of its files and parts: empty, or "-2". */
  suffix: string
  maxPods: number
}

/** Paths of a node's own files, all below the cluster's directories. */
export interface NodePaths {
  state: string
  /** Short, because paths of sockets are below it. */
  run: string
  containerdSocket: string
  kubeletKubeconfig: string
  /** Kubeconfig of the agent on this node. */
  agentKubeconfig: string
  /** Data directory of the agent on this node, of several. */
  agentData: string
  /** With several nodes, a program that starts another one there. */
  enter: string
}

/** Returns the nodes of a cluster, in order. */
export function clusterNodes({ node, nodeCount, subnet }: ClusterRecord): NodeRecord[] {
  if (nodeCount === 1)
    return [{ name: node.name, address: node.address, number: 1, podSubnet: subnet, suffix: '', maxPods: 250 }]
  return Array.from({ length: nodeCount }, (_, i) => ({
    number: i + 1,
    name: `${node.name.slice(0, MAX_LABEL - 2)}-${i + 1}`,
    address: addressIn(subnet, i + 2),
    podSubnet: `${addressIn(subnet, (i + 1) * BLOCK)}/${BLOCK_BITS}`,
    suffix: `-${i + 1}`,
    maxPods: 110,
  }))
}

/**
 * Returns the bridge of a cluster of several nodes, which is the first eighth of the subnet, with this host at the first address. Otherwise
 * null.
 */
export function clusterBridge({
  nodeCount,
  subnet,
}: ClusterRecord): { link: string; address: string; bits: number } | null {
  if (nodeCount === 1) return null
  const [, second = 0, third = 0] = subnet.split('.').map(Number)
  return { link: `byc-${hex(second)}${hex(third)}`, address: addressIn(subnet, 1), bits: BLOCK_BITS }
}

/** Returns the address by which the API server is reached from this host and from all nodes. */
export function apiServerAddress(record: ClusterRecord): string {
  return clusterBridge(record)?.address ?? '127.0.0.1'
}

export function nodePaths(cluster: string, { number, suffix }: NodeRecord): NodePaths {
  const { state, run } = clusterPaths(cluster)
  const ownRun = suffix === '' ? run : join(run, `${number}`)
  const ownState = suffix === '' ? state : join(state, `node${suffix}`)
  return {
    state: ownState,
    run: ownRun,
    containerdSocket: join(ownRun, 'containerd.sock'),
    kubeletKubeconfig: join(state, `kubelet${suffix}.kubeconfig`),
    agentKubeconfig: join(state, `agent${suffix}.kubeconfig`),
    agentData: join(ownState, 'boxyard'),
    enter: join(state, `enter${suffix}`),
  }
}

/** Returns the name of a node's cgroup, the same in every hierarchy. It is the cluster's cgroup, or below it. */
export function nodeCgroup(cluster: string, { suffix }: NodeRecord): string {
  return join(clusterCgroup(cluster), suffix === '' ? '' : `node${suffix}`)
}

/** Returns an address of a subnet that starts at a multiple of 1024. */
function addressIn(subnet: string, index: number): string {
  const [first, second, third = 0] = subnet.split('.').map((part) => Number.parseInt(part, 10))
  return `${first}.${second}.${third + (index >> 8)}.${index & 255}`
}

function hex(byte: number): string {
  return byte.toString(16).padStart(2, '0')
}

const BLOCK = 128
const BLOCK_BITS = 25
/** A label of a DNS name, as required for a host name. */
const MAX_LABEL = 63
