import { AsyncLocalStorage } from 'node:async_hooks'

/** Carries the actor of running code across everything it awaits. */
export function createActorContext<T>(): { current(): T | null; run<R>(cause: T, work: () => R): R } {
  const storage = new AsyncLocalStorage<T>()
  return {
    current: () => storage.getStore() ?? null,
    run: (cause, work) => storage.run(cause, work),
  }
}
