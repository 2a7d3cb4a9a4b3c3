import { join } from 'node:path'
import { type ClusterRecord, clusterPaths } from './record.ts'

/** The programs of a cluster. */
export const PARTS = [
  'etcd',
  'containerd',
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'kubelet',
] as const
export type Part = (typeof PARTS)[number]

/** Returns the command line of a part, with the full path of its program. */
export function partCommand(record: ClusterRecord, part: Part): string[] {
  return [join(record.programs, part), ...ARGUMENTS[part](record)]
}

const ARGUMENTS: Record<Part, (record: ClusterRecord) => string[]> = {
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
  containerd: ({ name }) => [`--config=${join(clusterPaths(name).state, 'containerd.toml')}`],
  'kube-apiserver': ({ name, node, ports }) => {
    const { keys } = clusterPaths(name)
    return [
      `--etcd-servers=http://127.0.0.1:${ports.etcd}`,
      ...['--bind-address=127.0.0.1', `--secure-port=${ports.apiServer}`, `--advertise-address=${node.address}`],
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
      // It requests an account for each of its controllers in turn, which takes five seconds at the default rate.
      ...['--kube-api-qps=200', '--kube-api-burst=400'],
      ...[`--service-account-private-key-file=${keys}/accounts.key`, `--root-ca-file=${keys}/ca.crt`],
    ]
  },
  'kube-scheduler': ({ name }) => asUser(name, 'kube-scheduler'),
  kubelet: ({ name, node }) => {
    const { state } = clusterPaths(name)
    return [
      `--config=${join(state, 'kubelet.json')}`,
      `--kubeconfig=${join(state, 'kubelet.kubeconfig')}`,
      ...[`--hostname-override=${node.name}`, `--node-ip=${node.address}`, '--node-labels=boxyard.dev/node=true'],
      ...[`--root-dir=${join(state, 'kubelet')}`, `--cert-dir=${join(state, 'kubelet/pki')}`],
    ]
  },
}

/** Turns off the port and leader election: these parts serve no requests, and each is the only one of its kind. */
function asUser(name: string, part: Part): string[] {
  const kubeconfig = join(clusterPaths(name).state, `${part}.kubeconfig`)
  return [`--kubeconfig=${kubeconfig}`, '--leader-elect=false', '--secure-port=0']
}
