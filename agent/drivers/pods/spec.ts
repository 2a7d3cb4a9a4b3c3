import { createHash, randomBytes } from 'node:crypto'
import type { NodeSelectorTerm, Pod, PodSpec } from 'kubernetes-types/core/v1.d.ts'
import type { OwnerReference } from 'kubernetes-types/meta/v1.d.ts'
import type { NetworkPolicy } from 'kubernetes-types/networking/v1.d.ts'
import { parseQuantity } from '../../lib/kube/quantities.ts'
import type { BoxSpec } from '../../ports/boxes/runtime.ts'

export interface PodSettings {
  instanceId: string
  /** Namespace of the boxes' pods. */
  namespace: string
  /** Stub image that a container must have. A box has a root of its own. */
  image: string
  /** Node of this agent, which has the roots of its boxes. */
  node: string
  /** UID of the Node object. */
  nodeUid: string
}

/** The parameters of a pod of a box, or of a warm pod. */
export interface PodPlan {
  name: string
  /** If null, the pod's name. */
  hostname: string | null
  labels: Record<string, string>
  /** Identifies the agent that prepares the pod, for the wrapper of its node. */
  instance: string
  /** Names of nodes that the scheduler must not choose. If null, the pod must run on the node of this agent. */
  avoids: readonly string[] | null
  cpus: number
  ramMb: number
  graceSeconds: number
}

/** Plans the pod of a box, with a name that no earlier pod of the box had. */
export function planBoxPod(spec: BoxSpec, instanceId: string): PodPlan {
  const { hostname, cpus, ramMb, graceSeconds } = spec
  const placed = { instance: instanceId, avoids: null }
  return { name: podName(spec), hostname, labels: boxLabels(spec, instanceId), ...placed, cpus, ramMb, graceSeconds }
}

/** Plans a warm pod. Fields that cannot change later have the values of most boxes. */
export function planWarmPod(name: string, instanceId: string): PodPlan {
  const labels = { ...WARM_LABELS, [ANNOTATION_INSTANCE]: instanceId }
  const placed = { instance: instanceId, avoids: null }
  return { name, hostname: null, labels, ...placed, ...WARM_SIZE, graceSeconds: WARM_POD_GRACE_SECONDS }
}

/**
 * Plans a warm pod of a fleet. The scheduler puts it on any node except those in `avoids`, and the agent there takes it. `maker` is the
 * instance that maintains it.
 */
export function planSharedPod(
  { name, maker, mark }: { name: string; maker: string; mark: string },
  { avoids, cpus, ramMb }: Pick<PodPlan, 'cpus' | 'ramMb'> & { avoids: readonly string[] },
): PodPlan {
  const labels = { ...WARM_LABELS, [LABEL_MAKER]: maker }
  return { name, hostname: null, labels, instance: mark, avoids, cpus, ramMb, graceSeconds: WARM_POD_GRACE_SECONDS }
}

/** Returns the value that shared warm pods of a namespace have instead of an instance, in the same form. */
export function sharedMarkOf(namespace: string): string {
  return createHash('sha256').update(`warm pods of ${namespace}`).digest('hex').slice(0, 8)
}

/** Returns a new name for a warm pod. */
export function newWarmPodName(): string {
  return `warm-${randomMark()}`
}

/** Builds the manifest of a pod. Pure. */
export function buildPod(plan: PodPlan, settings: Omit<PodSettings, 'instanceId'>): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: plan.name,
      namespace: settings.namespace,
      labels: plan.labels,
      annotations: { [ANNOTATION_INSTANCE]: plan.instance },
      ...(plan.avoids === null ? { ownerReferences: ownedBy(settings) } : {}),
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
      ...placementOf(plan, settings.node),
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
          // Init ends at once on SIGTERM and takes all other processes with it. The hook gives the agent time to end them.
          ...(plan.graceSeconds > 0 ? { lifecycle: { preStop: { sleep: { seconds: plan.graceSeconds } } } } : {}),
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
        },
      ],
    },
  }
}

/**
 * Returns the owner of a pod on this node. The data is on the node, so the pod may be deleted with it. A pod with a controller can be
 * drained.
 */
export function ownedBy({ node, nodeUid }: Pick<PodSettings, 'node' | 'nodeUid'>): OwnerReference[] {
  return [{ apiVersion: 'v1', kind: 'Node', name: node, uid: nodeUid, controller: true }]
}

// The pod of a box must run where its root is. The scheduler still places it, because it reports why a node cannot take it.
function placementOf({ avoids }: PodPlan, node: string): Pick<PodSpec, 'affinity' | 'topologySpreadConstraints'> {
  if (avoids === null) return requiring([{ key: 'metadata.name', operator: 'In', values: [node] }])
  const others = avoids.map((name) => ({ key: 'metadata.name', operator: 'NotIn', values: [name] }))
  const spread = { maxSkew: 1, topologyKey: 'kubernetes.io/hostname', whenUnsatisfiable: 'ScheduleAnyway' }
  const topologySpreadConstraints = [{ ...spread, labelSelector: { matchLabels: { [LABEL_WARM]: 'true' } } }]
  return { topologySpreadConstraints, ...(others.length === 0 ? {} : requiring(others)) }
}

/** Returns the nodes that a shared pod must not be on. */
export function avoidedBy({ spec }: Pod): string[] {
  const [term] = spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? []
  return (term?.matchFields ?? []).flatMap(({ operator, values = [] }) => (operator === 'NotIn' ? values : []))
}

function requiring(matchFields: NodeSelectorTerm['matchFields']): Pick<PodSpec, 'affinity'> {
  const required = { nodeSelectorTerms: [{ ...(matchFields === undefined ? {} : { matchFields }) }] }
  return { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } } }
}

/** Returns the labels of a box's pod, by which kubectl finds it. */
export function boxLabels(box: Pick<BoxSpec, 'id' | 'project' | 'name'>, instanceId: string): Record<string, string> {
  return {
    ...COMMON_LABELS,
    'app.kubernetes.io/name': 'box',
    [ANNOTATION_INSTANCE]: instanceId,
    [LABEL_PROJECT]: box.project,
    [LABEL_BOX]: box.name,
    [LABEL_BOX_ID]: box.id,
  }
}

/** Returns the box's limits, and requests that are a fraction of them, since memory and cores are overcommitted as on a single host. */
export function podResources({ cpus, ramMb }: Pick<BoxSpec, 'cpus' | 'ramMb'>): {
  limits: Record<string, string>
  requests: Record<string, string>
} {
  const milliCpus = Math.max(1, Math.round(cpus * 1000))
  return {
    limits: { cpu: `${milliCpus}m`, memory: `${ramMb}Mi` },
    requests: {
      // A box may have more cores than the node, as on a single host.
      cpu: `${Math.min(MILLI_CPUS_MAX, Math.max(1, Math.floor(milliCpus / CPU_OVERCOMMIT)))}m`,
      memory: `${Math.max(1, Math.floor(ramMb / MEMORY_OVERCOMMIT))}Mi`,
    },
  }
}

/** Returns the limits in the specification of a pod's container, or null if it has none. */
export function podLimits(pod: Pod): { cpus: number; ramMb: number } | null {
  return readLimits(pod.spec?.containers[0]?.resources?.limits)
}

/** Returns the limits that the kubelet has last applied, or null if it has reported none. */
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
 * Builds the NetworkPolicy of a project, whose boxes accept connections only from each other. Plugins that enforce policies add this to the
 * agent's rules. Pure.
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

/** Includes the instance, since two deployments may share a namespace and the name of a project. */
export function policyName(project: string, instanceId: string): string {
  return `project-${project}-${instanceId}`
}

/** Marks a warm pod. */
export const LABEL_WARM = 'boxyard.dev/warm'
/** Names the instance that made a warm pod of a fleet, until a box has it. */
export const LABEL_MAKER = 'boxyard.dev/maker'
export const ANNOTATION_INSTANCE = 'boxyard.dev/instance'
export const LABEL_PROJECT = 'boxyard.dev/project'
const LABEL_BOX = 'boxyard.dev/box'
export const LABEL_BOX_ID = 'boxyard.dev/box-id'

/** Grace of a warm pod, the longest that a box in it can have. */
export const WARM_POD_GRACE_SECONDS = 10
/** Kubelet's wait beyond the grace of the box's commands. */
export const GRACE_SLACK_SECONDS = 2

const COMMON_LABELS = { 'app.kubernetes.io/managed-by': 'boxyard' }
const WARM_LABELS = { ...COMMON_LABELS, 'app.kubernetes.io/name': 'warm-pod', [LABEL_WARM]: 'true' }
/** A size that fits most nodes with any free resources. If a larger box does not fit, smaller ones still may. */
export const USUAL_SIZE = { cpus: 1, ramMb: 512 }
/** Limits of a warm pod until a box takes it. */
export const WARM_SIZE = { cpus: 1, ramMb: 64 }
const DNS_LABEL = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/
// A DNS label of 63 characters, less the random part.
const NAME_CHARACTERS = 56
const CPU_OVERCOMMIT = 64
const MILLI_CPUS_MAX = 100
const MEMORY_OVERCOMMIT = 16
