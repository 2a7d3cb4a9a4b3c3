import { ServiceError } from '../../../shared/errors.ts'
import { isKubeError } from '../../lib/kube/errors.ts'
import type { FollowedView } from '../../lib/kube/follow.ts'
import type { KubeObject, KubeObjects } from '../../lib/kube/objects.ts'
import type { FollowedObject, ObjectIndex } from './object-index.ts'

/** Name of an object, and its name in errors, such as `name "web"`. */
export interface ClaimedName {
  key: string
  called: string
}

/**
 * Objects of a kind that claim names, in the cluster and in the memory of this cell. Each call updates both. Every failure of the cluster
 * is a KubeError.
 */
export interface ClaimedObjects<S> {
  /** Reads who has claimed a name, or returns null for a free name. */
  read(key: string): Promise<S | null>
  /**
   * Creates the object of a name if there is none, and returns the current one. Calls `specOf` for each attempt.
   * @throws ServiceError `runtime_unavailable` if others change it too often
   */
  claim(name: ClaimedName, specOf: () => Record<string, unknown>): Promise<S>
  /**
   * Deletes the object of a name if there is one and `isOwn` accepts it.
   * @throws ServiceError `runtime_unavailable` if others change it too often
   */
  release(name: ClaimedName, isOwn: (stored: S) => boolean): Promise<void>
  /** Keeps the memory in step. */
  view: FollowedView<KubeObject>
}

/** Creates the objects of a kind. `decode` reads one that the API server has validated. */
export function createClaimedObjects<T, S extends FollowedObject<T>>(
  objects: KubeObjects,
  index: ObjectIndex<T>,
  decode: (object: KubeObject) => S,
): ClaimedObjects<S> {
  const note = (object: KubeObject): S => {
    const stored = decode(object)
    index.note(stored)
    return stored
  }
  return {
    read: async (key) => {
      const known = index.find(key)
      const found = await objects.get(key)
      if (found !== null) return note(found)
      if (known !== null) index.forget(key, known.version)
      return null
    },
    claim: async ({ key, called }, specOf) => {
      for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
        const found = (await createOrNull(objects, key, specOf())) ?? (await objects.get(key))
        // Its owner released an object that existed and is gone now, so the name is free.
        if (found !== null) return note(found)
      }
      throw changesTooOften(called)
    },
    release: async ({ key, called }, isOwn) => {
      for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
        const known = index.find(key)
        const found = await objects.get(key)
        if (found === null) return known === null ? undefined : index.forget(key, known.version)
        const stored = note(found)
        if (!isOwn(stored)) return
        if (await deleteUnchanged(objects, found)) return index.forget(key, stored.version)
      }
      throw changesTooOften(called)
    },
    view: {
      replaceAll: (pages) =>
        index.replaceAll(
          (async function* () {
            for await (const { items, version } of pages) yield { objects: items.map(decode), version }
          })(),
        ),
      put: (object) => index.put(decode(object)),
      drop: ({ metadata }) => index.drop(metadata.name, Number(metadata.resourceVersion)),
    },
  }
}

/** Creates an object, or returns null if there is one of that name. */
async function createOrNull(
  objects: KubeObjects,
  key: string,
  spec: Record<string, unknown>,
): Promise<KubeObject | null> {
  try {
    return await objects.create(key, spec)
  } catch (error) {
    if (isKubeError(error, 'exists')) return null
    throw error
  }
}

/** Deletes an object, or returns false if it has changed since the read. */
async function deleteUnchanged(objects: KubeObjects, object: KubeObject): Promise<boolean> {
  try {
    await objects.delete(object)
    return true
  } catch (error) {
    if (isKubeError(error, 'conflict')) return false
    throw error
  }
}

function changesTooOften(called: string): ServiceError {
  return new ServiceError('runtime_unavailable', `The owner of the ${called} changes too often now. Retry later.`)
}

/** Attempts when others change a name between reading and writing. */
const ATTEMPTS_MAX = 8
