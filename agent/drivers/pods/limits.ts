import { setTimeout as sleep } from 'node:timers/promises'
import type { Pod } from 'kubernetes-types/core/v1.d.ts'
import type { Logger } from '../../../shared/log.ts'
import type { BoxLimits } from '../../ports/boxes/limits.ts'
import { actualLimits, podLimits } from './spec.ts'

/**
 * Publishes to the cluster limits of pods that the agent has already set on the node. The kubelet applies a resize about a second
 * later, and would set back values that are newer by then. So each pod has one resize in flight, always the latest, and the next
 * change waits until the kubelet has applied it.
 */
export interface PodLimits {
  /** Resolves once the kubelet has applied the resize in flight, or after 5 s. */
  settled(name: string): Promise<void>
  /** Resizes the pod after 200 ms, and retries while the pod exists. */
  publish(name: string, limits: BoxLimits): void
}

export interface PodLimitsOptions {
  resize(name: string, limits: BoxLimits): Promise<unknown>
  /** Returns the pod as last observed, or null if it is gone or its deletion has begun. */
  observe(name: string): Pod | null
  logger: Logger
}

export function createPodLimits(options: PodLimitsOptions): PodLimits {
  const entries = new Map<string, Entry>()
  return {
    settled: async (name) => entries.get(name)?.resizing,
    publish: (name, limits) => {
      const entry = entries.get(name)
      if (entry !== undefined) {
        entry.desired = limits
        return
      }
      const created: Entry = { desired: limits, resizing: undefined }
      entries.set(name, created)
      void follow(options, { name, entry: created, end: () => entries.delete(name) })
    },
  }
}

interface Entry {
  desired: BoxLimits
  resizing: Promise<void> | undefined
}

interface Following {
  name: string
  entry: Entry
  /** Called synchronously once nothing is left to send, so that no later change is lost. */
  end(): void
}

// Coalesces changes that come close together.
async function follow(options: PodLimitsOptions, { name, entry, end }: Following): Promise<void> {
  await sleep(DEBOUNCE_MS, undefined, { ref: false })
  let sent: BoxLimits | null = null
  for (;;) {
    const pod = options.observe(name)
    const known = sent ?? (pod === null ? null : podLimits(pod))
    if (pod === null || isSame(known, entry.desired)) return end()
    const limits = entry.desired
    try {
      const resizing = resizeOnce(options, name, limits)
      // `settled` does not report failures.
      entry.resizing = resizing.catch(() => undefined)
      await resizing
      sent = limits
    } catch (error) {
      options.logger.warn('failed to set the limits of a pod', { pod: name, error })
      await sleep(RETRY_MS, undefined, { ref: false })
    }
  }
}

async function resizeOnce({ resize, observe }: PodLimitsOptions, name: string, limits: BoxLimits): Promise<void> {
  await resize(name, limits)
  const deadline = performance.now() + SET_MS
  while (performance.now() < deadline) {
    const pod = observe(name)
    if (pod === null || isSame(actualLimits(pod), limits)) return
    await sleep(PAUSE_MS, undefined, { ref: false })
  }
}

function isSame(one: Pick<BoxLimits, 'cpus' | 'ramMb'> | null, other: BoxLimits): boolean {
  return one?.cpus === other.cpus && one.ramMb === other.ramMb
}

const DEBOUNCE_MS = 200
const RETRY_MS = 5_000
const SET_MS = 5_000
const PAUSE_MS = 20
