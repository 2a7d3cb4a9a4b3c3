import { type AsyncRouteComponent, lazyRouteComponent } from '@tanstack/react-router'

/** The file of a page could not be loaded. The service is away, or another version of it has files of other names. */
export class PageFileError extends Error {
  /** Loads it again. @throws the error if it still fails */
  readonly again: () => Promise<unknown>

  constructor(again: () => Promise<unknown>, cause: unknown) {
    super('Boxyard cannot be reached, or it was updated after you opened this tab.', {
      cause,
    })
    this.name = 'PageFileError'
    this.again = again
  }
}

type Load<Name extends string> = () => Promise<Record<Name, unknown>>

const loads: (() => Promise<unknown>)[] = []

/** Returns a page whose file is loaded when it is opened, or earlier while the browser is idle. */
export function lazyPage<Name extends string>(load: Load<Name>, name: Name): AsyncRouteComponent<object> {
  loads.push(load)
  const loadTelling = async (): Promise<Record<string, AsyncRouteComponent<object>>> => {
    try {
      return (await load()) as Record<string, AsyncRouteComponent<object>>
    } catch (cause) {
      // The router would reload the whole console, from a service that may be away.
      throw new PageFileError(load, cause)
    }
  }
  return lazyRouteComponent(loadTelling, name)
}

/**
 * Loads the files of all pages while the browser is idle, one after the other. A page then opens at once, even while the service is away.
 * Returns a function that ends this.
 */
export function loadPagesWhenIdle(): () => void {
  const left = [...loads]
  let isOver = false
  const loadNext = async (): Promise<void> => {
    const load = left.shift()
    if (isOver || load === undefined) return
    try {
      await load()
    } catch {
      // A file that is unavailable now is loaded when its page is opened.
      return
    }
    whenIdle(() => void loadNext())
  }
  const timer = setTimeout(() => whenIdle(() => void loadNext()), SETTLED_MS)
  return () => {
    isOver = true
    clearTimeout(timer)
  }
}

function whenIdle(work: () => void): void {
  // Safari lacks it.
  if (typeof requestIdleCallback === 'function') requestIdleCallback(work)
  else setTimeout(work, SETTLED_MS / 5)
}

/** After this the first page has its data. */
const SETTLED_MS = 1_000
