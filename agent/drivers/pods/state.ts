import type { Pod } from 'kubernetes-types/core/v1.d.ts'

/** Returns true unless the deletion of the pod has begun. */
export function isStanding({ metadata }: Pod): boolean {
  return metadata?.deletionTimestamp === undefined
}

/** Returns true if someone other than the agent deleted or evicted the pod, so that its box is still desired. */
export function isTakenAway(pod: Pod | null): boolean {
  if (pod === null || pod.metadata?.deletionTimestamp !== undefined) return true
  // Set by the kubelet: eviction, preemption, node shutdown. A container that ends sets no reason here.
  return pod.status?.phase === 'Failed' && pod.status.reason !== undefined
}

/** Describes why a pod cannot become a box any more, or returns null while it can. */
export function podFailureOf(pod: Pod | null): string | null {
  if (pod === null || pod.metadata?.deletionTimestamp !== undefined) return 'Its pod was deleted.'
  const { phase, message, containerStatuses } = pod.status ?? {}
  const state = containerStatuses?.[0]?.state
  const { reason = '', message: why } = state?.waiting ?? state?.terminated ?? {}
  if (IMAGE_REASONS.has(reason) || CONTAINER_REASONS.has(reason))
    return `The node cannot create its container (${reason}): ${shorten(why)}`
  if (phase === 'Failed' || phase === 'Succeeded')
    return `Its pod exited before it ran: ${shorten(message ?? why ?? reason)}`
  return null
}

/**
 * Returns the scheduler's message about a pod that it finds no node for. Returns null if the pod has a node, or the scheduler has not
 * decided yet.
 */
export function describeUnplaced(pod: Pod | null): string | null {
  const condition = pod?.status?.conditions?.find(({ type, status }) => type === 'PodScheduled' && status === 'False')
  return condition === undefined ? null : `The cluster cannot place it: ${shorten(condition.message)}`
}

/** Describes why a pod is still pending. */
export function describePending(pod: Pod | null): string {
  const unplaced = describeUnplaced(pod)
  if (unplaced !== null) return unplaced
  const reason = pod?.status?.containerStatuses?.[0]?.state?.waiting?.reason
  return reason === undefined ? 'The node has not started its pod.' : `The node has not started its pod (${reason}).`
}

function shorten(text: string | undefined): string {
  return (text || 'no reason is given').replaceAll(/\s+/g, ' ').slice(0, SHOWN_CHARACTERS)
}

/** Waiting reasons of a container whose image the node cannot get. */
export const IMAGE_REASONS: ReadonlySet<string> = new Set([
  'ErrImageNeverPull',
  'ErrImagePull',
  'ImageInspectError',
  'ImagePullBackOff',
  'InvalidImageName',
])
/** Waiting reasons of a container that the node cannot create. */
export const CONTAINER_REASONS: ReadonlySet<string> = new Set([
  'CreateContainerConfigError',
  'CreateContainerError',
  'RunContainerError',
])
const SHOWN_CHARACTERS = 300
