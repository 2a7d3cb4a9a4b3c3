import { randomBytes } from 'node:crypto'
import type { NodeSelector, Pod } from 'kubernetes-types/core/v1.d.ts'
import type { NetworkPolicy } from 'kubernetes-types/networking/v1.d.ts'
import { parseQuantity } from '../../lib/kube/quantities.ts'
import type { BoxSpec } from '../../ports/boxes/runtime.ts'

export interface PodSettings {
  instanceId: string
  /** Where the boxes' pods are. */
  namespace: string
  /** The stub that a container must have; a box brings its root. */
  image: string
  /** The node that has the box's root. */
  node: string
  /** Of that node, in the cluster. */
  nodeUid: string
}

/** What a pod is made from, be it a box or one that waits for a box. */
export interface PodPlan {
  name: string
  /** Null for the pod's name. */
  hostname: string | null
  labels: Record<string, string>
  cpus: number
  ramMb: number
  graceSeconds: number
}

/** The plan of a box's pod, with a name that no earlier pod of the box had. */
export function planBoxPod(spec: BoxSpec, instanceId: string): PodPlan {
  const { hostname, cpus, ramMb, graceSeconds } = spec
  return { name: podName(spec), hostname, labels: boxLabels(spec, instanceId), cpus, ramMb, graceSeconds }
}

/** The plan of a pod that waits for a box: what of it cannot be changed later is what most boxes have. */
export function planWarmPod(name: string, instanceId: string): PodPlan {
  const labels = { ...OUR_LABELS, 'app.kubernetes.io/name': 'warm-pod', [ANNOTATION_INSTANCE]: instanceId }
  const limits = { cpus: 1, ramMb: 64, graceSeconds: STUB_GRACE_SECONDS }
  return { name, hostname: null, labels: { ...labels, [LABEL_WARM]: 'true' }, ...limits }
}

/** A name for a pod that waits. */
export function newWarmPodName(): string {
  return `warm-${randomMark()}`
}

/** The pod of a plan. A pure function. */
export function buildPod(plan: PodPlan, settings: PodSettings): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: plan.name,
      namespace: settings.namespace,
      labels: plan.labels,
      annotations: { [ANNOTATION_INSTANCE]: settings.instanceId },
      // With the node the data goes, and so may the pod. As what has a controller, it can be drained like any other.
      ownerReferences: [
        { apiVersion: 'v1', kind: 'Node', name: settings.node, uid: settings.nodeUid, controller: true },
      ],
    },
    spec: {
      runtimeClassName: 'boxyard',
      ...(plan.hostname === null ? {} : { hostname: plan.hostname }),
      hostUsers: false,
      restartPolicy: 'Never',
      dnsPolicy: 'Default',
      enableServiceLinks: false,
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: plan.graceSeconds + GRACE_SLACK_SECONDS,
      affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: onNode(settings.node) } },
      securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        {
          name: 'box',
          image: settings.image,
          imagePullPolicy: 'IfNotPresent',
          resources: podResources(plan),
          resizePolicy: [
            { resourceName: 'cpu', restartPolicy: 'NotRequired' },
            { resourceName: 'memory', restartPolicy: 'NotRequired' },
          ],
          // Init would end at once when asked to, and all others with it: they get their time first, from the agent.
          ...(plan.graceSeconds > 0 ? { lifecycle: { preStop: { sleep: { seconds: plan.graceSeconds } } } } : {}),
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
        },
      ],
    },
  }
}

// Where its root is, which for a fork is where its source is: left to the scheduler, which knows why a node cannot take it.
function onNode(name: string): NodeSelector {
  const byName = { key: 'metadata.name', operator: 'In', values: [name] }
  return { nodeSelectorTerms: [{ matchFields: [byName] }] }
}

/** What marks a box's pod: by these labels kubectl finds it. */
export function boxLabels(box: Pick<BoxSpec, 'id' | 'project' | 'name'>, instanceId: string): Record<string, string> {
  return {
    ...OUR_LABELS,
    'app.kubernetes.io/name': 'box',
    [ANNOTATION_INSTANCE]: instanceId,
    [LABEL_PROJECT]: box.project,
    [LABEL_BOX]: box.name,
    [LABEL_BOX_ID]: box.id,
  }
}

/** Limits are the box's; requests a part of them, as memory and cores are promised several times over on one host. */
export function podResources({ cpus, ramMb }: Pick<BoxSpec, 'cpus' | 'ramMb'>): {
  limits: Record<string, string>
  requests: Record<string, string>
} {
  const milliCpus = Math.max(1, Math.round(cpus * 1000))
  return {
    limits: { cpu: `${milliCpus}m`, memory: `${ramMb}Mi` },
    requests: {
      // More cores than the node has are no fault on one host either.
      cpu: `${Math.min(MILLI_CPUS_MAX, Math.max(1, Math.floor(milliCpus / PROMISED_CPUS)))}m`,
      memory: `${Math.max(1, Math.floor(ramMb / PROMISED_MEMORY))}Mi`,
    },
  }
}

/** The limits that a pod's container has now by its specification; null for one without. */
export function podLimits(pod: Pod): { cpus: number; ramMb: number } | null {
  return readLimits(pod.spec?.containers[0]?.resources?.limits)
}

/** The limits that the kubelet has set last; null if it has told none. */
export function actualLimits(pod: Pod): { cpus: number; ramMb: number } | null {
  return readLimits(pod.status?.containerStatuses?.[0]?.resources?.limits)
}

function readLimits({ cpu, memory }: Record<string, string> = {}): { cpus: number; ramMb: number } | null {
  if (cpu === undefined || memory === undefined) return null
  return { cpus: parseQuantity(cpu), ramMb: parseQuantity(memory) / 1024 ** 2 }
}

function podName({ id, project, name }: BoxSpec): string {
  const label = `${name}--${project}`
  const stem = label.length <= NAME_CHARACTERS && DNS_LABEL.test(label) ? label : id.replaceAll('_', '-')
  return `${stem}-${randomMark()}`
}

function randomMark(): string {
  return randomBytes(3).toString('hex')
}

/**
 * The policy of a project, in the words of the cluster: its boxes take connections from each other and from no other pod.
 * A network plugin that enforces policies does so besides this agent. A pure function.
 */
export function projectPolicy(project: string, instanceId: string): NetworkPolicy {
  const labels = { [LABEL_PROJECT]: project, [ANNOTATION_INSTANCE]: instanceId }
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: {
      name: policyName(project, instanceId),
      labels: { 'app.kubernetes.io/managed-by': 'boxyard', ...labels },
    },
    spec: {
      podSelector: { matchLabels: labels },
      policyTypes: ['Ingress'],
      ingress: [{ from: [{ podSelector: { matchLabels: labels } }] }],
    },
  }
}

/** Two deployments may share a namespace and the name of a project. */
export function policyName(project: string, instanceId: string): string {
  return `project-${project}-${instanceId}`
}

/** On a pod that waits for a box. */
export const LABEL_WARM = 'boxyard.dev/warm'
export const ANNOTATION_INSTANCE = 'boxyard.dev/instance'
const LABEL_PROJECT = 'boxyard.dev/project'
const LABEL_BOX = 'boxyard.dev/box'
export const LABEL_BOX_ID = 'boxyard.dev/box-id'

/** The longest grace of a box that a pod which waited can have. */
export const STUB_GRACE_SECONDS = 10
/** What the kubelet waits beyond the grace of the box's commands. */
export const GRACE_SLACK_SECONDS = 2

const OUR_LABELS = { 'app.kubernetes.io/managed-by': 'boxyard' }
const DNS_LABEL = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/
// A label of 63 less the part that is drawn.
const NAME_CHARACTERS = 56
const PROMISED_CPUS = 64
const MILLI_CPUS_MAX = 100
const PROMISED_MEMORY = 16
