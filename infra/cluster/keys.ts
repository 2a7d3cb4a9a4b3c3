import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createAuthority, openssl } from './certificates.ts'
import { apiServerAddress, clusterNodes, nodePaths } from './nodes.ts'
import { type ClusterRecord, clusterPaths } from './record.ts'

/**
 * Writes the credentials by which the parts of a cluster trust each other:
 * - one CA
 * - the certificates of the API server (as a server, and as the kubelet's client)
 * - the key that signs service account tokens
 * - a kubeconfig with a fixed token for each other user
 */
export async function writeKeys(record: ClusterRecord): Promise<void> {
  const { keys } = clusterPaths(record.name)
  mkdirSync(keys, { recursive: true, mode: 0o700 })
  const users = usersOf(record).map((user) => ({ ...user, token: randomBytes(16).toString('hex') }))
  const rows = users.map(({ token, name, groups }, i) => `${token},${name},${i},"${groups}"`)
  writeSecret(join(keys, 'tokens.csv'), `${rows.join('\n')}\n`)
  await Promise.all([createCertificates(record, keys), createAccountKey(keys)])
  for (const { kubeconfig, token } of users) writeSecret(kubeconfig, formatKubeconfig(record, token))
}

/** Formats a kubeconfig with `token`. */
export function formatKubeconfig(record: ClusterRecord, token: string): string {
  const authority = readFileSync(join(clusterPaths(record.name).keys, 'ca.crt')).toString('base64')
  const server = `https://${apiServerAddress(record)}:${record.ports.apiServer}`
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'boxyard', cluster: { server, 'certificate-authority-data': authority } }],
    users: [{ name: 'boxyard', user: { token } }],
    contexts: [{ name: 'boxyard', context: { cluster: 'boxyard', user: 'boxyard' } }],
    'current-context': 'boxyard',
  })
}

/** Writes a file that only its owner can read, in place of an existing one. A concurrent reader gets either file, whole. */
export function writeSecret(path: string, text: string): void {
  writeFileSync(`${path}.new`, text, { mode: 0o600 })
  renameSync(`${path}.new`, path)
}

async function createCertificates(record: ClusterRecord, keys: string): Promise<void> {
  const { sign } = await createAuthority(keys, 'boxyard-cluster')
  const addresses = ['127.0.0.1', '10.96.0.1', record.node.address, apiServerAddress(record)]
  const hosts = [...new Set(addresses)].map((address) => `IP:${address}`)
  const names = `subjectAltName=${[...hosts, 'DNS:localhost', 'DNS:kubernetes.default.svc'].join(',')}`
  await Promise.all([
    sign('api-server', '/CN=kube-apiserver', names),
    sign('kubelet-client', '/O=system:masters/CN=kube-apiserver', 'extendedKeyUsage=clientAuth'),
  ])
}

async function createAccountKey(keys: string): Promise<void> {
  await openssl(['ecparam', '-name', 'prime256v1', '-genkey', '-noout', '-out', `${keys}/accounts.key`])
  await openssl(['ec', '-in', `${keys}/accounts.key`, '-pubout', '-out', `${keys}/accounts.pub`])
}

interface User {
  /** Path of its kubeconfig. */
  kubeconfig: string
  name: string
  groups: string
}

/** Returns the users with a fixed token. */
function usersOf(record: ClusterRecord): User[] {
  const { state, adminKubeconfig } = clusterPaths(record.name)
  const parts = ['kube-controller-manager', 'kube-scheduler'].map((part) => ({
    kubeconfig: join(state, `${part}.kubeconfig`),
    name: `system:${part}`,
    groups: '',
  }))
  const kubelets = clusterNodes(record).map((node) => ({
    kubeconfig: nodePaths(record.name, node).kubeletKubeconfig,
    name: `system:node:${node.name}`,
    groups: 'system:nodes',
  }))
  return [{ kubeconfig: adminKubeconfig, name: 'admin', groups: 'system:masters' }, ...parts, ...kubelets]
}
