import type { KubeApi } from '../../lib/kube/api.ts'
import { ANNOTATION_INSTANCE, LABEL_MAKER, LABEL_WARM } from './spec.ts'

/** Deletes all warm pods of an instance, with those that it made for a fleet and no box has. */
export async function removeWarmPods(api: KubeApi, instanceId: string): Promise<void> {
  for (const name of await listWarmPodNames(api, instanceId)) await removeWarmPod(api, name)
  for (const { metadata } of await api.pods.list(sharedPodsOf(instanceId)))
    await removeWarmPod(api, metadata?.name ?? '')
}

/** Returns the selector of the warm pods that an instance made for its fleet, and no box has yet. */
export function sharedPodsOf(instanceId: string): string {
  return `${LABEL_MAKER}=${instanceId},${LABEL_WARM}=true`
}

/** Deletes the policies of an instance's projects. */
export async function removePolicies(api: KubeApi, instanceId: string): Promise<void> {
  const mark = `${ANNOTATION_INSTANCE}=${instanceId}`
  for (const { metadata } of await api.networkPolicies.list(mark))
    await api.networkPolicies.delete(metadata?.name ?? '')
}

/** Lists the names of the warm pods that an instance has ready, or makes for itself. */
export async function listWarmPodNames(api: KubeApi, instanceId: string): Promise<string[]> {
  const pods = await api.pods.list(`${ANNOTATION_INSTANCE}=${instanceId},${LABEL_WARM}=true`)
  return pods.map(({ metadata }) => metadata?.name ?? '')
}

/** Deletes a warm pod. Succeeds if it is gone. */
export function removeWarmPod(api: KubeApi, name: string): Promise<void> {
  return api.pods.delete(name, { graceSeconds: 1 })
}
