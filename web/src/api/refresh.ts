import { ApiError, type BoxyardEvent } from '@boxyard/sdk'
import type { QueryClient } from '@tanstack/react-query'
import { replaceBox } from './box-list.ts'
import { boxesQuery, boxQuery } from './queries.ts'
import type { Box, Ref } from './records.ts'

/** Brings what is on screen up to date with the events as they come. */
export interface Refresher {
  take(event: BoxyardEvent): void
  /** Reads everything that is on screen anew. */
  all(): void
  close(): void
}

/**
 * Reads a box that an event tells of anew, and puts it into the list: of a list of 10,000 only what changed is read. Many boxes at once
 * are read as the list.
 */
export function createRefresher(queries: QueryClient): Refresher {
  const boxes = new Map<string, Ref>()
  const kinds = new Set<string>()
  let timer: ReturnType<typeof setTimeout> | undefined
  const flush = (): void => {
    timer = undefined
    for (const kind of kinds) for (const key of KEYS[kind] ?? []) void queries.invalidateQueries({ queryKey: [key] })
    if (boxes.size > ONE_BY_ONE_MAX) void queries.invalidateQueries({ queryKey: boxesQuery.queryKey })
    else for (const ref of boxes.values()) void refreshBox(queries, ref)
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
    all: () => void queries.invalidateQueries(),
    close: () => clearTimeout(timer),
  }
}

async function refreshBox(queries: QueryClient, ref: Ref): Promise<void> {
  const box = await queries
    .query({ ...boxQuery(ref), staleTime: 0, retry: false })
    .catch((error: unknown) => {
      if (error instanceof ApiError && error.status === 404) return null
      throw error
    })
    .catch(() => undefined)
  if (box === undefined) return
  queries.setQueryData(boxesQuery.queryKey, (list: Box[] | undefined) => list && replaceBox(list, ref, box))
}

function boxOf({ resource }: BoxyardEvent): Ref | null {
  const [, project, name] = /^\/v1\/projects\/([^/]+)\/boxes\/([^/]+)/.exec(resource ?? '') ?? []
  return project === undefined || name === undefined ? null : { project, name }
}

/** Keys of the queries that events of a kind may change, beside those of the box itself. */
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
/** Long enough that a burst is one refresh, and short enough that nobody sees it. */
const GATHER_MS = 40
const ONE_BY_ONE_MAX = 20
