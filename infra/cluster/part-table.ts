import { join } from 'node:path'
import { holdCommand } from './node-space.ts'
import { apiServerAddress, clusterNodes, type NodeRecord, nodePaths } from './nodes.ts'
import { type ClusterRecord, clusterPaths } from './record.ts'

const CONTROL_PARTS = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'] as const
type ControlPart = (typeof CONTROL_PARTS)[number]
const NODE_PROGRAMS = ['containerd', 'kubelet'] as const
type NodeProgram = (typeof NODE_PROGRAMS)[number]

/** A process of a cluster. With several nodes, each has a part `node-2` that holds its namespaces, and programs in them. */
export type Part = ControlPart | NodeProgram | `${NodeProgram | 'node'}-${number}`

/** Returns the parts of a cluster. */
export function clusterParts(record: ClusterRecord): Part[] {
  const programs = record.nodeCount === 1 ? NODE_PROGRAMS : (['node', ...NODE_PROGRAMS] as const)
  return [
    ...CONTROL_PARTS,
    ...clusterNodes(record).flatMap((node) => programs.map((program) => nodePart(program, node))),
  ]
}

/** Names the part that runs a program on a node. */
export function nodePart(program: NodeProgram | 'node', { suffix }: NodeRecord): Part {
  return `${program}${suffix}` as Part
}

/** The program of a part, and its node. Null for parts of the whole cluster. */
type Role = { program: ControlPart; node: null } | { program: NodeProgram | 'node'; node: NodeRecord }

/** @throws Error if the cluster has no such part */
export function roleOf(record: ClusterRecord, part: Part): Role {
  for (const program of CONTROL_PARTS) if (part === program) return { program, node: null }
  for (const node of clusterNodes(record)) {
    for (const program of ['node', ...NODE_PROGRAMS] as const) {
      if (part === nodePart(program, node)) return { program, node }
    }
  }
  throw new Error(`The cluster ${record.name} has no part ${part}.`)
}

/** Returns the command line of a part, with the full path of a program of the cluster. */
export function partCommand(record: ClusterRecord, part: Part): string[] {
  const { program, node } = roleOf(record, part)
  if (node === null) return [join(record.programs, program), ...CONTROL_ARGUMENTS[program](record)]
  if (program === 'node') return holdCommand(node)
  return [join(record.programs, program), ...NODE_ARGUMENTS[program](record, node)]
}

const CONTROL_ARGUMENTS: Record<ControlPart, (record: ClusterRecord) => string[]> = {
  etcd: ({ name, ports }) => {
    const client = `http://127.0.0.1:${ports.etcd}`
    const peer = `http://127.0.0.1:${ports.etcdPeer}`
    return [
      `--data-dir=${join(clusterPaths(name).state, 'etcd')}`,
      ...[`--listen-client-urls=${client}`, `--advertise-client-urls=${client}`],
      ...[`--listen-peer-urls=${peer}`, `--initial-advertise-peer-urls=${peer}`, `--initial-cluster=default=${peer}`],
      // A test cluster need not survive a power cut.
      '--unsafe-no-fsync',
    ]
  },
  'kube-apiserver': (record) => {
    const { name, node, nodeCount, ports } = record
    const { keys } = clusterPaths(name)
    const address = apiServerAddress(record)
    const advertised = nodeCount === 1 ? node.address : address
    return [
      `--etcd-servers=http://127.0.0.1:${ports.etcd}`,
      ...[`--bind-address=${address}`, `--secure-port=${ports.apiServer}`, `--advertise-address=${advertised}`],
      ...[`--tls-cert-file=${keys}/api-server.crt`, `--tls-private-key-file=${keys}/api-server.key`],
      ...[`--client-ca-file=${keys}/ca.crt`, `--token-auth-file=${keys}/tokens.csv`],
      ...['--authorization-mode=Node,RBAC', '--enable-admission-plugins=NodeRestriction', '--allow-privileged'],
      '--kubelet-preferred-address-types=InternalIP',
      '--service-cluster-ip-range=10.96.0.0/16',
      ...['--service-account-issuer=https://kubernetes.default.svc', `--service-account-key-file=${keys}/accounts.pub`],
      `--service-account-signing-key-file=${keys}/accounts.key`,
      ...[`--kubelet-client-certificate=${keys}/kubelet-client.crt`, `--kubelet-client-key=${keys}/kubelet-client.key`],
    ]
  },
  'kube-controller-manager': ({ name }) => {
    const { keys } = clusterPaths(name)
    return [
      ...asUser(name, 'kube-controller-manager'),
      '--use-service-account-credentials',
      // It requests an account for each of its controllers, one after another, which takes five seconds at the default rate.
      ...['--kube-api-qps=200', '--kube-api-burst=400'],
      ...[`--service-account-private-key-file=${keys}/accounts.key`, `--root-ca-file=${keys}/ca.crt`],
    ]
  },
  'kube-scheduler': ({ name }) => asUser(name, 'kube-scheduler'),
}

const NODE_ARGUMENTS: Record<NodeProgram, (record: ClusterRecord, node: NodeRecord) => string[]> = {
  containerd: ({ name }, node) => [`--config=${join(nodePaths(name, node).state, 'containerd.toml')}`],
  kubelet: ({ name }, node) => {
    const { state, kubeletKubeconfig } = nodePaths(name, node)
    return [
      ...[`--config=${join(state, 'kubelet.json')}`, `--kubeconfig=${kubeletKubeconfig}`],
      ...[`--hostname-override=${node.name}`, `--node-ip=${node.address}`, '--node-labels=boxyard.dev/node=true'],
      ...[`--root-dir=${join(state, 'kubelet')}`, `--cert-dir=${join(state, 'kubelet/pki')}`],
    ]
  },
}

/** Turns off the port and leader election. These parts serve no requests, and each is the only one of its kind. */
function asUser(name: string, part: ControlPart): string[] {
  const kubeconfig = join(clusterPaths(name).state, `${part}.kubeconfig`)
  return [`--kubeconfig=${kubeconfig}`, '--leader-elect=false', '--secure-port=0']
}
