import type { V1NetworkPolicy, V1Node, V1Pod } from '@kubernetes/client-node'

interface Models {
  V1Pod: V1Pod
  V1Node: V1Node
  V1NetworkPolicy: V1NetworkPolicy
}

/** From what the API sends to the types of the library, whose dates are dates. */
export interface KubeModels {
  /** Without what is long and of no use here. */
  decode<K extends keyof Models>(kind: K, value: unknown): Models[K]
  /** The items of a list, and its version. */
  decodeList<K extends keyof Models>(kind: K, value: unknown): { items: Models[K][]; version: string }
}

/** Loads the library's tables. */
export async function loadKubeModels(): Promise<KubeModels> {
  // The library does not show its serializer, and its client, which uses it, opens a connection for every request.
  const { ObjectSerializer } = await import('@kubernetes/client-node/dist/gen/models/ObjectSerializer.js')
  const decode = <K extends keyof Models>(kind: K, value: unknown): Models[K] =>
    ObjectSerializer.deserialize(strip(value), kind, '') as Models[K]
  return {
    decode,
    decodeList: <K extends keyof Models>(kind: K, value: unknown) => {
      const { items, metadata } = (value ?? {}) as { items?: unknown[]; metadata?: { resourceVersion?: string } }
      return { items: (items ?? []).map((item) => decode(kind, item)), version: metadata?.resourceVersion ?? '' }
    },
  }
}

/** JSON as the API reads it: a field whose name is a word of JavaScript, such as `from`, is `_from` in the library's types. */
export function encodeKube(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) => {
    if (typeof item !== 'object' || item === null || Array.isArray(item)) return item
    return Object.fromEntries(Object.entries(item).map(([name, field]) => [name.replace(/^_/, ''), field]))
  })
}

/** `managedFields` are the half of an object; the images of a node are many. */
function strip(value: unknown): unknown {
  const { metadata, status } = (value ?? {}) as { metadata?: Record<string, unknown>; status?: Record<string, unknown> }
  delete metadata?.['managedFields']
  delete status?.['images']
  return value
}
