import { AsyncLocalStorage } from 'node:async_hooks'

/** Follows what runs on whose behalf through all that is awaited. */
export function createActorContext<T>(): { current(): T | null; run<R>(cause: T, work: () => R): R } {
  const storage = new AsyncLocalStorage<T>()
  return {
    current: () => storage.getStore() ?? null,
    run: (cause, work) => storage.run(cause, work),
  }
}
