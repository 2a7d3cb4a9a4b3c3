import { AsyncLocalStorage } from 'node:async_hooks'

/** Follows what runs on whose behalf through all that is awaited. */
export function createCauses<T>(): { current(): T | null; within<R>(cause: T, work: () => R): R } {
  const storage = new AsyncLocalStorage<T>()
  return {
    current: () => storage.getStore() ?? null,
    within: (cause, work) => storage.run(cause, work),
  }
}
