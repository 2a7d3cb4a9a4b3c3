import type { Node, Pod } from 'kubernetes-types/core/v1.d.ts'
import type { ClusterProblem } from '../../ports/boxes/cluster-facts.ts'
import { CONTAINER_REASONS, IMAGE_REASONS } from './state.ts'

/** Lists the problems of nodes for boxes. Pure. */
export function findNodeProblems(nodes: readonly Node[]): ClusterProblem[] {
  const boxNodes = nodes.filter(({ metadata }) => metadata?.labels?.[NODE_LABEL] === 'true')
  return boxNodes.length === 0 ? [noNode(nodes.length)] : boxNodes.flatMap(problemsOfNode)
}

/** Lists the reasons why pods of boxes do not run, one entry per cause. `now` is in milliseconds since the epoch. Pure. */
export function findPodProblems(pods: readonly Pod[], now: number): ClusterProblem[] {
  const causes = new Map<string, { cause: PodCause; ids: string[] }>()
  for (const pod of pods) {
    const cause = causeOf(pod, now)
    if (!cause) continue
    const key = `${cause.code} ${cause.why}`
    const known = causes.get(key) ?? { cause, ids: [] }
    known.ids.push(pod.metadata?.labels?.['boxyard.dev/box-id'] ?? pod.metadata?.name ?? '')
    causes.set(key, known)
  }
  return [...causes.values()].slice(0, CAUSES_MAX).map(({ cause: { code, what, why, remedy }, ids }) => ({
    code,
    evidence: `${what} ${why} (${formatBoxes(ids)})`,
    remedy,
  }))
}

function formatBoxes(ids: readonly string[]): string {
  const shown = ids.slice(0, IDS_MAX).join(', ')
  return `${ids.length === 1 ? '1 box' : `${ids.length} boxes`}: ${shown}${ids.length > IDS_MAX ? ', …' : ''}`
}

interface PodCause {
  code: string
  what: string
  why: string
  remedy: string
}

function noNode(count: number): ClusterProblem {
  return {
    code: 'kubernetes_no_node',
    evidence: `None of the ${count} nodes of the cluster has the label ${NODE_LABEL}=true.`,
    remedy: `Prepare a node with infra/node/install.sh and label it: kubectl label node NAME ${NODE_LABEL}=true`,
  }
}

function problemsOfNode({ metadata, spec, status }: Node): ClusterProblem[] {
  const name = metadata?.name ?? ''
  const problems: ClusterProblem[] = []
  for (const { type, status: state, reason, message } of status?.conditions ?? []) {
    const why = `${reason ?? 'unknown'}: ${shorten(message)}`
    if (type === 'Ready' && state !== 'True') {
      problems.push({
        code: 'kubernetes_node_not_ready',
        evidence: `Node ${name} is not ready: ${why}`,
        remedy: 'Start its kubelet and container runtime. Find the cause in their logs on the node.',
      })
    }
    const relief = PRESSURE_REMEDIES[type]
    if (relief !== undefined && state === 'True') {
      problems.push({ code: 'kubernetes_node_pressure', evidence: `Node ${name} has ${type}: ${why}`, remedy: relief })
    }
  }
  if (spec?.unschedulable) {
    problems.push({
      code: 'kubernetes_node_cordoned',
      evidence: `Node ${name} is cordoned, so it accepts no new pods.`,
      remedy: `After the maintenance: kubectl uncordon ${name}`,
    })
  }
  return problems
}

function causeOf({ metadata, status }: Pod, now: number): PodCause | null {
  if (metadata?.deletionTimestamp || status?.phase !== 'Pending') return null
  const ageMs = metadata?.creationTimestamp === undefined ? 0 : now - Date.parse(metadata.creationTimestamp)
  const waiting = status.containerStatuses?.map(({ state }) => state?.waiting).find((item) => item !== undefined)
  const reason = waiting?.reason ?? ''
  const why = `${reason}: ${shorten(waiting?.message)}`
  if (IMAGE_REASONS.has(reason)) return { ...IMAGE, why }
  if (CONTAINER_REASONS.has(reason)) return { ...CONTAINER, why }
  const conditions = new Map(status.conditions?.map((condition) => [condition.type, condition]))
  const scheduled = conditions.get('PodScheduled')
  if (scheduled?.status === 'False') {
    return ageMs > UNSCHEDULED_MS ? { ...UNSCHEDULABLE, why: shorten(scheduled.message) } : null
  }
  // If the node cannot create a sandbox, for lack of the handler or a network, only this condition of a pod shows it.
  const isWithoutSandbox = conditions.get('PodReadyToStartContainers')?.status === 'False'
  return isWithoutSandbox && ageMs > UNSTARTED_MS ? { ...SANDBOX, why: '' } : null
}

function shorten(message: string | undefined): string {
  const text = (message ?? 'no reason is given').replaceAll(/\s+/g, ' ').trim()
  return text.length > MESSAGE_CHARACTERS ? `${text.slice(0, MESSAGE_CHARACTERS)}…` : text
}

const IMAGE = {
  code: 'kubernetes_image',
  what: 'A node cannot get the image of box pods.',
  remedy: 'Load the image of BOXYARD_POD_IMAGE on the node, or set one that the node has or can pull.',
}
const CONTAINER = {
  code: 'kubernetes_container',
  what: 'A node cannot create the container of a box.',
  remedy:
    "See the agent's log and kubectl describe pod. The agent and infra/node/install.sh must have the same version.",
}
const UNSCHEDULABLE = {
  code: 'kubernetes_unschedulable',
  what: 'The scheduler finds no node.',
  remedy: 'Delete or shrink boxes, or add a node with enough room that is ready and has the label.',
}
const SANDBOX = {
  code: 'kubernetes_sandbox',
  what: 'A node has not created the sandbox of a pod.',
  remedy: 'See the events in kubectl describe pod. Often containerd lacks the handler boxyard, or a network.',
}
const PRESSURE_REMEDIES: Record<string, string> = {
  MemoryPressure: 'Stop boxes or other work on the node, or add memory. Until then, the node evicts pods.',
  DiskPressure: 'Free disk space on the node. Until then, the node evicts pods.',
  PIDPressure: 'Stop processes on the node, or raise its limit. Until then, the node evicts pods.',
}
const NODE_LABEL = 'boxyard.dev/node'
const UNSCHEDULED_MS = 10_000
const UNSTARTED_MS = 30_000
const MESSAGE_CHARACTERS = 200
const IDS_MAX = 5
const CAUSES_MAX = 10
