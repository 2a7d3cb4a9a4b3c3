import { isKubeError, unreachableError } from './errors.ts'
import type { FollowedSource, FollowedView, Follower, ObjectPage } from './follow.ts'
import type { KubeCall, KubeRequests } from './requests.ts'

/** An object of one of our kinds, as the API server has validated it against the schema of its kind. */
export interface KubeObject {
  metadata: { name: string; uid: string; resourceVersion: string }
  spec?: Record<string, unknown>
  status?: Record<string, unknown>
}

/** Calls for the objects of one of our kinds in the agent's namespace. Every failure is a KubeError. */
export interface KubeObjects {
  /** Fails with reason `exists` if there is one of that name, which an earlier attempt may have made whose answer was lost. */
  create(name: string, spec: Record<string, unknown>): Promise<KubeObject>
  /** Returns null if there is no such object. */
  get(name: string): Promise<KubeObject | null>
  /** Applies a JSON merge patch, or patches only the status if `part` says so. Returns null if there is no such object. */
  patch(name: string, patch: object, part?: 'status'): Promise<KubeObject | null>
  /** Lists the objects that a field selector chooses, page by page, in their current state. */
  list(fieldSelector: string): AsyncIterable<KubeObject[]>
  /** Deletes an object if it is unchanged since it was read, else fails with reason `conflict`. Succeeds if it is gone. */
  delete(object: KubeObject): Promise<void>
  /** Creates a follower that keeps `view` in step. Call its `start`. */
  follow(view: FollowedView<KubeObject>): Follower
}

/** Settings of the calls of a kind. */
export interface ObjectCallsSettings {
  requests: KubeRequests
  namespace: string
  /** Its plural is the kind in lower case with an `s`. */
  kind: string
  follow(source: FollowedSource<KubeObject>, view: FollowedView<KubeObject>, what: string): Follower
}

/** Creates the calls for a kind of the group `boxyard.dev`. */
export function createObjectCalls({ requests, namespace, kind, follow }: ObjectCallsSettings): KubeObjects {
  const plural = `${kind.toLowerCase()}s`
  const base = `/apis/${GROUP_VERSION}/namespaces/${encodeURIComponent(namespace)}/${plural}`
  const pathOf = (name: string): string => `${base}/${encodeURIComponent(name)}`
  const call = { resource: plural, namespace }
  return {
    create: async (name, spec) => {
      const body = { apiVersion: GROUP_VERSION, kind, metadata: { name, namespace }, spec }
      return decodeObject(await requests.send({ ...call, verb: 'create', path: base, query: STRICT, body }))
    },
    get: (name) => orNull(async () => decodeObject(await requests.send({ ...call, verb: 'get', path: pathOf(name) }))),
    patch: (name, patch, part) =>
      orNull(async () => {
        const [path, resource] = part ? [`${pathOf(name)}/${part}`, `${plural}/${part}`] : [pathOf(name), plural]
        const sent = {
          ...call,
          verb: 'patch',
          path,
          resource,
          query: STRICT,
          contentType: MERGE_PATCH,
          body: patch,
        } as const
        return decodeObject(await requests.send(sent))
      }),
    list: async function* (fieldSelector) {
      const source = objectSource<KubeObject>(requests, { ...call, path: base }, { limit: PAGE_OBJECTS, fieldSelector })
      for await (const { items } of source.pages()) yield items
    },
    delete: async ({ metadata: { name, uid, resourceVersion } }) => {
      const body = { preconditions: { uid, resourceVersion } }
      await orNull(() => requests.send({ ...call, verb: 'delete', path: pathOf(name), body }))
    },
    follow: (view) => {
      const source = objectSource<KubeObject>(requests, { ...call, path: base }, { limit: PAGE_OBJECTS })
      const latestVersion = async (): Promise<string> => {
        const answer = await requests.send({ ...call, verb: 'list', path: base, query: { limit: '1' } })
        return decodeList(answer).version
      }
      return follow({ ...source, latestVersion }, view, plural)
    },
  }
}

/** Creates the calls that follow the objects of a collection. `query` is part of each list. */
export function objectSource<T>(
  requests: KubeRequests,
  call: Pick<KubeCall, 'resource' | 'namespace' | 'path'>,
  { limit, ...selector }: { limit?: string; labelSelector?: string; fieldSelector?: string },
): FollowedSource<T> {
  return {
    pages: async function* (): AsyncGenerator<ObjectPage<T>> {
      const query = { ...selector, ...(limit === undefined ? {} : { limit }) }
      let rest = ''
      for (let pages = 0; pages < PAGES_MAX; pages++) {
        // The server has answered once it has sent a page. A later page that fails costs the whole list, so it gets more time.
        const part = rest === '' ? { query } : { query: { ...query, continue: rest }, deadlineMs: NEXT_PAGE_MS }
        const page = decodeList<T>(await requests.send({ ...call, verb: 'list', ...part }))
        yield page
        rest = page.rest
        if (rest === '') return
      }
      throw unreachableError(`sends a list of ${call.resource} in more than ${PAGES_MAX} pages`, null)
    },
    open: (version, signal) => {
      // The server sends a bookmark about every minute. Without them a dead connection would look like a quiet one.
      const query = { ...selector, watch: 'true', allowWatchBookmarks: 'true', resourceVersion: version }
      return requests.open({ ...call, verb: 'watch', query }, { signal, silenceMs: SILENCE_MS })
    },
    decode: decodeObject<T>,
    onLoss: (listener) => requests.onLoss(listener),
    onRecovery: (listener) => requests.onRecovery(listener),
  }
}

/** Returns null instead of a failure with reason `missing`. */
export async function orNull<T>(send: () => Promise<T>): Promise<T | null> {
  try {
    return await send()
  } catch (error) {
    if (isKubeError(error, 'missing')) return null
    throw error
  }
}

/**
 * Returns an API object as sent (dates are strings), without large fields that the agent does not use. Does not check that it has the
 * shape of `T`, but relies on the server's own validation.
 */
export function decodeObject<T>(value: unknown): T {
  const { metadata, status } = (value ?? {}) as { metadata?: Record<string, unknown>; status?: Record<string, unknown> }
  // `managedFields` are half of an object. A node has many images.
  delete metadata?.['managedFields']
  delete status?.['images']
  return value as T
}

/** Returns the items of a list, its resourceVersion, and the token of its next page, which is empty after the last. */
export function decodeList<T>(value: unknown): ObjectPage<T> & { rest: string } {
  const { items, metadata } = (value ?? {}) as {
    items?: unknown[]
    metadata?: { resourceVersion?: string; continue?: string }
  }
  return {
    items: (items ?? []).map((item) => decodeObject<T>(item)),
    version: metadata?.resourceVersion ?? '',
    rest: metadata?.continue ?? '',
  }
}

/** Makes unknown fields an error. A policy rule that lost its `from` would allow all traffic. */
export const STRICT = { fieldValidation: 'Strict' }
export const MERGE_PATCH = 'application/merge-patch+json'
const GROUP_VERSION = 'boxyard.dev/v1alpha1'
/** A page of about 2 MB. With pages of 500, as kubectl has, the server takes twice the CPU time for 100,000 objects. */
const PAGE_OBJECTS = '2000'
const NEXT_PAGE_MS = 30_000
/** A million objects. A longer list is treated as endless. */
const PAGES_MAX = 500
const SILENCE_MS = 150_000
