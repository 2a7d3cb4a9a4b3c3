import { setTimeout as sleep } from 'node:timers/promises'
import type { Pod } from 'kubernetes-types/core/v1.d.ts'
import type { Logger } from '../../../shared/log.ts'
import type { BoxLimits } from '../../ports/boxes/runtime.ts'
import { actualLimits, podLimits } from './spec.ts'

/**
 * Tells the cluster the limits of pods, which bind already: the agent of the node has set them. The kubelet sets what it is
 * told once more, a second later or so; figures that are newer by then would be set back for a while. So it is told only
 * one change of a pod at a time, the latest, and who wants another waits until it has set that one.
 */
export interface PodLimits {
  /** Resolves once nothing that the kubelet was told of the pod is still on its way, or after 5 s. */
  settled(name: string): Promise<void>
  /** The cluster is told soon, and as often as it takes while the pod is there. */
  tell(name: string, limits: BoxLimits): void
}

export interface PodLimitsOptions {
  resize(name: string, limits: BoxLimits): Promise<unknown>
  /** The pod as it was last seen; null if it is gone, or being deleted. */
  see(name: string): Pod | null
  logger: Logger
}

export function createPodLimits(options: PodLimitsOptions): PodLimits {
  const entries = new Map<string, Entry>()
  return {
    settled: async (name) => entries.get(name)?.telling,
    tell: (name, limits) => {
      const entry = entries.get(name)
      if (entry !== undefined) {
        entry.wanted = limits
        return
      }
      const begun: Entry = { wanted: limits, telling: undefined }
      entries.set(name, begun)
      void follow(options, { name, entry: begun, end: () => entries.delete(name) })
    },
  }
}

interface Entry {
  wanted: BoxLimits
  telling: Promise<void> | undefined
}

interface Following {
  name: string
  entry: Entry
  /** Called at once when nothing is left to tell, so that no later wish is lost. */
  end(): void
}

// Changes that come close together are one.
async function follow(options: PodLimitsOptions, { name, entry, end }: Following): Promise<void> {
  await sleep(GATHER_MS, undefined, { ref: false })
  let told: BoxLimits | null = null
  for (;;) {
    const pod = options.see(name)
    const known = told ?? (pod === null ? null : podLimits(pod))
    if (pod === null || isSame(known, entry.wanted)) return end()
    const limits = entry.wanted
    try {
      const telling = tellOnce(options, name, limits)
      // Who waits for it need not know how it went.
      entry.telling = telling.catch(() => undefined)
      await telling
      told = limits
    } catch (error) {
      options.logger.warn('a pod could not be told its limits', { pod: name, error })
      await sleep(RETRY_MS, undefined, { ref: false })
    }
  }
}

async function tellOnce({ resize, see }: PodLimitsOptions, name: string, limits: BoxLimits): Promise<void> {
  await resize(name, limits)
  const deadline = performance.now() + SET_MS
  while (performance.now() < deadline) {
    const pod = see(name)
    if (pod === null || isSame(actualLimits(pod), limits)) return
    await sleep(PAUSE_MS, undefined, { ref: false })
  }
}

function isSame(one: BoxLimits | null, other: BoxLimits): boolean {
  return one?.cpus === other.cpus && one.ramMb === other.ramMb
}

const GATHER_MS = 200
const RETRY_MS = 5_000
const SET_MS = 5_000
const PAUSE_MS = 20
