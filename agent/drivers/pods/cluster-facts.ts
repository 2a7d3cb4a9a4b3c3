import type { Node, Pod } from 'kubernetes-types/core/v1.d.ts'
import type { KubeApi } from '../../lib/kube/api.ts'
import { KubeError } from '../../lib/kube/errors.ts'
import { parseQuantity } from '../../lib/kube/quantities.ts'
import type { PodWatch } from '../../lib/kube/watch.ts'
import type { ClusterFacts, ClusterNode, ClusterProblem, ClusterReport } from '../../ports/boxes/cluster-facts.ts'
import { findNodeProblems, findPodProblems } from './cluster-facts-problems.ts'
import { LABEL_WARM, podResources, USUAL_SIZE } from './spec.ts'
import { describeUnplaced } from './state.ts'

export interface KubeFactsOptions {
  api: Pick<KubeApi, 'namespace' | 'nodes' | 'countPods' | 'faults'>
  /** Watches the pods of this deployment. */
  pods: Pick<PodWatch, 'all' | 'fault' | 'onChange'>
  /** Watches the warm pods that this agent made for its fleet, or null if it makes none. */
  shared?: Pick<PodWatch, 'all' | 'onChange'> | null
  /** Name of this node. */
  node: string
  /** Milliseconds since the epoch. */
  now(): number
  /** Milliseconds that the API server has to list nodes and count their pods. */
  deadlineMs?: number
}

/** Reports a cluster: nodes and pod counts from the API, boxes from the watch. */
export function createKubeClusterFacts({
  api,
  pods,
  shared = null,
  node,
  now,
  deadlineMs = DEADLINE_MS,
}: KubeFactsOptions): ClusterFacts {
  const past = createPastProblems(now)
  for (const watch of [pods, ...(shared === null ? [] : [shared])]) watch.onChange(past.observe)
  const readNodes = cacheFor(() => listNodes(api, deadlineMs), NODES_MS)
  return {
    report: async (): Promise<ClusterReport> => {
      const { nodes, problems } = await readNodes()
      const fault = pods.fault()
      const watchProblems = fault ? [problemOf(fault.error)] : []
      // While the watch is broken, boxes cannot be counted, and a count of 0 would be wrong.
      const known = fault ? [] : pods.all()
      const present = findPodProblems([...known, ...(shared?.all() ?? [])], now())
      const gone = past.list().filter(({ code }) => !present.some((problem) => problem.code === code))
      return {
        namespace: api.namespace,
        nodes: fault ? [] : nodes.map((counted) => viewNode(counted, known)),
        problems: withoutDuplicates([...problems, ...watchProblems, ...api.faults(), ...present, ...gone]),
      }
    },
    place: async () => {
      const known = pods.all()
      const [own] = await api.nodes({ name: node })
      return { warm: known.filter(isReadyWarmPod).length, refusal: refusalOf(node, own, known) }
    },
    onRefusal: (listener) =>
      pods.onChange((pod) => {
        if (isRefused(pod)) listener()
      }),
  }
}

interface CountedNode {
  node: Node
  podsRunning: number
}

/** Lists the nodes with their pod counts, and their problems. Never rejects. A failure is a problem. */
async function listNodes(
  api: KubeFactsOptions['api'],
  deadlineMs: number,
): Promise<{ nodes: CountedNode[]; problems: ClusterProblem[] }> {
  const endsAt = performance.now() + deadlineMs
  const problems: ClusterProblem[] = []
  try {
    const items = await api.nodes({ deadlineMs })
    problems.push(...findNodeProblems(items))
    const count = async (node: Node): Promise<CountedNode> => {
      const leftMs = Math.max(1, Math.floor(endsAt - performance.now()))
      return { node, podsRunning: await api.countPods(node.metadata?.name ?? '', { deadlineMs: leftMs }) }
    }
    return { nodes: await Promise.all(items.map(count)), problems }
  } catch (error) {
    return { nodes: [], problems: [...problems, problemOf(error)] }
  }
}

/** Builds the report of a node. Values that it has not reported yet are 0. */
function viewNode({ node: { metadata, status }, podsRunning }: CountedNode, pods: readonly Pod[]): ClusterNode {
  const { allocatable = {}, capacity = {} } = status ?? {}
  const figure = (figures: Record<string, string>, name: string): number => parseQuantity(figures[name] ?? '0')
  const name = metadata?.name ?? ''
  return {
    name,
    cpu_allocatable: allocatable['cpu'] ?? '0',
    cpu_capacity: capacity['cpu'] ?? '0',
    memory_allocatable_bytes: Math.round(figure(allocatable, 'memory')),
    memory_capacity_bytes: Math.round(figure(capacity, 'memory')),
    pods_allocatable: figure(allocatable, 'pods'),
    pods_capacity: figure(capacity, 'pods'),
    pods_running: podsRunning,
    boxes: pods.filter((pod) => pod.spec?.nodeName === name && isRunningBox(pod)).length,
    ready: status?.conditions?.some(({ type, status: state }) => type === 'Ready' && state === 'True') ?? false,
  }
}

/** Returns why a node accepts no pods, or null if it does. */
function refusalOf(name: string, node: Node | undefined, pods: readonly Pod[]): string | null {
  if (node === undefined) return `The cluster has no node "${name}".`
  const { spec, status } = node
  if (spec?.unschedulable) return `Node ${name} is cordoned.`
  if (status?.conditions?.some(({ type, status: state }) => type === 'Ready' && state !== 'True'))
    return `Node ${name} is not ready.`
  const refused = pods.find(isRefused)
  return refused === undefined ? null : describeUnplaced(refused)
}

/**
 * Returns true for a pod of at most the usual size that does not fit in the cluster. Otherwise one large box would close its node to all.
 */
function isRefused(pod: Pod): boolean {
  const { metadata, spec, status } = pod
  if (status?.phase !== 'Pending' || metadata?.deletionTimestamp !== undefined) return false
  return isUsual(spec?.containers[0]?.resources?.requests ?? {}) && describeUnplaced(pod) !== null
}

function isUsual(requests: Record<string, string>): boolean {
  const most = podResources(USUAL_SIZE).requests
  return Object.entries(most).every(([name, usual]) => parseQuantity(requests[name] ?? '0') <= parseQuantity(usual))
}

function isReadyWarmPod({ metadata, status }: Pod): boolean {
  const isWarm = metadata?.labels?.[LABEL_WARM] !== undefined && metadata.deletionTimestamp === undefined
  return isWarm && status?.phase === 'Running'
}

/** Excludes warm pods. */
function isRunningBox({ metadata, status }: Pod): boolean {
  return status?.phase === 'Running' && metadata?.labels?.[LABEL_WARM] === undefined
}

function problemOf(error: unknown): ClusterProblem {
  const fault = error instanceof KubeError ? error.fault : null
  return fault ?? { code: 'kubernetes_unreadable', evidence: 'The agent cannot read the cluster.', remedy: READ_LOG }
}

/** Keeps one problem for each cause, since several calls may fail for the same one. */
function withoutDuplicates(problems: readonly ClusterProblem[]): ClusterProblem[] {
  const isServerWide = ({ code }: ClusterProblem): boolean => WHOLE_SERVER.has(code)
  const keyOf = (problem: ClusterProblem): string => (isServerWide(problem) ? problem.code : problem.evidence)
  return [...new Map(problems.map((problem) => [keyOf(problem), problem])).values()]
}

/** Caches a result, also a failure, for `keepMs`, and shares the read among concurrent callers. */
function cacheFor<T>(read: () => Promise<T>, keepMs: number): () => Promise<T> {
  let cached: { result: Promise<T>; until: number } | null = null
  return () => {
    if (cached && performance.now() < cached.until) return cached.result
    const result = read()
    const entry = { result, until: Number.POSITIVE_INFINITY }
    const settle = (): void => {
      entry.until = performance.now() + keepMs
    }
    result.then(settle, settle)
    cached = entry
    return result
  }
}

/** Problems of pods that failed and are gone, since the next pod would have the same. */
interface PastProblems {
  /** Handles a changed pod. */
  observe(pod: Pod): void
  /** Lists problems of the last ten minutes that no later pod has disproved. */
  list(): ClusterProblem[]
}

/** `now` in milliseconds since the epoch. */
function createPastProblems(now: () => number): PastProblems {
  const entries = new Map<string, { problem: ClusterProblem; at: number }>()
  return {
    observe: (pod) => {
      const { creationTimestamp, deletionTimestamp } = pod.metadata ?? {}
      const at = now()
      const problem = findPodProblems([pod], at).find(({ code }) => LASTING.has(code))
      if (problem) entries.set(problem.code, { problem, at })
      if (pod.status?.phase !== 'Running' || deletionTimestamp !== undefined) return
      // Creation times have a resolution of one second.
      const madeAt = (creationTimestamp === undefined ? 0 : Date.parse(creationTimestamp)) + 999
      for (const [code, { at: seenAt }] of entries) if (madeAt >= seenAt) entries.delete(code)
    },
    list: () => {
      for (const [code, { at }] of entries) if (now() - at > PAST_MS) entries.delete(code)
      return [...entries.values()].map(({ problem }) => problem)
    },
  }
}

const WHOLE_SERVER = new Set(['kubernetes_unreachable', 'kubernetes_credentials'])
const READ_LOG = "Read the agent's log for the cause."
/** Polls of the health report must not load the server. */
const NODES_MS = 2_000
/** Much less than the functions wait for a health report. */
const DEADLINE_MS = 1_000
/** Problems that fail a start at once. */
const LASTING = new Set(['kubernetes_image', 'kubernetes_container'])
const PAST_MS = 600_000
