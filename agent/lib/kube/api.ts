import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Node, Pod } from 'kubernetes-types/core/v1.d.ts'
import type { NetworkPolicy } from 'kubernetes-types/networking/v1.d.ts'
import type { Logger } from '../../../shared/log.ts'
import { openKubeCredentials } from './credentials.ts'
import { isKubeError, type KubeFault } from './errors.ts'
import { type KubeCall, KubeRequests } from './requests.ts'
import { createPodWatch, type PodWatch } from './watch.ts'

/** The part of the Kubernetes API that the agent uses. Every failure is a KubeError. */
export interface KubeApi {
  readonly namespace: string
  pods: {
    /** Fails with reason `exists` if another pod has the name. Returns the pod if an earlier attempt, whose answer was lost, made it. */
    create(pod: Pod): Promise<Pod>
    /** Returns null if there is no such pod. */
    get(name: string): Promise<Pod | null>
    list(labelSelector: string): Promise<Pod[]>
    /** Succeeds if the pod is gone; `uid` restricts it to that pod. The default grace period is the pod's own. */
    delete(name: string, options: { uid?: string; graceSeconds?: number }): Promise<void>
    /** Applies a JSON merge patch; retries conflicts unless the patch has a resourceVersion. */
    patch(name: string, patch: object): Promise<Pod>
    /** Applies a strategic merge patch to the resources of containers, matched by name. */
    resize(name: string, patch: object): Promise<Pod>
    /** Creates a watch of the pods of a selector; call its `start`. */
    watch(labelSelector: string): PodWatch
  }
  /** Fails unless the server answers, accepts the credentials and lets the agent create and delete pods. */
  checkAllowed(): Promise<void>
  networkPolicies: {
    /** Creates or replaces the policy by server-side apply. */
    apply(policy: NetworkPolicy): Promise<void>
    /** Succeeds if there is no such policy. */
    delete(name: string): Promise<void>
    list(labelSelector: string): Promise<NetworkPolicy[]>
  }
  /** Lists the nodes, without their images. */
  nodes(options?: { deadlineMs: number }): Promise<Node[]>
  /** Counts all running pods of a node, in any namespace. */
  countPods(node: string, options: { deadlineMs: number }): Promise<number>
  /** Returns the number of requests sent; each opening of a watch counts as one. */
  requestCount(): number
  /** Returns the causes of failed calls that no later success has disproved. */
  faults(): KubeFault[]
  /** Aborts all requests and watches. */
  close(): void
}

export interface KubeApiSettings {
  /** Path of the kubeconfig file; it is read again when it changes. */
  kubeconfig: string
  /** Namespace of the pods of boxes. */
  namespace: string
  logger: Logger
  /** Milliseconds since the epoch. */
  now(): number
  /** Wait between a watch's attempts; default 1 to 10 s. */
  watchWaitMs?: { min: number; max: number }
}

/**
 * Opens the API of the cluster in the kubeconfig. The server need not answer yet.
 * @throws ServiceError `runtime_unavailable` for a kubeconfig that cannot be used
 */
export async function openKubeApi(settings: KubeApiSettings): Promise<KubeApi> {
  const { kubeconfig, namespace, logger, now } = settings
  const credentials = await openKubeCredentials(kubeconfig, logger)
  const requests = new KubeRequests(credentials, now)
  const parts = { requests, namespace }
  const watches: PodWatch[] = []
  const watchSettings = { logger, now, waitMs: settings.watchWaitMs ?? WATCH_WAIT_MS }
  return {
    namespace,
    pods: {
      ...createPodCalls(parts),
      watch: (labelSelector) => {
        const watch = createPodWatch({ ...watchSettings, source: podSource(parts, labelSelector) })
        watches.push(watch)
        return watch
      },
    },
    checkAllowed: () => requests.checkAllowed(CHANGES.map((verb) => ({ verb, resource: 'pods', namespace }))),
    networkPolicies: createPolicyCalls(parts),
    nodes: async (options) => {
      const call: KubeCall = { verb: 'list', resource: 'nodes', namespace: null, path: '/api/v1/nodes', ...options }
      return decodeList<Node>(await requests.send(call)).items
    },
    countPods: (node, options) => countPods(requests, node, options),
    requestCount: () => requests.requestCount(),
    faults: () => requests.faults(),
    close: () => {
      for (const watch of watches) watch.close()
      requests.close()
    },
  }
}

interface Parts {
  requests: KubeRequests
  namespace: string
}

function createPodCalls(parts: Parts): Omit<KubeApi['pods'], 'watch'> {
  const { requests, namespace } = parts
  const base = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`
  const pathOf = (name: string): string => `${base}/${encodeURIComponent(name)}`
  const pods = { resource: 'pods', namespace }
  const get = (name: string): Promise<Pod | null> =>
    orNull(async () => decodeObject<Pod>(await requests.send({ ...pods, verb: 'get', path: pathOf(name) })))
  const patchWith = async (call: Pick<KubeCall, 'resource' | 'path' | 'contentType'>, patch: object): Promise<Pod> => {
    const send = () => requests.send({ namespace, verb: 'patch', body: patch, ...call })
    return decodeObject<Pod>(await (namesVersion(patch) ? send() : retryConflicts(send)))
  }
  return {
    create: async (pod) => {
      const creationId = randomUUID()
      const body = withCreationId(pod, creationId)
      try {
        return decodeObject<Pod>(await requests.send({ ...pods, verb: 'create', path: base, query: STRICT, body }))
      } catch (error) {
        if (!isKubeError(error, 'exists')) throw error
        // An attempt whose answer was lost may have created it: compare the creation id.
        const existing = await get(pod.metadata?.name ?? '')
        if (existing?.metadata?.annotations?.[CREATION_ANNOTATION] === creationId) return existing
        throw error
      }
    },
    get,
    list: async (labelSelector) =>
      decodeList<Pod>(await requests.send({ ...pods, verb: 'list', path: base, query: { labelSelector } })).items,
    delete: async (name, { uid, graceSeconds }) => {
      const body = {
        ...(graceSeconds === undefined ? {} : { gracePeriodSeconds: graceSeconds }),
        ...(uid === undefined ? {} : { preconditions: { uid } }),
      }
      await orNull(() =>
        retryConflicts(async () => {
          try {
            await requests.send({ ...pods, verb: 'delete', path: pathOf(name), body })
          } catch (error) {
            if (!isKubeError(error, 'conflict') || uid === undefined) throw error
            if ((await get(name))?.metadata?.uid === uid) throw error
          }
        }),
      )
    },
    patch: (name, patch) =>
      patchWith({ resource: 'pods', path: pathOf(name), contentType: 'application/merge-patch+json' }, patch),
    resize: (name, patch) => {
      const path = `${pathOf(name)}/resize`
      return patchWith({ resource: 'pods/resize', path, contentType: 'application/strategic-merge-patch+json' }, patch)
    },
  }
}

/** Requests only metadata, since the agent must not read the pods of others. */
async function countPods(requests: KubeRequests, node: string, options: { deadlineMs: number }): Promise<number> {
  const query = { fieldSelector: `spec.nodeName=${node},status.phase=Running` }
  const call: KubeCall = { verb: 'list', resource: 'pods', namespace: null, path: '/api/v1/pods', query, ...options }
  const { items } = ((await requests.send({ ...call, accept: METADATA_LIST })) ?? {}) as { items?: unknown[] }
  return items?.length ?? 0
}

function podSource({ requests, namespace }: Parts, labelSelector: string) {
  const call = { resource: 'pods', namespace, path: `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods` }
  return {
    list: async () => {
      const answer = await requests.send({ ...call, verb: 'list', query: { labelSelector } })
      const { items, version } = decodeList<Pod>(answer)
      return { pods: items, version }
    },
    open: (version: string, signal: AbortSignal) => {
      // The server sends a bookmark about every minute: without them a dead connection would look like a quiet one.
      const query = { labelSelector, watch: 'true', allowWatchBookmarks: 'true', resourceVersion: version }
      return requests.open({ ...call, verb: 'watch', query }, { signal, silenceMs: SILENCE_MS })
    },
    decode: decodeObject<Pod>,
    onLoss: (listener: () => void) => requests.onLoss(listener),
    onRecovery: (listener: () => void) => requests.onRecovery(listener),
  }
}

function createPolicyCalls({ requests, namespace }: Parts): KubeApi['networkPolicies'] {
  const base = `/apis/networking.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/networkpolicies`
  const policies = { resource: 'networkpolicies', namespace }
  const pathOf = (name: string): string => `${base}/${encodeURIComponent(name)}`
  return {
    apply: async (policy) => {
      const body = { ...policy, apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy' }
      await requests.send({
        ...policies,
        verb: 'patch',
        path: pathOf(policy.metadata?.name ?? ''),
        query: { ...STRICT, fieldManager: 'boxyard', force: 'true' },
        contentType: 'application/apply-patch+yaml',
        body,
      })
    },
    delete: async (name) => {
      await orNull(() => requests.send({ ...policies, verb: 'delete', path: pathOf(name) }))
    },
    list: async (labelSelector) => {
      const answer = await requests.send({ ...policies, verb: 'list', path: base, query: { labelSelector } })
      return decodeList<NetworkPolicy>(answer).items
    },
  }
}

function withCreationId(pod: Pod, creationId: string): Pod {
  const metadata = { ...pod.metadata, annotations: { ...pod.metadata?.annotations, [CREATION_ANNOTATION]: creationId } }
  return { ...pod, apiVersion: 'v1', kind: 'Pod', metadata }
}

function namesVersion(patch: object): boolean {
  return (patch as { metadata?: { resourceVersion?: unknown } }).metadata?.resourceVersion !== undefined
}

async function orNull<T>(send: () => Promise<T>): Promise<T | null> {
  try {
    return await send()
  } catch (error) {
    if (isKubeError(error, 'missing')) return null
    throw error
  }
}

async function retryConflicts<T>(send: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await send()
    } catch (error) {
      if (!isKubeError(error, 'conflict') || attempt >= CONFLICTS_MAX) throw error
    }
    await delay(CONFLICT_MS * attempt * Math.random())
  }
}

/**
 * Returns an API object as sent (dates are strings), without large fields that the agent does not use. Does not check that it has
 * the shape of `T`: relies on the server's own validation.
 */
function decodeObject<T>(value: unknown): T {
  const { metadata, status } = (value ?? {}) as { metadata?: Record<string, unknown>; status?: Record<string, unknown> }
  // `managedFields` are half of an object; a node has many images.
  delete metadata?.['managedFields']
  delete status?.['images']
  return value as T
}

/** Returns the items of a list and its resourceVersion. */
function decodeList<T>(value: unknown): { items: T[]; version: string } {
  const { items, metadata } = (value ?? {}) as { items?: unknown[]; metadata?: { resourceVersion?: string } }
  return { items: (items ?? []).map((item) => decodeObject<T>(item)), version: metadata?.resourceVersion ?? '' }
}

/**
 * Annotation with the id of the creation, which identifies a pod that this call made. Not below `boxyard.dev/`, since annotations
 * there describe a box and are passed on to the node's runtime.
 */
const CREATION_ANNOTATION = 'client.boxyard.dev/creation'
/** Makes unknown fields an error: a policy rule that lost its `from` would let in all traffic. */
const STRICT = { fieldValidation: 'Strict' }
const METADATA_LIST = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1'
const CHANGES = ['create', 'delete'] as const
const WATCH_WAIT_MS = { min: 1_000, max: 10_000 }
const SILENCE_MS = 150_000
const CONFLICTS_MAX = 8
const CONFLICT_MS = 40
