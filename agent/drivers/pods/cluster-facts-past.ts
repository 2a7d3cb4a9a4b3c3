import type { Pod } from 'kubernetes-types/core/v1.d.ts'
import type { ClusterProblem } from '../../ports/boxes/cluster-facts.ts'
import { findPodProblems } from './cluster-facts-problems.ts'

/** Problems of pods that are gone because of them: the next pod would have the same. */
export interface PastProblems {
  /** A pod has changed. */
  look(pod: Pod): void
  /** What no later pod has shown to be mended, for ten minutes after it was seen. */
  list(): ClusterProblem[]
}

/** None yet; `now` in milliseconds since the epoch. */
export function createPastProblems(now: () => number): PastProblems {
  const held = new Map<string, { problem: ClusterProblem; at: number }>()
  return {
    look: (pod) => {
      const { creationTimestamp, deletionTimestamp } = pod.metadata ?? {}
      const at = now()
      const problem = findPodProblems([pod], at).find(({ code }) => LASTING.has(code))
      if (problem) held.set(problem.code, { problem, at })
      if (pod.status?.phase !== 'Running' || deletionTimestamp !== undefined) return
      // Creations are dated in seconds.
      const madeAt = (creationTimestamp === undefined ? 0 : Date.parse(creationTimestamp)) + 999
      for (const [code, { at: seenAt }] of held) if (madeAt >= seenAt) held.delete(code)
    },
    list: () => {
      for (const [code, { at }] of held) if (now() - at > KEEP_MS) held.delete(code)
      return [...held.values()].map(({ problem }) => problem)
    },
  }
}

/** Those for which a start is given up at once. */
const LASTING = new Set(['kubernetes_image', 'kubernetes_container'])
const KEEP_MS = 600_000
