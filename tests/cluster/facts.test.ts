import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Pod } from 'kubernetes-types/core/v1.d.ts'
import { createKubeClusterFacts } from '../../agent/drivers/pods/cluster-facts.ts'
import { type KubeApi, openKubeApi } from '../../agent/lib/kube/api.ts'
import { parseQuantity } from '../../agent/lib/kube/quantities.ts'
import type { PodWatch } from '../../agent/lib/kube/watch.ts'
import type { ClusterFacts, ClusterReport } from '../../agent/ports/boxes/cluster-facts.ts'
import { eventually } from '../helpers/eventually.ts'
import { type CuttableLine, openCuttableLine } from '../helpers/front/cuttable-line.ts'
import { clusterOfTests } from '../helpers/pods/cluster-of-tests.ts'
import { createKubeAccount, type KubeAccount } from '../helpers/pods/kube-account.ts'
import { kubectl, kubectlWith, succeed } from '../helpers/pods/kubectl.ts'
import { silentLogger } from '../helpers/silent-logger.ts'

let account: KubeAccount
let line: CuttableLine
let api: KubeApi
let pods: PodWatch
let facts: ClusterFacts

beforeAll(async () => {
  account = createKubeAccount('facts')
  const { hostname, port } = account.server
  line = await openCuttableLine(hostname, Number(port || 443))
  account.write({ server: `https://127.0.0.1:${line.port}` })
  const { kubeconfig, namespace } = account
  const watchWaitMs = { min: 100, max: 1_000 }
  api = await openKubeApi({ kubeconfig, namespace, logger: silentLogger, now: Date.now, watchWaitMs })
  pods = api.pods.watch('app=box')
  await pods.start()
  facts = createKubeClusterFacts({ api, pods, node: clusterOfTests().node, now: Date.now })
})

afterAll(async () => {
  api.close()
  await line.close()
  account.close()
})

const create = (name: string, container: { image?: string; cpu?: string }): Promise<Pod> =>
  api.pods.create({
    metadata: { name, labels: { app: 'box' } },
    spec: {
      automountServiceAccountToken: false,
      restartPolicy: 'Never',
      containers: [
        {
          name: 'box',
          image: container.image ?? 'registry.k8s.io/pause:3.10',
          imagePullPolicy: container.image ? 'Never' : 'IfNotPresent',
          resources: { requests: { cpu: container.cpu ?? '10m' } },
        },
      ],
    },
  })

const reportWhen = async (isSo: (report: ClusterReport) => boolean): Promise<ClusterReport> => {
  for (const endsAt = performance.now() + 100_000; performance.now() < endsAt; await delay(100)) {
    const report = await facts.report()
    if (isSo(report)) return report
  }
  throw new Error(`It did not come to that: ${JSON.stringify(await facts.report())}`)
}

const told = ({ problems }: ClusterReport, code: string) => problems.find((problem) => problem.code === code)

/** Counts the pods on a node in all namespaces, with an administrator's rights. */
const podsOn = (node: string): number => {
  const selector = `--field-selector=spec.nodeName=${node},status.phase=Running`
  return succeed(kubectl('get', 'pods', '--all-namespaces', selector, '-o', 'name'))
    .stdout.split('\n')
    .filter(Boolean).length
}

test("the figures of nodes are the cluster's own, and boxes are counted on their node", async () => {
  const { items } = JSON.parse(succeed(kubectl('get', 'nodes', '-o', 'json')).stdout)
  const before = await facts.report()
  expect(before.namespace).toBe(account.namespace)
  expect(before.nodes.map(({ name }) => name)).toEqual(items.map(({ metadata }: any) => metadata.name))
  for (const [index, { status }] of items.entries()) {
    expect(before.nodes[index]).toMatchObject({
      cpu_allocatable: status.allocatable.cpu,
      cpu_capacity: status.capacity.cpu,
      memory_allocatable_bytes: parseQuantity(status.allocatable.memory),
      memory_capacity_bytes: parseQuantity(status.capacity.memory),
      pods_allocatable: Number(status.allocatable.pods),
      pods_capacity: Number(status.capacity.pods),
      boxes: 0,
      ready: true,
    })
  }
  expect(before.problems).toEqual([])
  await create('runs', {})
  const counted = await reportWhen(({ nodes }) => nodes.some(({ boxes }) => boxes === 1))
  expect(counted.nodes.find(({ boxes }) => boxes === 1)?.name).toBe((await api.pods.get('runs'))?.spec?.nodeName)
})

test('all pods of a node are counted, those of other namespaces included', async () => {
  const other = createKubeAccount('facts-other')
  try {
    const pause = { name: 'p', image: 'registry.k8s.io/pause:3.10', imagePullPolicy: 'IfNotPresent' }
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'foreign' }, spec: { containers: [pause] } }
    succeed(kubectlWith(JSON.stringify(pod), 'create', '-n', other.namespace, '-f', '-'))
    const wait = ['--for=jsonpath={.status.phase}=Running', 'pod/foreign', '--timeout=100s']
    succeed(kubectl('wait', '-n', other.namespace, ...wait))
    // Pods of other tests come and go, so this compares until the counts agree.
    const isCounted = async ({ nodes }: ClusterReport): Promise<boolean> =>
      nodes.length > 0 && nodes.every(({ name, pods_running, boxes }) => pods_running === podsOn(name) && boxes <= 1)
    await eventually(async () => isCounted(await facts.report()))
    expect((await facts.report()).nodes.reduce((sum, node) => sum + node.pods_running, 0)).toBeGreaterThanOrEqual(2)
  } finally {
    other.close()
  }
})

test("problems that keep pods from running are reported with the cluster's message, until healed", async () => {
  await create('too-large', { cpu: '1000' })
  await create('no-image', { image: 'boxyard.test/none:1' })
  const image = await reportWhen((report) => told(report, 'kubernetes_image') !== undefined)
  expect(told(image, 'kubernetes_image')?.evidence).toMatch(
    /ErrImageNeverPull: .*boxyard\.test\/none:1.*\(1 box: no-image\)$/,
  )
  const large = await reportWhen((report) => told(report, 'kubernetes_unschedulable') !== undefined)
  expect(told(large, 'kubernetes_unschedulable')?.evidence).toMatch(/Insufficient cpu.*\(1 box: too-large\)$/)
  for (const name of ['too-large', 'no-image']) await api.pods.delete(name, { graceSeconds: 0 })
  const gone = await reportWhen((report) => told(report, 'kubernetes_unschedulable') === undefined)
  // The problem outlives its pod. Only a running pod proves that the next one would run, too.
  expect(gone.problems.map(({ code }) => code)).toEqual(['kubernetes_image'])
  await create('has-image', {})
  await reportWhen(({ problems }) => problems.length === 0)
  await api.pods.delete('has-image', { graceSeconds: 0 })
  await reportWhen(({ nodes }) => nodes.some(({ boxes }) => boxes === 1))
})

test.each(['refuse', 'hang'] as const)(
  'without its API server (%s) the report has no figures, and comes at once',
  async (how) => {
    await line.cut(how)
    await delay(2_100)
    const startedAt = performance.now()
    const report = await facts.report()
    expect(performance.now() - startedAt).toBeLessThan(4_500)
    expect(report.nodes).toEqual([])
    expect(report.problems.map(({ code }) => code)).toEqual(['kubernetes_unreachable'])
    await line.mend()
    const mended = await reportWhen(({ nodes, problems }) => nodes.length > 0 && problems.length === 0)
    expect(mended.nodes.some(({ boxes }) => boxes === 1)).toBe(true)
  },
)
