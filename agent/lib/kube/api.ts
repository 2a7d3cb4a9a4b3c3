import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Node, Pod } from 'kubernetes-types/core/v1.d.ts'
import type { NetworkPolicy } from 'kubernetes-types/networking/v1.d.ts'
import type { Logger } from '../../../shared/log.ts'
import { openKubeCredentials } from './credentials.ts'
import { isKubeError, type KubeFault } from './errors.ts'
import { createFollower, type FollowedSource, type FollowedView, type Follower, type Versioned } from './follow.ts'
import {
  createObjectCalls,
  decodeList,
  decodeObject,
  type KubeObjects,
  MERGE_PATCH,
  objectSource,
  orNull,
  STRICT,
} from './objects.ts'
import { type KubeCall, KubeRequests } from './requests.ts'
import { createSecretCalls, type KubeSecret } from './secrets.ts'
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
    /**
     * Succeeds if the pod is gone. `uid` restricts it to that pod, and `version` to that state of it. If the pod has changed since, it
     * succeeds and deletes nothing. The default grace period is the pod's own.
     */
    delete(name: string, options: { uid?: string; version?: string; graceSeconds?: number }): Promise<void>
    /** Applies a JSON merge patch. Retries conflicts unless the patch has a resourceVersion. */
    patch(name: string, patch: object): Promise<Pod>
    /** Applies a strategic merge patch to the resources of containers, matched by name. */
    resize(name: string, patch: object): Promise<Pod>
    /** Creates a watch of the pods of a selector. Call its `start`. */
    watch(labelSelector: string): PodWatch
  }
  /** Creates the calls for the objects of a kind of the group `boxyard.dev`. */
  objects(kind: 'Home' | 'Agent' | 'Base' | 'Domain' | 'Token' | 'Revocation'): KubeObjects
  /** Creates the calls for a Secret, which may be in another namespace than the agent's. */
  secret(at: { namespace: string; name: string }): KubeSecret
  /** Fails unless the server answers, accepts the credentials and lets the agent create and delete pods. */
  checkAllowed(): Promise<void>
  networkPolicies: {
    /** Creates or replaces the policy by server-side apply. */
    apply(policy: NetworkPolicy): Promise<void>
    /** Succeeds if there is no such policy. */
    delete(name: string): Promise<void>
    list(labelSelector: string): Promise<NetworkPolicy[]>
  }
  /** Lists the nodes, or the one of a name, without their images. */
  nodes(options?: { deadlineMs?: number; name?: string }): Promise<Node[]>
  /** Adds to the data of a ConfigMap, by a merge patch. Fails with reason `missing` if there is none of that name. */
  addToConfigMap(at: { namespace: string; name: string }, data: Record<string, string>): Promise<void>
  /** Counts all running pods of a node, in any namespace. */
  countPods(node: string, options: { deadlineMs: number }): Promise<number>
  /** Returns the number of requests sent. Each opening of a watch counts as one. */
  requestCount(): number
  /** Returns the causes of failed calls that no later success has disproved. */
  faults(): KubeFault[]
  /** Aborts all requests and watches. */
  close(): void
}

export interface KubeApiSettings {
  /** Path of the kubeconfig file. It is read again when it changes. */
  kubeconfig: string
  /** Namespace of the pods of boxes. */
  namespace: string
  logger: Logger
  /** Milliseconds since the epoch. */
  now(): number
  /** Wait between a watch's attempts. Default 1 to 10 s. */
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
  const followers: Follower[] = []
  const watchSettings = { logger, now, waitMs: settings.watchWaitMs ?? WATCH_WAIT_MS }
  const follow = <T extends Versioned>(source: FollowedSource<T>, view: FollowedView<T>, what: string): Follower => {
    const follower = createFollower(source, view, { ...watchSettings, what })
    followers.push(follower)
    return follower
  }
  return {
    namespace,
    pods: {
      ...createPodCalls(parts),
      watch: (labelSelector) => {
        const source = objectSource<Pod>(requests, podsOf(namespace), { labelSelector })
        return createPodWatch((view) => follow(source, view, 'pods'), logger)
      },
    },
    objects: (kind) => createObjectCalls({ ...parts, kind, follow }),
    secret: (at) => createSecretCalls({ ...at, requests, follow }),
    checkAllowed: () => requests.checkAllowed(CHANGES.map((verb) => ({ verb, resource: 'pods', namespace }))),
    networkPolicies: createPolicyCalls(parts),
    nodes: async ({ name, ...options } = {}) => {
      const query = name === undefined ? {} : { query: { fieldSelector: `metadata.name=${name}` } }
      const nodes = { resource: 'nodes', namespace: null, path: '/api/v1/nodes' }
      return decodeList<Node>(await requests.send({ verb: 'list', ...nodes, ...query, ...options })).items
    },
    addToConfigMap: async ({ namespace, name }, data) => {
      const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/configmaps/${encodeURIComponent(name)}`
      const call = { resource: 'configmaps', namespace, path, contentType: MERGE_PATCH }
      await requests.send({ verb: 'patch', ...call, body: { data } })
    },
    countPods: (node, options) => countPods(requests, node, options),
    requestCount: () => requests.requestCount(),
    faults: () => requests.faults(),
    close: () => {
      for (const follower of followers) follower.close()
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
  const { path: base, ...pods } = podsOf(namespace)
  const pathOf = (name: string): string => `${base}/${encodeURIComponent(name)}`
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
        // An attempt whose answer was lost may have created it, so compare the creation id.
        const existing = await get(pod.metadata?.name ?? '')
        if (existing?.metadata?.annotations?.[CREATION_ANNOTATION] === creationId) return existing
        throw error
      }
    },
    get,
    list: async (labelSelector) =>
      decodeList<Pod>(await requests.send({ ...pods, verb: 'list', path: base, query: { labelSelector } })).items,
    delete: async (name, { uid, version, graceSeconds }) => {
      const conditions = { ...(uid && { uid }), ...(version && { resourceVersion: version }) }
      const body = {
        ...(graceSeconds === undefined ? {} : { gracePeriodSeconds: graceSeconds }),
        ...(Object.keys(conditions).length === 0 ? {} : { preconditions: conditions }),
      }
      await orNull(() =>
        retryConflicts(async () => {
          try {
            await requests.send({ ...pods, verb: 'delete', path: pathOf(name), body })
          } catch (error) {
            if (isKubeError(error, 'conflict') && version !== undefined) return
            if (!isKubeError(error, 'conflict') || uid === undefined) throw error
            if ((await get(name))?.metadata?.uid === uid) throw error
          }
        }),
      )
    },
    patch: (name, patch) => patchWith({ resource: 'pods', path: pathOf(name), contentType: MERGE_PATCH }, patch),
    resize: (name, patch) => {
      const path = `${pathOf(name)}/resize`
      return patchWith({ resource: 'pods/resize', path, contentType: 'application/strategic-merge-patch+json' }, patch)
    },
  }
}

function podsOf(namespace: string): Pick<KubeCall, 'resource' | 'path'> & { namespace: string } {
  return { resource: 'pods', namespace, path: `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods` }
}

/**
 * Requests the rows that kubectl prints, since the agent must not read the pods of others. A pod can have 256 KiB of annotations and 1
 * MiB more. Reading all pods of a node would also block the agent.
 */
async function countPods(requests: KubeRequests, node: string, options: { deadlineMs: number }): Promise<number> {
  const query = { fieldSelector: `spec.nodeName=${node},status.phase=Running`, includeObject: 'None' }
  const call: KubeCall = { verb: 'list', resource: 'pods', namespace: null, path: '/api/v1/pods', query, ...options }
  const { rows } = ((await requests.send({ ...call, accept: TABLE })) ?? {}) as { rows?: unknown[] }
  return rows?.length ?? 0
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
 * Annotation with the id of the creation, which identifies a pod that this call made. Not below `boxyard.dev/`, since annotations
 * there describe a box and are passed on to the node's runtime.
 */
const CREATION_ANNOTATION = 'client.boxyard.dev/creation'
const TABLE = 'application/json;as=Table;g=meta.k8s.io;v=v1'
const CHANGES = ['create', 'delete'] as const
const WATCH_WAIT_MS = { min: 1_000, max: 10_000 }
const CONFLICTS_MAX = 8
const CONFLICT_MS = 40
