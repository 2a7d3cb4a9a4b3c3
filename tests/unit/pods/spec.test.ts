import { describe, expect, test } from '@jest/globals'
import type { Pod } from 'kubernetes-types/core/v1.d.ts'
import {
  boxLabels,
  buildPod,
  newWarmPodName,
  planBoxPod,
  planSharedPod,
  planWarmPod,
  podLimits,
  podResources,
  sharedMarkOf,
} from '../../../agent/drivers/pods/spec.ts'
import type { BoxSpec } from '../../../agent/ports/boxes/runtime.ts'

const SETTINGS = { instanceId: 'abcd1234', namespace: 'boxyard', image: 'pause:1', node: 'n1', nodeUid: 'uid-1' }
const SPEC: BoxSpec = {
  id: 'box_01k9abcdefghjkmnpqrstvwxyz',
  project: 'demo',
  name: 'web',
  rootPath: '/pool/sub',
  hostname: 'web',
  machineId: '0'.repeat(32),
  cpus: 1,
  ramMb: 64,
  shmMb: 32,
  networkMbps: null,
  diskMbps: null,
  diskIops: null,
  pidsMax: 64,
  environment: {},
  nesting: false,
  isNew: false,
  writesNames: true,
  graceSeconds: 10,
  mounts: [],
}
const DNS_LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/

describe("the name of a box's pod", () => {
  test('shows box and project, and differs each time', () => {
    const names = Array.from({ length: 20 }, () => planBoxPod(SPEC, 'abcd1234').name)
    for (const name of names) expect(name).toMatch(/^web--demo-[0-9a-f]{6}$/)
    expect(new Set(names).size).toBe(20)
  })

  test.each([
    ['the longest that fits', 'w'.repeat(27), 'd'.repeat(27), /^w{27}--d{27}-/],
    ['one too long', 'w'.repeat(28), 'd'.repeat(27), /^box-01k9/],
    ['both at their longest', 'w'.repeat(63), 'd'.repeat(63), /^box-01k9/],
    ['capitals', 'Web', 'demo', /^box-01k9/],
    ['a dot', 'a.b', 'demo', /^box-01k9/],
    ['a hyphen at the end', 'web-', 'demo-', /^box-01k9/],
    ['one letter each', 'w', 'd', /^w--d-/],
  ])('is a label of DNS: %s', (_, name, project, expected) => {
    const plan = planBoxPod({ ...SPEC, name, project }, 'abcd1234')
    expect(plan.name).toMatch(DNS_LABEL)
    expect(plan.name).toMatch(expected)
  })

  test('differs for any two boxes', () => {
    const name = (project: string, box: string): string =>
      planBoxPod({ ...SPEC, project, name: box }, 'abcd1234').name.slice(0, -7)
    expect(name('c', 'a--b')).toBe(name('b--c', 'a'))
    const labels = (project: string, box: string): object => boxLabels({ ...SPEC, project, name: box }, 'abcd1234')
    expect(labels('c', 'a--b')).not.toEqual(labels('b--c', 'a'))
  })
})

describe('the pod of a box', () => {
  const pod = buildPod(planBoxPod(SPEC, 'abcd1234'), SETTINGS)

  test('is found by labels, and opened by its annotation', () => {
    expect(pod.metadata?.labels).toEqual({
      'app.kubernetes.io/managed-by': 'boxyard',
      'app.kubernetes.io/name': 'box',
      'boxyard.dev/instance': 'abcd1234',
      'boxyard.dev/project': 'demo',
      'boxyard.dev/box': 'web',
      'boxyard.dev/box-id': SPEC.id,
    })
    expect(pod.metadata?.annotations).toEqual({ 'boxyard.dev/instance': 'abcd1234' })
  })

  test('has users of its own, no token, no more rights, and ends for good', () => {
    expect(pod.spec).toMatchObject({
      runtimeClassName: 'boxyard',
      hostUsers: false,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      restartPolicy: 'Never',
      hostname: 'web',
      securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
    })
    const [box, ...more] = pod.spec?.containers ?? []
    expect(more).toEqual([])
    expect(box).toMatchObject({ name: 'box', image: 'pause:1' })
    expect(box?.securityContext).toEqual({ allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } })
    for (const field of ['volumes', 'hostNetwork', 'hostPID', 'hostIPC', 'nodeName'])
      expect(pod.spec).not.toHaveProperty(field)
  })

  test('is bound by the scheduler to the node with its root, which owns it', () => {
    expect(JSON.stringify(pod.spec?.affinity)).toContain('"key":"metadata.name","operator":"In","values":["n1"]')
    expect(pod.metadata?.ownerReferences).toEqual([expect.objectContaining({ kind: 'Node', name: 'n1', uid: 'uid-1' })])
  })

  test.each([
    [0, undefined],
    [1, { preStop: { sleep: { seconds: 1 } } }],
    [300, { preStop: { sleep: { seconds: 300 } } }],
  ])('gives commands %i s of grace before the kubelet ends it', (graceSeconds, lifecycle) => {
    const { spec } = buildPod(planBoxPod({ ...SPEC, graceSeconds }, 'abcd1234'), SETTINGS)
    expect(spec?.containers[0]?.lifecycle).toEqual(lifecycle)
    expect(spec?.terminationGracePeriodSeconds).toBeGreaterThan(graceSeconds)
  })
})

test('a warm pod has no box and no project, and the name of the pod as host name', () => {
  const [one, other] = [planWarmPod(newWarmPodName(), 'abcd1234'), planWarmPod(newWarmPodName(), 'abcd1234')]
  expect(one.name).toMatch(DNS_LABEL)
  expect(one.name).not.toBe(other.name)
  const { metadata, spec } = buildPod(one, SETTINGS)
  expect(metadata?.labels).toEqual({
    'app.kubernetes.io/managed-by': 'boxyard',
    'app.kubernetes.io/name': 'warm-pod',
    'boxyard.dev/instance': 'abcd1234',
    'boxyard.dev/warm': 'true',
  })
  expect(spec).not.toHaveProperty('hostname')
  expect(spec?.runtimeClassName).toBe('boxyard')
})

test('a warm pod of a fleet is for any node but those that it avoids, spread over them, and of no instance yet', () => {
  const of = (avoids: string[]) => {
    const name = { name: 'warm-1', maker: 'abcd1234', mark: sharedMarkOf('boxyard') }
    return buildPod(planSharedPod(name, { cpus: 2, ramMb: 256, avoids }), SETTINGS)
  }
  const { metadata, spec } = of([])
  expect(metadata?.labels).toEqual({
    'app.kubernetes.io/managed-by': 'boxyard',
    'app.kubernetes.io/name': 'warm-pod',
    'boxyard.dev/maker': 'abcd1234',
    'boxyard.dev/warm': 'true',
  })
  expect(metadata?.annotations?.['boxyard.dev/instance']).toMatch(/^[a-f0-9]{8}$/)
  expect(sharedMarkOf('other')).not.toBe(sharedMarkOf('boxyard'))
  expect(metadata).not.toHaveProperty('ownerReferences')
  expect(spec).not.toHaveProperty('affinity')
  expect(spec?.topologySpreadConstraints).toMatchObject([{ whenUnsatisfiable: 'ScheduleAnyway' }])
  const matchFields = ['n1', 'n2'].map((node) => ({ key: 'metadata.name', operator: 'NotIn', values: [node] }))
  expect(of(['n1', 'n2']).spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution).toEqual({
    nodeSelectorTerms: [{ matchFields }],
  })
})

describe('limits', () => {
  test.each([
    [
      { cpus: 0.05, ramMb: 16 },
      { cpu: '50m', memory: '16Mi' },
    ],
    [
      { cpus: 1, ramMb: 64 },
      { cpu: '1000m', memory: '64Mi' },
    ],
    [
      { cpus: 1.5, ramMb: 1536 },
      { cpu: '1500m', memory: '1536Mi' },
    ],
    [
      { cpus: 1024, ramMb: 16_777_216 },
      { cpu: '1024000m', memory: '16777216Mi' },
    ],
  ])('%j are written and read again', (limits, expected) => {
    const resources = podResources(limits)
    expect(resources.limits).toEqual(expected)
    expect(podLimits(withLimits(resources.limits))).toEqual(limits)
  })

  test.each([
    [
      { cpus: 0.05, ramMb: 16 },
      { cpu: '1m', memory: '1Mi' },
    ],
    [
      { cpus: 0.0001, ramMb: 1 },
      { cpu: '1m', memory: '1Mi' },
    ],
    [
      { cpus: 64, ramMb: 16 * 1024 },
      { cpu: '100m', memory: '1024Mi' },
    ],
  ])('of %j are requested in part, and never at zero', (limits, expected) => {
    expect(podResources(limits).requests).toEqual(expected)
  })

  // Formats in which an API server returns these quantities.
  test.each([
    ['1', '1Gi', { cpus: 1, ramMb: 1024 }],
    ['1k', '16Ti', { cpus: 1000, ramMb: 16_777_216 }],
    ['1500m', '1536Mi', { cpus: 1.5, ramMb: 1536 }],
  ])('are read as the server writes them: %s, %s', (cpu, memory, expected) => {
    expect(podLimits(withLimits({ cpu, memory }))).toEqual(expected)
  })

  test.each([{}, { cpu: '1' }, { memory: '1Gi' }])('that are not set are null: %j', (limits) => {
    expect(podLimits(withLimits(limits))).toBe(null)
    expect(podLimits({})).toBe(null)
  })
})

function withLimits(limits: Record<string, string>): Pod {
  return { spec: { containers: [{ name: 'box', resources: { limits } }] } }
}
