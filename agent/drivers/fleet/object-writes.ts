import { isKubeError } from '../../lib/kube/errors.ts'
import type { KubeObject, KubeObjects } from '../../lib/kube/objects.ts'

/** Creates an object, or returns null if there is one of that name. */
export async function createOrNull(
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

/** Deletes an object, or returns false if it has changed since it was read. */
export async function deleteUnchanged(objects: KubeObjects, object: KubeObject): Promise<boolean> {
  try {
    await objects.delete(object)
    return true
  } catch (error) {
    if (isKubeError(error, 'conflict')) return false
    throw error
  }
}
