import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { kubectl, kubectlWith, succeed } from './kubectl.ts'

/** A namespace with an account. The account has the rights of the agent's Role in the namespace, and can list nodes and all pods. */
export interface KubeAccount {
  namespace: string
  /** Kubeconfig of the account. `write` can change its server. */
  kubeconfig: string
  /** Address of the API server. */
  server: URL
  /** Replaces the rules of the Role. */
  grant(rules: readonly object[]): void
  /** Rewrites the kubeconfig. */
  write(options: { token?: string; server?: string }): void
  close(): void
}

export const POD_RULES = [
  { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list', 'watch', 'create', 'delete', 'patch'] },
  { apiGroups: [''], resources: ['pods/resize'], verbs: ['patch'] },
  {
    apiGroups: ['networking.k8s.io'],
    resources: ['networkpolicies'],
    verbs: ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'],
  },
]

/** Creates an account in the cluster of KUBECONFIG. The namespace contains the suite's `name`. */
export function createKubeAccount(name: string): KubeAccount {
  const given = process.env['KUBECONFIG']
  if (!given) throw new Error('KUBECONFIG names no cluster; npm run cluster:up starts one.')
  const namespace = `boxyard-${name}-${process.pid}`
  const directory = mkdtempSync(join(tmpdir(), 'boxyard-account-'))
  const kubeconfig = join(directory, 'kubeconfig')
  const config = JSON.parse(succeed(kubectl('config', 'view', '--raw', '--minify', '--flatten', '-o', 'json')).stdout)
  const cluster = config.clusters[0].cluster
  succeed(kubectl('create', 'namespace', namespace))
  succeed(kubectl('create', 'serviceaccount', 'agent', '-n', namespace))
  const token = succeed(kubectl('create', 'token', 'agent', '-n', namespace, '--duration=1h')).stdout.trim()
  const write = (options: { token?: string; server?: string }): void => {
    const user = { token: options.token ?? token }
    const server = options.server ?? cluster.server
    const clusters = [{ name: 'c', cluster: { ...cluster, server } }]
    const contexts = [{ name: 'x', context: { cluster: 'c', user: 'u' } }]
    const fields = { clusters, contexts, users: [{ name: 'u', user }], 'current-context': 'x' }
    writeFileSync(kubeconfig, JSON.stringify({ apiVersion: 'v1', kind: 'Config', ...fields }))
  }
  write({})
  const apply = (object: object): void => void succeed(kubectlWith(JSON.stringify(object), 'apply', '-f', '-'))
  const rbac = { apiVersion: 'rbac.authorization.k8s.io/v1' }
  const metadata = { name: 'agent', namespace }
  const subjects = [{ kind: 'ServiceAccount', name: 'agent', namespace }]
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io' }
  const grant = (rules: readonly object[]): void => apply({ ...rbac, kind: 'Role', metadata, rules })
  grant(POD_RULES)
  apply({ ...rbac, kind: 'RoleBinding', metadata, subjects, roleRef: { ...roleRef, kind: 'Role', name: 'agent' } })
  const rules = [
    { apiGroups: [''], resources: ['nodes'], verbs: ['get', 'list', 'watch'] },
    { apiGroups: [''], resources: ['pods'], verbs: ['list'] },
  ]
  apply({ ...rbac, kind: 'ClusterRole', metadata: { name: namespace }, rules })
  const ofNodes = { ...roleRef, kind: 'ClusterRole', name: namespace }
  apply({ ...rbac, kind: 'ClusterRoleBinding', metadata: { name: namespace }, subjects, roleRef: ofNodes })
  return {
    namespace,
    kubeconfig,
    server: new URL(cluster.server),
    grant,
    write,
    close: () => {
      kubectl('delete', 'pods', '--all', '-n', namespace, '--grace-period=0', '--force')
      kubectl('delete', `namespace/${namespace}`, '--wait=false')
      kubectl('delete', `clusterrole/${namespace}`, `clusterrolebinding/${namespace}`)
      rmSync(directory, { recursive: true })
    },
  }
}
