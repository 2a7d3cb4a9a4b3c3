import { execFileSync, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { clusterBridge, clusterNodes, type NodeRecord, nodePaths } from './nodes.ts'
import type { ClusterRecord } from './record.ts'

// A node of several is a network, mount and UTS namespace. Only its processes keep it, so it is gone once they end.

/** Returns the command by which a process joins the namespaces of the process `holder`. Append the program. */
export function enterCommand(holder: number): string[] {
  return ['nsenter', '--target', `${holder}`, '--mount', '--net', '--uts', '--']
}

/** Returns the command of the process that holds a node's namespaces. It creates them, names the host, and sleeps. */
export function holdCommand({ name }: NodeRecord): string[] {
  const script = 'hostname "$1" && exec sleep infinity'
  return ['unshare', '--mount', '--net', '--uts', '--propagation=slave', '--', 'sh', '-c', script, 'node', name]
}

/** True once a process started by the `holdCommand` has created its namespaces. */
export function holdsNode(pid: number): boolean {
  return readFileSync(`/proc/${pid}/comm`, 'utf8') === 'sleep\n'
}

/** Connects this host to the bridge of a cluster, and routes to its nodes' pods over it. Changes nothing for a single node. */
export function createBridge(record: ClusterRecord): void {
  const bridge = clusterBridge(record)
  if (bridge === null) return
  const { link, address, bits } = bridge
  configureLinks(
    [],
    [
      `link add ${link} address ${macOf(address)} type bridge`,
      `link set ${link} mtu ${record.node.mtu} up`,
      `address add ${address}/${bits} dev ${link}`,
      ...clusterNodes(record).map((node) => `route add ${node.podSubnet} via ${node.address} dev ${link}`),
    ],
  )
  // Nodes reach other networks through this host. The first pod of a single node sets the same.
  writeFileSync('/proc/sys/net/ipv4/ip_forward', '1')
}

/** Sets up the namespaces of `holder` as a node, with its link to the bridge, and separate directories where programs would share them. */
export function furnishNode(record: ClusterRecord, node: NodeRecord, holder: number): void {
  connectNode(record, node, holder)
  const { state } = nodePaths(record.name, node)
  const inside = (...command: string[]): void => run([...enterCommand(holder), ...command])
  const seen = readFileSync(`/proc/${holder}/mountinfo`, 'utf8')
  // Latest first, because mounts are stacked. A lazy unmount takes those below it with it.
  for (const path of foreignMounts(seen).reverse())
    inside('sh', '-c', 'umount --lazy -- "$1" 2>/dev/null || true', 'umount', path)
  for (const path of SHARED_DIRECTORIES) {
    const own = join(state, 'own', path)
    for (const directory of [path, own]) mkdirSync(directory, { recursive: true })
    inside('mount', '--bind', own, path)
  }
  giveBootId(join(state, 'own'), inside)
  // A sysfs shows the links of the network namespace in which it was mounted.
  const aside = join(state, 'own/cgroup')
  mkdirSync(aside, { recursive: true })
  inside('mount', '--move', CGROUPS, aside)
  inside('mount', '-t', 'sysfs', 'sysfs', '/sys')
  inside('mount', '--move', aside, CGROUPS)
}

/** Shows programs on a node a separate boot id, by which they know that everything they had started before is gone. */
function giveBootId(own: string, inside: (...command: string[]) => void): void {
  const [id, whole] = [join(own, 'boot_id'), join(own, 'proc')]
  writeFileSync(id, `${randomUUID()}\n`)
  mkdirSync(whole, { recursive: true })
  // A container with its own users gets a /proc only if it can see one without mounts on top of it.
  inside('mount', '-t', 'proc', 'proc', whole)
  inside('mount', '--bind', id, '/proc/sys/kernel/random/boot_id')
}

/**
 * Returns the mounts that a node must not keep from their owners: disks in files, overlays and the like, made by other programs of this
 * host. Leaves out the disks of this host, and mounts without a disk.
 */
export function foreignMounts(mountinfo: string): string[] {
  return mountinfo.split('\n').flatMap((line) => {
    const [fields = '', rest = ''] = line.split(' - ')
    const path = fields.split(' ')[4] ?? ''
    const [type = '', source = ''] = rest.split(' ')
    const isForeign = /^(overlay|nsfs|fuse)/.test(type) || source.startsWith('/dev/loop')
    return isForeign && path !== '/'
      ? [path.replace(/\\(\d{3})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 8)))]
      : []
  })
}

/** Names the links that a cluster of several nodes has on this host: its bridge, and the end of each node's veth pair. */
export function linksOf(record: ClusterRecord): string[] {
  const bridge = clusterBridge(record)
  return bridge === null ? [] : [bridge.link, ...clusterNodes(record).map((node) => linkTo(bridge.link, node))]
}

/** Deletes the link of a node on this host, if it exists. */
export function disconnectNode(record: ClusterRecord, node: NodeRecord): void {
  const bridge = clusterBridge(record)
  if (bridge === null) return
  spawnSync('ip', ['link', 'delete', linkTo(bridge.link, node)], { stdio: 'ignore' })
}

function connectNode(record: ClusterRecord, node: NodeRecord, holder: number): void {
  const bridge = clusterBridge(record)
  if (bridge === null) throw new Error(`The cluster ${record.name} has no bridge.`)
  const { mtu } = record.node
  const link = linkTo(bridge.link, node)
  configureLinks(
    [],
    [
      `link add ${link} mtu ${mtu} type veth peer name eth0 address ${macOf(node.address)} mtu ${mtu} netns ${holder}`,
      `link set ${link} master ${bridge.link} up`,
    ],
  )
  const others = clusterNodes(record).filter(({ number }) => number !== node.number)
  configureLinks(enterCommand(holder), [
    'link set lo up',
    `address add ${node.address}/${bridge.bits} dev eth0`,
    'link set eth0 up',
    `route add default via ${bridge.address}`,
    ...others.map(({ podSubnet, address }) => `route add ${podSubnet} via ${address}`),
  ])
}

/** Derives a MAC address from an IPv4 address, so that hosts with an ARP entry find a restarted node at once. */
function macOf(address: string): string {
  const bytes = address.split('.').map((byte) => Number(byte).toString(16).padStart(2, '0'))
  return ['02', '62', ...bytes].join(':')
}

function linkTo(bridge: string, { suffix }: NodeRecord): string {
  return `${bridge}${suffix}`
}

/** Runs commands of ip(8) one after another, up to the first failure. */
function configureLinks(enter: readonly string[], lines: readonly string[]): void {
  run([...enter, 'ip', '-batch', '-'], `${lines.join('\n')}\n`)
}

function run([program = '', ...args]: readonly string[], input = ''): void {
  execFileSync(program, args, { input, stdio: ['pipe', 'ignore', 'pipe'] })
}

/** Directories of a kubelet, CNI plugins and the kubelet's logs, which no option can move. */
const SHARED_DIRECTORIES = ['/var/lib/kubelet', '/var/lib/cni', '/var/log/containers', '/run/boxyard']
const CGROUPS = '/sys/fs/cgroup'
