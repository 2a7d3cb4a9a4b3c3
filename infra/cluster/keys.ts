import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type ClusterRecord, clusterPaths } from './record.ts'

/**
 * Writes the credentials by which the parts of a cluster trust each other: one CA, the certificates of the API server (as a server,
 * and as the kubelet's client), the key that signs service account tokens, and a kubeconfig with a fixed token for each other user.
 */
export async function writeKeys(record: ClusterRecord): Promise<void> {
  const { keys, state } = clusterPaths(record.name)
  mkdirSync(keys, { recursive: true, mode: 0o700 })
  const tokens = Object.fromEntries(Object.keys(USERS).map((file) => [file, randomBytes(16).toString('hex')]))
  const rows = Object.entries(USERS).map(
    ([file, describe], i) => `${tokens[file]},${describe(record)[0]},${i},"${describe(record)[1]}"`,
  )
  writeSecret(join(keys, 'tokens.csv'), `${rows.join('\n')}\n`)
  await Promise.all([createCertificates(record, keys), createAccountKey(keys)])
  for (const file of Object.keys(USERS)) {
    writeSecret(join(state, `${file}.kubeconfig`), formatKubeconfig(record, tokens[file] ?? ''))
  }
}

/** Formats a kubeconfig for the bearer of `token`. */
export function formatKubeconfig(record: ClusterRecord, token: string): string {
  const authority = readFileSync(join(clusterPaths(record.name).keys, 'ca.crt')).toString('base64')
  const server = `https://127.0.0.1:${record.ports.apiServer}`
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'boxyard', cluster: { server, 'certificate-authority-data': authority } }],
    users: [{ name: 'boxyard', user: { token } }],
    contexts: [{ name: 'boxyard', context: { cluster: 'boxyard', user: 'boxyard' } }],
    'current-context': 'boxyard',
  })
}

export function writeSecret(path: string, text: string): void {
  writeFileSync(path, text, { mode: 0o600 })
}

async function createCertificates({ node }: ClusterRecord, keys: string): Promise<void> {
  const configuration = join(keys, 'openssl.cnf')
  // Debian's default configuration would mark every certificate as a CA.
  writeFileSync(configuration, '[req]\ndistinguished_name = subject\n[subject]\n')
  const make = (file: string, subject: string, ...args: string[]): Promise<unknown> =>
    openssl([
      ...['req', '-config', configuration, '-x509', '-nodes', '-days', '30', '-subj', subject, ...args],
      ...['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'],
      ...['-keyout', join(keys, `${file}.key`), '-out', join(keys, `${file}.crt`)],
    ])
  await make('ca', '/CN=boxyard-cluster', '-addext', 'basicConstraints=critical,CA:TRUE')
  const sign = (file: string, subject: string, extension: string): Promise<unknown> =>
    make(file, subject, '-CA', join(keys, 'ca.crt'), '-CAkey', join(keys, 'ca.key'), '-addext', extension)
  const names = `subjectAltName=IP:127.0.0.1,IP:10.96.0.1,IP:${node.address},DNS:localhost,DNS:kubernetes.default.svc`
  await Promise.all([
    sign('api-server', '/CN=kube-apiserver', names),
    sign('kubelet-client', '/O=system:masters/CN=kube-apiserver', 'extendedKeyUsage=clientAuth'),
  ])
}

async function createAccountKey(keys: string): Promise<void> {
  await openssl(['ecparam', '-name', 'prime256v1', '-genkey', '-noout', '-out', `${keys}/accounts.key`])
  await openssl(['ec', '-in', `${keys}/accounts.key`, '-pubout', '-out', `${keys}/accounts.pub`])
}

function openssl(args: readonly string[]): Promise<unknown> {
  return promisify(execFile)('openssl', args)
}

/** Name and groups of each user with a fixed token, by the name of its kubeconfig. */
const USERS: Record<string, (record: ClusterRecord) => [name: string, groups: string]> = {
  admin: () => ['admin', 'system:masters'],
  'kube-controller-manager': () => ['system:kube-controller-manager', ''],
  'kube-scheduler': () => ['system:kube-scheduler', ''],
  kubelet: ({ node }) => [`system:node:${node.name}`, 'system:nodes'],
}
