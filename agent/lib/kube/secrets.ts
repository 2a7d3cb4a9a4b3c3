import { isKubeError } from './errors.ts'
import type { FollowedSource, FollowedView, Follower } from './follow.ts'
import { decodeObject, MERGE_PATCH, objectSource, orNull } from './objects.ts'
import type { KubeRequests } from './requests.ts'

/** A Secret, as the API server has it. */
export interface StoredSecret {
  /** Values by key, as text. */
  data: Record<string, string>
  version: string
}

/** Calls for one Secret. Every failure is a KubeError. */
export interface KubeSecret {
  /** Returns null if there is no Secret of that name. */
  read(): Promise<StoredSecret | null>
  /** Sets values of the Secret if it is still as it was read. Returns false if it has changed. */
  replace(read: StoredSecret, data: Record<string, string>): Promise<boolean>
  /** Creates a follower that calls `listener` when the Secret may have changed. Call its `start`. */
  follow(listener: () => void): Follower
}

/** Settings of the calls of a Secret. */
export interface SecretCallsSettings {
  requests: KubeRequests
  namespace: string
  name: string
  follow(source: FollowedSource<RawSecret>, view: FollowedView<RawSecret>, what: string): Follower
}

interface RawSecret {
  metadata: { name: string; resourceVersion: string }
  /** Values by key, in base64. */
  data?: Record<string, string>
}

/** Creates the calls for a Secret. */
export function createSecretCalls({ requests, namespace, name, follow }: SecretCallsSettings): KubeSecret {
  const base = `/api/v1/namespaces/${encodeURIComponent(namespace)}/secrets`
  const call = { resource: 'secrets', namespace, path: `${base}/${encodeURIComponent(name)}` }
  return {
    read: () => orNull(async () => decodeSecret(await requests.send({ ...call, verb: 'get' }))),
    replace: async ({ version }, data) => {
      const encoded = mapValues(data, (text) => Buffer.from(text).toString('base64'))
      const body = { metadata: { resourceVersion: version }, data: encoded }
      try {
        await requests.send({ ...call, verb: 'patch', contentType: MERGE_PATCH, body })
        return true
      } catch (error) {
        if (isKubeError(error, 'conflict')) return false
        throw error
      }
    },
    follow: (listener) => {
      // The account is allowed to list and watch only this one.
      const selector = { fieldSelector: `metadata.name=${name}` }
      const source = objectSource<RawSecret>(requests, { ...call, path: base }, selector)
      return follow(source, viewFor(listener), `secret ${name}`)
    },
  }
}

function decodeSecret(answer: unknown): StoredSecret {
  const { metadata, data = {} } = decodeObject<RawSecret>(answer)
  const decoded = mapValues(data, (text) => Buffer.from(text, 'base64').toString('utf8'))
  return { data: decoded, version: metadata.resourceVersion }
}

function mapValues(values: Readonly<Record<string, string>>, map: (text: string) => string): Record<string, string> {
  const mapped: Record<string, string> = {}
  for (const [key, text] of Object.entries(values)) mapped[key] = map(text)
  return mapped
}

function viewFor(listener: () => void): FollowedView<RawSecret> {
  return {
    replaceAll: async (pages) => {
      let listVersion = ''
      for await (const { version } of pages) listVersion = version
      listener()
      return listVersion
    },
    put: listener,
    drop: listener,
  }
}
