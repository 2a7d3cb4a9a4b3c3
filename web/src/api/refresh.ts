import { ApiError, type BoxyardEvent } from '@boxyard/sdk'
import type { QueryClient } from '@tanstack/react-query'
import { createListPatches } from './list-patches.ts'
import { boxesQuery, boxQuery } from './queries.ts'
import type { Ref } from './records.ts'
import { createRereads, type Rereads } from './rereads.ts'

/** Keeps the page up to date with arriving events. */
export interface Refresher {
  take(event: BoxyardEvent): void
  /** Reads everything on screen again. */
  all(): void
  /** Starts the collected reads at once. */
  flush(): void
}

/**
 * Reloads a box that an event names, and puts it into the list. It thus reads only the changes of a list of 10,000. For many boxes at once
 * it reads the list. Data without a reader stays unread.
 */
export function createRefresher(queries: QueryClient): Refresher {
  const boxes = new Map<string, Ref>()
  const kinds = new Set<string>()
  const rereads = createRereads()
  const refreshBox = boxRefresherOf(queries, rereads)
  let timer: ReturnType<typeof setTimeout> | undefined
  const refresh = (key?: readonly string[]): void => {
    for (const query of queries.getQueryCache().findAll(key ? { queryKey: key } : {})) void rereads.refresh(query)
  }
  const flush = (): void => {
    clearTimeout(timer)
    timer = undefined
    const keys = new Set([...kinds].flatMap((kind) => KEYS[kind] ?? []))
    for (const key of keys) refresh([key])
    const areMany = boxes.size > ONE_BY_ONE_MAX
    if (areMany) refresh(boxesQuery.queryKey)
    for (const ref of boxes.values()) refreshBox(ref, !areMany)
    boxes.clear()
    kinds.clear()
  }
  return {
    take: (event) => {
      const box = boxOf(event)
      if (box) boxes.set(`${box.project}/${box.name}`, box)
      kinds.add(event.type.split('.')[0] ?? '')
      timer ??= setTimeout(flush, GATHER_MS)
    },
    all: () => refresh(),
    flush,
  }
}

/** Returns a function that reads a box again if its page is open, or when patching, if the list is loaded. */
function boxRefresherOf(queries: QueryClient, rereads: Rereads): (ref: Ref, isPatching: boolean) => void {
  const cache = queries.getQueryCache()
  const patch = createListPatches(queries)
  const refresh = async (ref: Ref, isPatching: boolean): Promise<void> => {
    const shown = cache.find({ queryKey: boxQuery(ref).queryKey, exact: true })
    const hasList = isPatching && cache.find({ queryKey: boxesQuery.queryKey, exact: true }) !== undefined
    if (!hasList) return shown && rereads.refresh(shown)
    const query = cache.build(queries, queries.defaultQueryOptions(boxQuery(ref)))
    await rereads.read(query)
    const { data, error, status } = query.state
    if (status === 'success') patch(ref, data ?? null)
    else if (error instanceof ApiError && error.status === 404) patch(ref, null)
  }
  return (ref, isPatching) => void refresh(ref, isPatching)
}

function boxOf({ resource }: BoxyardEvent): Ref | null {
  const [, project, name] = /^\/v1\/projects\/([^/]+)\/boxes\/([^/]+)/.exec(resource ?? '') ?? []
  return project === undefined || name === undefined ? null : { project, name }
}

/** Keys of the queries that events of a kind can change, in addition to the keys of the box itself. */
const KEYS: Record<string, readonly string[]> = {
  box: ['projects'],
  data: ['volumes', 'volume', 'projects'],
  snapshot: ['box-snapshots', 'volume-snapshots'],
  backup: ['backups'],
  base: ['bases'],
  service: ['services'],
  quota: ['projects'],
  token: ['tokens'],
}
/** Long enough that a burst is one refresh, and too short to notice. */
const GATHER_MS = 40
const ONE_BY_ONE_MAX = 20
