import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import type { Pod } from 'kubernetes-types/core/v1.d.ts'
import { type KubeApi, openKubeApi } from '../../agent/lib/kube/api.ts'
import { KubeError } from '../../agent/lib/kube/errors.ts'
import { type CuttableLine, openCuttableLine } from '../helpers/front/cuttable-line.ts'
import { createKubeAccount, type KubeAccount, POD_RULES } from '../helpers/pods/kube-account.ts'
import { kubectl, kubectlWith, succeed } from '../helpers/pods/kubectl.ts'
import { silentLogger } from '../helpers/silent-logger.ts'

let account: KubeAccount
let line: CuttableLine
let api: KubeApi

beforeAll(async () => {
  account = createKubeAccount('kube-api')
  const { hostname, port } = account.server
  line = await openCuttableLine(hostname, Number(port || 443))
  account.write({ server: throughLine() })
  const { kubeconfig, namespace } = account
  const watchWaitMs = { min: 100, max: 1_000 }
  api = await openKubeApi({ kubeconfig, namespace, logger: silentLogger, now: Date.now, watchWaitMs })
})

afterAll(async () => {
  api.close()
  await line.close()
  account.close()
})

const throughLine = (): string => `https://127.0.0.1:${line.port}`

const podOf = (name: string, spec: object = {}): Pod => ({
  metadata: { name, labels: { app: 'box' } },
  spec: {
    automountServiceAccountToken: false,
    containers: [
      {
        name: 'box',
        image: 'registry.k8s.io/pause:3.10',
        imagePullPolicy: 'IfNotPresent',
        resources: { requests: { cpu: '10m', memory: '16Mi' }, limits: { cpu: '100m', memory: '32Mi' } },
      },
    ],
    restartPolicy: 'Never',
    ...spec,
  },
})

/** Returns a pod that is never scheduled, so it takes no capacity of the node. */
const idle = (name: string): Pod => podOf(name, { nodeSelector: { 'boxyard.test/none': 'true' } })

const failureOf = async (call: Promise<unknown>): Promise<KubeError> => {
  const error: unknown = await call.catch((reason: unknown) => reason)
  if (!(error instanceof KubeError)) throw new Error('It did not fail.')
  return error
}

const until = async (isSo: () => boolean | Promise<boolean>): Promise<void> => {
  for (let waited = 0; !(await isSo()); waited += 50) {
    if (waited > 120_000) throw new Error('It did not come to that.')
    await delay(50)
  }
}

const codes = () => api.faults().map(({ code }) => code)

describe('pods', () => {
  test('are created once, changed in place and deleted by their uid', async () => {
    const made = await api.pods.create(podOf('one'))
    const uid = made.metadata?.uid ?? ''
    expect(made.metadata?.creationTimestamp).toMatch(/^\d{4}-\d\d-\d\dT/)
    expect((await failureOf(api.pods.create(podOf('one')))).reason).toBe('exists')
    await until(async () => (await api.pods.get('one'))?.status?.phase === 'Running')
    const patched = await api.pods.patch('one', { metadata: { labels: { extra: 'yes' } } })
    expect(patched.metadata?.labels).toEqual({ app: 'box', extra: 'yes' })
    const resources = { requests: { cpu: '20m', memory: '24Mi' }, limits: { cpu: '200m', memory: '48Mi' } }
    const resized = await api.pods.resize('one', { spec: { containers: [{ name: 'box', resources }] } })
    expect(resized.spec?.containers[0]?.resources).toEqual(resources)
    expect(await api.pods.list('app=box')).toHaveLength(1)
    await api.pods.delete('one', { uid: 'another', graceSeconds: 0 })
    expect((await api.pods.get('one'))?.metadata?.deletionTimestamp).toBeUndefined()
    await api.pods.delete('one', { uid, version: made.metadata?.resourceVersion ?? '', graceSeconds: 0 })
    expect((await api.pods.get('one'))?.metadata?.deletionTimestamp).toBeUndefined()
    const version = (await api.pods.get('one'))?.metadata?.resourceVersion ?? ''
    expect(version).not.toBe(made.metadata?.resourceVersion)
    await api.pods.delete('one', { uid, graceSeconds: 0 })
    await until(async () => (await api.pods.get('one')) === null)
    await api.pods.delete('one', { uid })
  })

  test('take a storm of changes without a loss', async () => {
    await api.pods.create(idle('storm'))
    const labels = Array.from({ length: 20 }, (_, index) => `l${index}`)
    await Promise.all(labels.map((label) => api.pods.patch('storm', { metadata: { labels: { [label]: 'x' } } })))
    expect(Object.keys((await api.pods.get('storm'))?.metadata?.labels ?? {})).toHaveLength(21)
    const stale = { metadata: { resourceVersion: '1', labels: { late: 'x' } } }
    expect((await failureOf(api.pods.patch('storm', stale))).reason).toBe('conflict')
    await api.pods.delete('storm', {})
  })

  test('with a field that the server does not know are refused', async () => {
    const error = await failureOf(api.pods.create(podOf('odd', { hostUser: false })))
    expect(error).toMatchObject({ reason: 'invalid', code: 'internal' })
    expect(String(error.cause)).toContain('unknown field "spec.hostUser"')
  })
})

test('policies are applied, and applied again, with their rules', async () => {
  const labels = { project: 'p' }
  const policy = (peer: object) => ({
    metadata: { name: 'project-p', labels },
    spec: { podSelector: { matchLabels: labels }, policyTypes: ['Ingress'], ingress: [{ from: [peer] }] },
  })
  await api.networkPolicies.apply(policy({ podSelector: {} }))
  await api.networkPolicies.apply(policy({ podSelector: { matchLabels: labels } }))
  const [found, ...others] = await api.networkPolicies.list('project=p')
  expect(found?.spec?.ingress?.[0]?.from?.[0]?.podSelector?.matchLabels).toEqual(labels)
  expect(others).toEqual([])
  await api.networkPolicies.delete('project-p')
  await api.networkPolicies.delete('project-p')
  expect(await api.networkPolicies.list('project=p')).toEqual([])
})

describe('a view of pods', () => {
  test('follows across dropped connections and an outage, and sends no requests at rest', async () => {
    const watch = api.pods.watch('app=box')
    const changes: string[] = []
    watch.onChange(({ metadata }, change) => changes.push(`${change} ${metadata?.name}`))
    await watch.start()
    for (const name of ['a', 'b', 'c']) await api.pods.create(idle(name))
    await until(() => watch.all().length === 3)
    line.drop()
    await api.pods.patch('a', { metadata: { labels: { seen: 'yes' } } })
    await until(() => watch.all().some(({ metadata }) => metadata?.labels?.['seen'] === 'yes'))
    expect(watch.fault()).toBeNull()
    await line.cut('refuse')
    await until(() => watch.fault() !== null)
    succeed(kubectl('delete', 'pod', 'b', '-n', account.namespace, '--grace-period=0', '--force'))
    changes.length = 0
    await line.mend()
    await until(() => watch.fault() === null)
    expect(changes).toContain('deleted b')
    expect(
      watch
        .all()
        .map(({ metadata }) => metadata?.name)
        .sort(),
    ).toEqual(['a', 'c'])
    const before = api.requestCount()
    await delay(5_000)
    expect(api.requestCount()).toBe(before)
    watch.close()
    for (const name of ['a', 'c']) await api.pods.delete(name, { graceSeconds: 0 })
  })
})

describe('a refusal of the cluster', () => {
  afterEach(() => {
    account.grant(POD_RULES)
    kubectl('delete', 'resourcequota', '--all', '-n', account.namespace)
    succeed(kubectl('label', 'namespace', account.namespace, 'pod-security.kubernetes.io/enforce-'))
  })

  test('for lack of a verb names it, and ends with granting it', async () => {
    account.grant(POD_RULES.slice(1))
    await until(async () => (await api.pods.get('none').catch(() => 'refused')) === 'refused')
    const error = await failureOf(api.pods.create(idle('late')))
    expect(error).toMatchObject({ code: 'runtime_unavailable', reason: 'forbidden' })
    expect(error.message).toBe(
      `The agent is not allowed to create pods in namespace "${account.namespace}". Grant it to its ServiceAccount.`,
    )
    account.grant(POD_RULES)
    await until(async () => (await api.pods.get('none').catch(() => 'refused')) === null)
    await api.pods.create(idle('late'))
    await api.pods.delete('late', { graceSeconds: 0 })
    expect(api.faults()).toEqual([])
  })

  test('by a quota, pod security or a missing RuntimeClass is distinguished', async () => {
    const quota = { apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'q', namespace: account.namespace } }
    succeed(kubectlWith(JSON.stringify({ ...quota, spec: { hard: { pods: '0' } } }), 'create', '-f', '-'))
    await until(
      async () =>
        (await api.pods.create(idle('full')).then(
          () => api.pods.delete('full', {}),
          () => true,
        )) === true,
    )
    expect(await failureOf(api.pods.create(idle('full')))).toMatchObject({ reason: 'quota', code: 'quota_exceeded' })
    succeed(kubectl('delete', 'resourcequota', 'q', '-n', account.namespace))
    succeed(kubectl('label', 'namespace', account.namespace, 'pod-security.kubernetes.io/enforce=restricted'))
    await until(async () => (await failureOf(api.pods.create(idle('loose')))).message.includes('rule of the cluster'))
    expect(codes()).toEqual(['kubernetes_refused'])
    expect(api.faults()[0]?.evidence).toContain('violates PodSecurity')
    succeed(kubectl('label', 'namespace', account.namespace, 'pod-security.kubernetes.io/enforce-'))
    await until(async () => {
      await failureOf(
        api.pods.create({
          ...idle('class'),
          spec: { ...idle('class').spec, containers: [], runtimeClassName: 'none' },
        }),
      )
      return codes().includes('kubernetes_runtime_class')
    })
  })

  test('of invalid credentials is reported, until others are there', async () => {
    account.write({ server: throughLine(), token: 'not-one-of-its-own' })
    await delay(1_100)
    const error = await failureOf(api.nodes())
    expect(error).toMatchObject({ code: 'runtime_unavailable', reason: 'credentials' })
    expect(codes()).toContain('kubernetes_credentials')
    account.write({ server: throughLine() })
    expect((await api.nodes()).length).toBeGreaterThan(0)
    expect(codes()).not.toContain('kubernetes_credentials')
  })
})
