import type { Node, Pod } from 'kubernetes-types/core/v1.d.ts'
import type { KubeApi } from '../../lib/kube/api.ts'
import { KubeError } from '../../lib/kube/errors.ts'
import { parseQuantity } from '../../lib/kube/quantities.ts'
import type { PodWatch } from '../../lib/kube/watch.ts'
import type { ClusterFacts, ClusterNode, ClusterProblem, ClusterReport } from '../../ports/boxes/cluster-facts.ts'
import { createPastProblems } from './cluster-facts-past.ts'
import { findNodeProblems, findPodProblems } from './cluster-facts-problems.ts'
import { LABEL_WARM } from './spec.ts'

export interface KubeFactsOptions {
  api: Pick<KubeApi, 'namespace' | 'nodes' | 'countPods' | 'faults'>
  /** Follows the pods of this deployment. */
  pods: Pick<PodWatch, 'all' | 'fault' | 'onChange'>
  /** Milliseconds since the epoch. */
  now(): number
}

/** The facts of a cluster: its nodes and their pods as the API lists them, boxes as the agent follows them. */
export function createKubeClusterFacts({ api, pods, now }: KubeFactsOptions): ClusterFacts {
  const past = createPastProblems(now)
  pods.onChange(past.look)
  const readNodes = remember(() => listNodes(api), KEEP_MS)
  return {
    report: async (): Promise<ClusterReport> => {
      const { nodes, problems } = await readNodes()
      const fault = pods.fault()
      const watchProblems = fault ? [problemOf(fault.error)] : []
      // Pods that are not followed cannot be counted, and a figure of none would be made up.
      const known = fault ? [] : pods.all()
      const present = findPodProblems(known, now())
      const gone = past.list().filter(({ code }) => !present.some((problem) => problem.code === code))
      return {
        namespace: api.namespace,
        nodes: fault ? [] : nodes.map((counted) => viewNode(counted, known)),
        problems: withoutTwins([...problems, ...watchProblems, ...api.faults(), ...present, ...gone]),
      }
    },
  }
}

interface CountedNode {
  node: Node
  podsRunning: number
}

/** The nodes, and what is wrong with them; without those whose pods cannot be counted. Never rejects. */
async function listNodes(api: KubeFactsOptions['api']): Promise<{ nodes: CountedNode[]; problems: ClusterProblem[] }> {
  const endsAt = performance.now() + DEADLINE_MS
  const problems: ClusterProblem[] = []
  try {
    const items = await api.nodes({ deadlineMs: DEADLINE_MS })
    problems.push(...findNodeProblems(items))
    const count = async (node: Node): Promise<CountedNode> => {
      const deadlineMs = Math.max(1, Math.floor(endsAt - performance.now()))
      return { node, podsRunning: await api.countPods(node.metadata?.name ?? '', { deadlineMs }) }
    }
    return { nodes: await Promise.all(items.map(count)), problems }
  } catch (error) {
    return { nodes: [], problems: [...problems, problemOf(error)] }
  }
}

/** The figures of a node. Of a node that has told none yet they are 0. */
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

/** A pod that waits for a box is none. */
function isRunningBox({ metadata, status }: Pod): boolean {
  return status?.phase === 'Running' && metadata?.labels?.[LABEL_WARM] === undefined
}

function problemOf(error: unknown): ClusterProblem {
  const fault = error instanceof KubeError ? error.fault : null
  return fault ?? { code: 'kubernetes_unreadable', evidence: 'The cluster could not be read.', remedy: READ_LOG }
}

/** One cause may have several calls fail. */
function withoutTwins(problems: readonly ClusterProblem[]): ClusterProblem[] {
  const isOfServer = ({ code }: ClusterProblem): boolean => WHOLE_SERVER.has(code)
  const keyOf = (problem: ClusterProblem): string => (isOfServer(problem) ? problem.code : problem.evidence)
  return [...new Map(problems.map((problem) => [keyOf(problem), problem])).values()]
}

/** The result, kept for `keepMs` and shared by those who ask meanwhile; a failure too. */
function remember<T>(read: () => Promise<T>, keepMs: number): () => Promise<T> {
  let held: { result: Promise<T>; until: number } | null = null
  return () => {
    if (held && performance.now() < held.until) return held.result
    const result = read()
    const entry = { result, until: Number.POSITIVE_INFINITY }
    const settle = (): void => {
      entry.until = performance.now() + keepMs
    }
    result.then(settle, settle)
    held = entry
    return result
  }
}

const WHOLE_SERVER = new Set(['kubernetes_unreachable', 'kubernetes_credentials'])
const READ_LOG = "Read the agent's log for the cause."
/** Polls of the health report must not load the server. */
const KEEP_MS = 2_000
const DEADLINE_MS = 2_000
