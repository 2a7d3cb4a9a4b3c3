import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Node, Pod } from 'kubernetes-types/core/v1.d.ts'
import type { NetworkPolicy } from 'kubernetes-types/networking/v1.d.ts'
import type { Logger } from '../../../shared/log.ts'
import { openKubeCredentials } from './credentials.ts'
import { isKubeError, type KubeFault } from './errors.ts'
import { type KubeCall, KubeRequests } from './requests.ts'
import { createPodWatch, type PodWatch } from './watch.ts'

/** What the agent needs of the Kubernetes API. Every failure is a KubeError. */
export interface KubeApi {
  readonly namespace: string
  pods: {
    /** Fails with reason `exists` if the name is another pod's; of an attempt that went through unseen, the pod is given. */
    create(pod: Pod): Promise<Pod>
    /** Null if there is none. */
    get(name: string): Promise<Pod | null>
    list(labelSelector: string): Promise<Pod[]>
    /** Succeeds if it is gone; with `uid` only that very pod is deleted. The pod's own grace period if none is given. */
    delete(name: string, options: { uid?: string; graceSeconds?: number }): Promise<void>
    /** A JSON merge patch; conflicts are tried again where it names no version. */
    patch(name: string, patch: object): Promise<Pod>
    /** A strategic merge patch of the resources of containers, which it knows by name. */
    resize(name: string, patch: object): Promise<Pod>
    /** A view that follows the pods of a selector; it has not begun. */
    watch(labelSelector: string): PodWatch
  }
  /** Fails unless the agent may create and delete pods: then the server is there, too, and takes the credentials. */
  checkAllowed(): Promise<void>
  networkPolicies: {
    /** Makes it so, whether it was there or not. */
    apply(policy: NetworkPolicy): Promise<void>
    /** Succeeds if there is none. */
    delete(name: string): Promise<void>
    list(labelSelector: string): Promise<NetworkPolicy[]>
  }
  /** Without their images. */
  nodes(options?: { deadlineMs: number }): Promise<Node[]>
  /** How many pods run on a node, whosever they are. */
  countPods(node: string, options: { deadlineMs: number }): Promise<number>
  /** How many requests have been sent; a watch counts one each time it opens. */
  requestCount(): number
  /** Causes of failed calls that nothing has shown to be mended. */
  faults(): KubeFault[]
  /** Ends the watches too. */
  close(): void
}

export interface KubeApiSettings {
  /** Path of the kubeconfig file; it is read again when it changes. */
  kubeconfig: string
  /** Where the pods of boxes are. */
  namespace: string
  logger: Logger
  /** Milliseconds since the epoch. */
  now(): number
  /** What a watch waits between attempts; 1 to 10 s if left out. */
  watchWaitMs?: { min: number; max: number }
}

/**
 * The API of the cluster that the kubeconfig names. It need not answer yet.
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
      const mark = randomUUID()
      const body = withMark(pod, mark)
      try {
        return decodeObject<Pod>(await requests.send({ ...pods, verb: 'create', path: base, query: STRICT, body }))
      } catch (error) {
        if (!isKubeError(error, 'exists')) throw error
        // An attempt whose answer was lost may have made it: the mark is ours alone.
        const existing = await get(pod.metadata?.name ?? '')
        if (existing?.metadata?.annotations?.[MARK] === mark) return existing
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

/** Asks for the metadata alone: what is in the pods of others is not for the agent. */
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

function withMark(pod: Pod, mark: string): Pod {
  const metadata = { ...pod.metadata, annotations: { ...pod.metadata?.annotations, [MARK]: mark } }
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
 * An object of the API as it is sent (dates are text), without what is long and of no use here. What is of another shape than
 * `T` is not noticed: the server's own validation stands for that.
 */
function decodeObject<T>(value: unknown): T {
  const { metadata, status } = (value ?? {}) as { metadata?: Record<string, unknown>; status?: Record<string, unknown> }
  // `managedFields` are the half of an object; the images of a node are many.
  delete metadata?.['managedFields']
  delete status?.['images']
  return value as T
}

/** The items of a list, and its version. */
function decodeList<T>(value: unknown): { items: T[]; version: string } {
  const { items, metadata } = (value ?? {}) as { items?: unknown[]; metadata?: { resourceVersion?: string } }
  return { items: (items ?? []).map((item) => decodeObject<T>(item)), version: metadata?.resourceVersion ?? '' }
}

/**
 * Set by each creation: tells a pod that it made from one that was there. Not of `boxyard.dev/`: what bears that says what
 * a box is, and is passed on to the node's runtime.
 */
const MARK = 'client.boxyard.dev/creation'
/** A field that the server does not know is an error: a rule without its `from` would let everybody in. */
const STRICT = { fieldValidation: 'Strict' }
const METADATA_LIST = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1'
const CHANGES = ['create', 'delete'] as const
const WATCH_WAIT_MS = { min: 1_000, max: 10_000 }
const SILENCE_MS = 150_000
const CONFLICTS_MAX = 8
const CONFLICT_MS = 40
