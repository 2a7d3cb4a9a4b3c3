import { createInterface } from 'node:readline'
import { request } from 'undici'
import type { KubeAccess } from '../../../agent/lib/kube/credentials.ts'

/** A pod as the API server reports it. */
export interface WatchedPod {
  name: string
  /** True if its containers run, and it is not being deleted. */
  isRunning: boolean
}

/** Pods, followed by one watch that stays open. */
export interface PodView {
  /** Resolves as soon as `isSo` holds for the pods. Throws an error with `what` after two minutes. */
  until(what: string, isSo: (pods: readonly WatchedPod[]) => boolean): Promise<void>
  close(): void
}

/** Watches the pods of a namespace that match a label selector. */
export async function watchPods(access: KubeAccess, namespace: string, labelSelector: string): Promise<PodView> {
  const pods = new Map<string, WatchedPod>()
  const waits = new Set<() => void>()
  const closing = new AbortController()
  const query = new URLSearchParams({ labelSelector, watch: 'true' }).toString()
  const { statusCode, body } = await request(`${access.server}/api/v1/namespaces/${namespace}/pods?${query}`, {
    dispatcher: access.dispatcher,
    headers: access.headers,
    signal: closing.signal,
    bodyTimeout: 0,
  })
  if (statusCode !== 200) throw new Error(`watch of ${namespace}: ${statusCode} ${await body.text()}`)
  const follow = async (): Promise<void> => {
    for await (const line of createInterface({ input: body })) {
      const { type, object } = JSON.parse(line) as PodEvent
      const name = object.metadata.name
      if (type === 'DELETED') pods.delete(name)
      else pods.set(name, { name, isRunning: isRunning(object) })
      for (const look of [...waits]) look()
    }
  }
  // A watch without a resource version begins with the existing pods. If it breaks, waiting callers time out.
  void follow().catch(() => undefined)
  return {
    until: async (what, isSo) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const look = (): void => {
        if (isSo([...pods.values()])) resolve()
      }
      const timer = setTimeout(() => reject(new Error(`${what}: not within ${DEADLINE_MS / 1000} s`)), DEADLINE_MS)
      waits.add(look)
      look()
      await promise.finally(() => {
        waits.delete(look)
        clearTimeout(timer)
      })
    },
    close: () => closing.abort(),
  }
}

interface PodEvent {
  type: string
  object: Pod
}

interface Pod {
  metadata: { name: string; deletionTimestamp?: string }
  status?: { containerStatuses?: { state?: { running?: object } }[] }
}

function isRunning({ metadata, status }: Pod): boolean {
  const states = (status?.containerStatuses ?? []).map(({ state }) => state?.running !== undefined)
  return metadata.deletionTimestamp === undefined && states.length > 0 && states.every(Boolean)
}

const DEADLINE_MS = 120_000
