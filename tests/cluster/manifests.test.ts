import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { ROOT } from '../../infra/commands.ts'
import { boxManifest, type PodManifest } from '../helpers/pods/box-manifest.ts'
import { type KubectlResult, kubectl, kubectlWith, succeed } from '../helpers/pods/kubectl.ts'

const MANIFESTS = join(ROOT, 'infra/kubernetes')
const AGENT = 'system:serviceaccount:boxyard-system:boxyard-agent'
const AS_AGENT = `--as=${AGENT}`
const POLICIES = 'networkpolicies.networking.k8s.io'
// Other tests use the manifests' namespaces at the same time. Never touch their objects.
const ELSEWHERE = `boxyard-manifests-${process.pid}`
const NAME = `manifests-${process.pid}`
const box = (spec: Record<string, unknown> = {}, changes = {}): PodManifest => boxManifest(NAME, spec, changes)
/** Rights as `VERB RESOURCE`. fleet-objects-access.test.ts tests what they allow. */
const FLEET_RIGHTS = [
  ...['homes', 'bases', 'projects', 'domains', 'tokens', 'revocations'].flatMap((plural) =>
    ['get', 'list', 'watch', 'create', 'delete'].map((verb) => `${verb} ${plural}.boxyard.dev`),
  ),
  ...['homes', 'bases', 'projects', 'tokens'].map((plural) => `patch ${plural}.boxyard.dev`),
  ...['get', 'list', 'watch', 'create', 'patch'].map((verb) => `${verb} agents.boxyard.dev`),
  ...['get', 'patch'].map((verb) => `${verb} agents/status.boxyard.dev`),
]
/** Rights on one ConfigMap and one Secret, by their names. */
const OF_SYSTEM = [
  ...['get', 'patch'].map((verb) => `${verb} configmaps`),
  ...['get', 'list', 'patch', 'watch'].map((verb) => `${verb} secrets`),
]

beforeAll(() => {
  if (!process.env['KUBECONFIG']) throw new Error('KUBECONFIG names no cluster; npm run cluster:up starts one.')
  // A dry run does not create the namespace that later objects need.
  succeed(kubectl('apply', '-f', join(MANIFESTS, 'namespaces.yaml')))
  succeed(kubectl('create', 'namespace', ELSEWHERE))
})

afterAll(() => {
  kubectl('delete', 'pods', '-n', 'boxyard', NAME, '--ignore-not-found', '--grace-period=0', '--force')
  kubectl('delete', 'namespace', ELSEWHERE, '--ignore-not-found', '--wait=false')
})

describe('the manifests', () => {
  test('are accepted by the API server, every object, without a warning', () => {
    const { stdout, stderr } = succeed(kubectl('apply', '--dry-run=server', '-k', MANIFESTS))
    expect(stderr).toBe('')
    const objects = succeed(kubectl('kustomize', MANIFESTS)).stdout.match(/^kind: /gm)
    expect(objects?.length).toBeGreaterThan(10)
    expect(lines(stdout).filter((line) => line.endsWith('(server dry run)'))).toHaveLength(objects?.length ?? 0)
  })

  test('are applied twice, and the second time change nothing', () => {
    succeed(kubectl('apply', '-k', MANIFESTS))
    const { stdout } = succeed(kubectl('apply', '-k', MANIFESTS))
    expect(lines(stdout).filter((line) => !line.endsWith(' unchanged'))).toEqual([])
  })

  test('have policies that the API server understands', async () => {
    const path = 'jsonpath={range .items[*]}{.metadata.name} {.status.typeChecking}{"\\n"}{end}'
    const selector = ['-l', 'app.kubernetes.io/part-of=boxyard']
    const checked = await until(() => {
      const { stdout } = succeed(kubectl('get', 'validatingadmissionpolicies', ...selector, '-o', path))
      return lines(stdout).every((line) => line.includes('{')) ? lines(stdout) : null
    })
    expect(checked).toEqual(
      ['boxyard-boxes', 'boxyard-cells', 'boxyard-fleet', 'boxyard-runtime-class'].map((name) => `${name} {}`),
    )
  })
})

describe("the agent's account", () => {
  test('has only the rights of the agent in the namespace of boxes', () => {
    const anywhere = accessOfAgent(ELSEWHERE)
    expect(accessOfAgent('boxyard').filter((access) => !anywhere.includes(access))).toEqual(
      [
        ...['get', 'watch', 'create', 'delete', 'patch'].map((verb) => `${verb} pods`),
        'patch pods/resize',
        ...['list', 'create', 'patch', 'delete'].map((verb) => `${verb} ${POLICIES}`),
        ...FLEET_RIGHTS,
      ].sort(),
    )
  })

  test('lists nodes and pods, and otherwise has the rights of any account in other namespaces', () => {
    const anyone = `--as=system:serviceaccount:${ELSEWHERE}:default`
    for (const namespace of [ELSEWHERE, 'boxyard-system', 'kube-system']) {
      const common = accessOfAgent(namespace, anyone)
      const more = accessOfAgent(namespace).filter((access) => !common.includes(access))
      const fleet = namespace === 'boxyard-system' ? OF_SYSTEM : []
      expect(more).toEqual([...fleet, 'list nodes', 'list pods'].sort())
    }
  })

  test.each([
    ['yes', 'create pods --namespace=boxyard'],
    ['no', 'create pods --subresource=exec --namespace=boxyard'],
    ['yes', 'patch pods --subresource=resize --namespace=boxyard'],
    ['yes', 'list nodes'],
    ['yes', 'list pods --all-namespaces'],
    ['no', 'get pods --namespace=default'],
    ['no', 'watch pods --all-namespaces'],
    ['no', 'create pods --namespace=default'],
    ['no', 'create pods --subresource=exec --namespace=kube-system'],
    ['no', 'patch configmaps --namespace=boxyard-system'],
    ['yes', 'patch configmaps/boxyard-cells --namespace=boxyard-system'],
    ['no', 'get secrets --namespace=boxyard'],
    ['no', 'get secrets --namespace=boxyard-system'],
    ['no', 'create serviceaccounts --subresource=token --namespace=boxyard-system'],
    ['no', 'create rolebindings --namespace=boxyard'],
    ['no', 'impersonate users'],
    ['no', 'patch nodes'],
    ['no', 'get nodes --subresource=proxy'],
    ['no', 'patch runtimeclasses'],
    ['no', 'patch validatingadmissionpolicies'],
  ])('%s: %s', (answer, question) => {
    expect(kubectl('auth', 'can-i', ...question.split(' '), AS_AGENT).stdout.trim()).toBe(answer)
  })
})

describe('a pod of the runtime class', () => {
  test("is admitted from the agent's account, under the strictest pod security, on a prepared node only", () => {
    const { stdout, stderr } = succeed(create(box(), 'boxyard', AS_AGENT))
    expect(stderr).toBe('')
    expect(JSON.parse(stdout).spec.nodeSelector).toEqual({ 'boxyard.dev/node': 'true' })
  })

  test('is refused from an administrator, in any namespace', () => {
    expect(create(box(), ELSEWHERE).stderr).toMatch(/boxyard-boxes.*Only Boxyard's agent may create a pod/)
    expect(create(box(), 'boxyard').stderr).toMatch(/boxyard-boxes.*Only Boxyard's agent may create a pod/)
  })

  test('is refused from another account that may create pods, and from the agent itself elsewhere', () => {
    const grant = ['create', 'rolebinding', '-n', ELSEWHERE, '--clusterrole=edit']
    succeed(kubectl(...grant, 'tenant', `--serviceaccount=${ELSEWHERE}:default`))
    succeed(kubectl(...grant, 'agent', '--serviceaccount=boxyard-system:boxyard-agent'))
    const tenant = `--as=system:serviceaccount:${ELSEWHERE}:default`
    expect(create(box(), ELSEWHERE, tenant).stderr).toMatch(/Only Boxyard's agent may create a pod/)
    expect(create(box(), ELSEWHERE, AS_AGENT).stderr).toMatch(/creates boxes in the namespace boxyard alone/)
    expect(create(plainPod(), ELSEWHERE, tenant)).toMatchObject({ exitCode: 0 })
  })

  test.each<[string, Record<string, unknown>]>([
    ['a label of ours', { labels: { 'boxyard.dev/project': 'demo' } }],
    ['an annotation of ours', { annotations: { 'boxyard.dev/instance': 'abcd1234' } }],
  ])('is not imitated by a plain pod with %s', (_, marks) => {
    const { spec, ...rest } = plainPod()
    const pod = { ...rest, metadata: { name: NAME, ...marks }, spec }
    expect(create(pod, ELSEWHERE).stderr).toMatch(/Only Boxyard's agent may create a pod/)
    expect(create(pod, 'boxyard').stderr).toMatch(/Only Boxyard's agent may create a pod/)
  })

  test('is not disguised by a second runtime class of the same handler', () => {
    const twin = { apiVersion: 'node.k8s.io/v1', kind: 'RuntimeClass', metadata: { name: NAME }, handler: 'boxyard' }
    expect(create(twin, 'default').stderr).toMatch(/handler boxyard belongs to the RuntimeClass boxyard alone/)
  })

  test.each<[string, Record<string, unknown>, RegExp]>([
    ['hostPath', { volumes: [{ name: 'v', hostPath: { path: '/' } }] }, /PodSecurity.*restricted volume types/],
    ['hostNetwork', { hostNetwork: true, hostUsers: true }, /PodSecurity.*host namespaces/],
    ['no user namespace', { hostUsers: true, securityContext: { runAsNonRoot: true } }, /nothing but boxes/],
    ['a secret', { volumes: [{ name: 'v', secret: { secretName: 's' } }] }, /nothing but boxes/],
    ['a token', { automountServiceAccountToken: true }, /nothing but boxes/],
    ['the common runtime', { runtimeClassName: undefined }, /nothing but boxes/],
  ])('with %s is refused even from the agent', (_, spec, reason) => {
    expect(create(box(spec), 'boxyard', AS_AGENT).stderr).toMatch(reason)
  })

  const runs = { exec: { command: ['true'] } }
  test.each<[string, object]>([
    ['a liveness probe', { livenessProbe: runs }],
    ['a readiness probe', { readinessProbe: runs }],
    ['a startup probe', { startupProbe: runs }],
    ['a hook after its start', { lifecycle: { postStart: runs } }],
    ['a hook before its end', { lifecycle: { preStop: runs } }],
  ])('with %s, which would run in the box of whoever takes it, is refused even from the agent', (_, more) => {
    expect(create(box({}, { container: more }), 'boxyard', AS_AGENT).stderr).toMatch(/without probes/)
    const sleep = { lifecycle: { preStop: { sleep: { seconds: 9 } } } }
    succeed(create(box({}, { container: sleep }), 'boxyard', AS_AGENT))
  })

  test('that is privileged, or keeps more capabilities, is refused even from the agent', () => {
    const privileged = box({}, { security: { privileged: true, allowPrivilegeEscalation: true } })
    expect(create(privileged, 'boxyard', AS_AGENT).stderr).toMatch(/PodSecurity.*privileged/)
    const capable = box({}, { security: { capabilities: { add: ['SYS_ADMIN'], drop: ['ALL'] } } })
    expect(create(capable, 'boxyard', AS_AGENT).stderr).toMatch(/PodSecurity.*unrestricted capabilities/)
  })
})

describe('the marks of a box', () => {
  // No node matches, so the pod stays for as long as the tests need it.
  beforeAll(() => {
    const pod = box({ nodeSelector: { 'boxyard.dev/node': 'true', 'boxyard.dev/nowhere': 'true' } })
    succeed(kubectlWith(JSON.stringify(pod), 'create', '-n', 'boxyard', AS_AGENT, '-f', '-'))
  })

  const FOREIGN: [string, string[]][] = [
    ['a changed label', ['label', 'pod', NAME, '--overwrite', 'boxyard.dev/project=other']],
    ['a label taken away', ['label', 'pod', NAME, 'boxyard.dev/instance-']],
    ['a label that the agent finds it by', ['label', 'pod', NAME, 'app.kubernetes.io/managed-by-']],
    ['a changed annotation', ['annotate', 'pod', NAME, '--overwrite', 'boxyard.dev/instance=zzzzzzzz']],
    ['a new annotation', ['annotate', 'pod', NAME, 'boxyard.dev/more=1']],
    [
      'a label by way of the status',
      ['patch', 'pod', NAME, '--subresource=status', '-p', '{"metadata":{"labels":{"boxyard.dev/project":"other"}}}'],
    ],
  ]

  test.each(FOREIGN)('may not be changed by an administrator: %s', (_, command) => {
    expect(kubectl('-n', 'boxyard', ...command).stderr).toMatch(/Only Boxyard's agent may change/)
  })

  test('may be changed by the agent, and other labels by anyone', () => {
    succeed(kubectl('-n', 'boxyard', AS_AGENT, 'label', 'pod', NAME, '--overwrite', 'boxyard.dev/box=renamed'))
    succeed(kubectl('-n', 'boxyard', 'label', 'pod', NAME, 'team=a'))
    succeed(kubectl('-n', 'boxyard', 'annotate', 'pod', NAME, 'example.org/note=a'))
  })

  test('do not keep an administrator from deleting the pod', () => {
    succeed(kubectl('-n', 'boxyard', 'delete', 'pod', NAME, '--grace-period=0', '--force'))
  })
})

function plainPod(): PodManifest {
  const { spec } = box()
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: NAME },
    spec: { ...spec, runtimeClassName: undefined },
  }
}

/** Creates an object as a dry run, which passes all of admission but stores nothing. */
function create(object: object, namespace: string, ...more: string[]): KubectlResult {
  const dryRun = ['create', '--dry-run=server', '-o', 'json', '-n', namespace, ...more, '-f', '-']
  return kubectlWith(JSON.stringify(object), ...dryRun)
}

/** Returns the RBAC rights in the namespace, as sorted lines of `VERB RESOURCE`. */
function accessOfAgent(namespace: string, as = AS_AGENT): string[] {
  const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectRulesReview', spec: { namespace } }
  const { stdout } = succeed(
    kubectlWith(JSON.stringify(review), 'create', '--validate=false', as, '-o', 'json', '-f', '-'),
  )
  const { status }: { status: { incomplete: boolean; resourceRules: ResourceRule[] } } = JSON.parse(stdout)
  expect(status.incomplete).toBe(false)
  const access = status.resourceRules.flatMap(({ verbs, apiGroups, resources }) =>
    verbs.flatMap((verb) =>
      resources.flatMap((resource) => apiGroups.map((group) => `${verb} ${group ? `${resource}.${group}` : resource}`)),
    ),
  )
  return [...new Set(access)].sort()
}

interface ResourceRule {
  verbs: string[]
  apiGroups: string[]
  resources: string[]
}

function lines(text: string): string[] {
  return text.trim().split('\n')
}

async function until<T>(look: () => T | null): Promise<T> {
  for (let tries = 0; tries < 240; tries++) {
    const found = look()
    if (found !== null) return found
    await new Promise((resolve) => setTimeout(resolve, 250))
  }
  throw new Error('It did not come about within 60 s.')
}
