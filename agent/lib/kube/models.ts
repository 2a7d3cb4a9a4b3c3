/**
 * An object of the API as it is sent (dates are text), without what is long and of no use here. What is of another shape than
 * `T` is not noticed: the server's own validation stands for that.
 */
export function decodeObject<T>(value: unknown): T {
  const { metadata, status } = (value ?? {}) as { metadata?: Record<string, unknown>; status?: Record<string, unknown> }
  // `managedFields` are the half of an object; the images of a node are many.
  delete metadata?.['managedFields']
  delete status?.['images']
  return value as T
}

/** The items of a list, and its version. */
export function decodeList<T>(value: unknown): { items: T[]; version: string } {
  const { items, metadata } = (value ?? {}) as { items?: unknown[]; metadata?: { resourceVersion?: string } }
  return { items: (items ?? []).map((item) => decodeObject<T>(item)), version: metadata?.resourceVersion ?? '' }
}
