import type { Pod } from 'kubernetes-types/core/v1.d.ts'
import type { Logger } from '../../../shared/log.ts'
import type { FollowedView, Follower } from './follow.ts'

export type PodChange = 'added' | 'modified' | 'deleted'

/** A local view of the pods of a selector, kept by list and watch. It may lag, and keeps its last state while the watch fails. */
export interface PodWatch extends Follower {
  /** Returns null if the view has no such pod. */
  get(uid: string): Pod | null
  all(): Pod[]
  /**
   * Calls `listener` for each change. Reports a pod that vanished while the watch failed as deleted, in its last known state. Returns
   * its removal.
   */
  onChange(listener: (pod: Pod, change: PodChange) => void): () => void
}

/** Creates a watch, kept by the follower that `follow` makes of its view. `start` starts it. */
export function createPodWatch(follow: (view: FollowedView<Pod>) => Follower, logger: Logger): PodWatch {
  const pods = new Map<string, Pod>()
  const listeners = new Set<(pod: Pod, change: PodChange) => void>()
  const notify = (pod: Pod, change: PodChange): void => {
    for (const listener of [...listeners]) {
      try {
        listener(pod, change)
      } catch (error) {
        logger.error('failed to handle a change of a pod', { pod: pod.metadata?.name, change, error })
      }
    }
  }
  const put = (pod: Pod): void => {
    const known = pods.get(uidOf(pod))
    if (known && known.metadata?.resourceVersion === pod.metadata?.resourceVersion) return
    pods.set(uidOf(pod), pod)
    notify(pod, known ? 'modified' : 'added')
  }
  const drop = (pod: Pod): void => {
    if (pods.delete(uidOf(pod))) notify(pod, 'deleted')
  }
  const follower = follow({
    replaceAll: async (pages) => {
      const listed: Pod[] = []
      let version = ''
      for await (const page of pages) {
        listed.push(...page.items)
        version = page.version
      }
      const uids = new Set(listed.map(uidOf))
      for (const pod of [...pods.values()]) if (!uids.has(uidOf(pod))) drop(pod)
      for (const pod of listed) put(pod)
      return version
    },
    put,
    drop,
  })
  return {
    ...follower,
    get: (uid) => pods.get(uid) ?? null,
    all: () => [...pods.values()],
    onChange: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

function uidOf(pod: Pod): string {
  return pod.metadata?.uid ?? ''
}
