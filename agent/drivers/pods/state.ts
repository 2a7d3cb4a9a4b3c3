import type { Pod } from 'kubernetes-types/core/v1.d.ts'

/** Whether the cluster, or somebody who may, took the pod away: its box is still wanted. */
export function isTakenAway(pod: Pod | null): boolean {
  if (pod === null || pod.metadata?.deletionTimestamp !== undefined) return true
  // The kubelet's own: evicted, preempted for a critical pod, the node shuts down. A container's end has no reason here.
  return pod.status?.phase === 'Failed' && pod.status.reason !== undefined
}

/** Why a pod cannot become a box any more; null while it still may. */
export function podFailureOf(pod: Pod | null): string | null {
  if (pod === null || pod.metadata?.deletionTimestamp !== undefined) return 'Its pod was deleted.'
  const { phase, message, containerStatuses } = pod.status ?? {}
  const state = containerStatuses?.[0]?.state
  const { reason = '', message: why } = state?.waiting ?? state?.terminated ?? {}
  if (IMAGE_REASONS.has(reason) || CONTAINER_REASONS.has(reason))
    return `The node cannot make its container (${reason}): ${shorten(why)}`
  if (phase === 'Failed' || phase === 'Succeeded')
    return `Its pod ended before it ran: ${shorten(message ?? why ?? reason)}`
  return null
}

/** What a pod that does not start waits for. */
export function waitOf(pod: Pod | null): string {
  const condition = pod?.status?.conditions?.find(({ type, status }) => type === 'PodScheduled' && status === 'False')
  if (condition !== undefined) return `The cluster cannot place it: ${shorten(condition.message)}`
  const reason = pod?.status?.containerStatuses?.[0]?.state?.waiting?.reason
  return reason === undefined ? 'The node has not started its pod.' : `The node has not started its pod (${reason}).`
}

function shorten(text: string | undefined): string {
  return (text || 'no reason is given').replaceAll(/\s+/g, ' ').slice(0, SHOWN_CHARACTERS)
}

/** Why a container waits whose image a node cannot get. */
export const IMAGE_REASONS: ReadonlySet<string> = new Set([
  'ErrImageNeverPull',
  'ErrImagePull',
  'ImageInspectError',
  'ImagePullBackOff',
  'InvalidImageName',
])
/** Why one waits that a node cannot make. */
export const CONTAINER_REASONS: ReadonlySet<string> = new Set([
  'CreateContainerConfigError',
  'CreateContainerError',
  'RunContainerError',
])
const SHOWN_CHARACTERS = 300
