import type { QueryClient } from '@tanstack/react-query'
import { replaceBox } from './box-list.ts'
import { boxesQuery } from './queries.ts'
import type { Box, Ref } from './records.ts'

/**
 * Puts a box into the loaded list of boxes, or removes it if null. Repeats this after a read of the whole list that may have begun earlier.
 */
export type ListPatch = (ref: Ref, box: Box | null) => void

/** Creates the patches that keep boxes of the list newer than the list. */
export function createListPatches(queries: QueryClient): ListPatch {
  const newer = new Map<string, { ref: Ref; box: Box | null }>()
  let isWaiting = false
  const put = (ref: Ref, box: Box | null): void => {
    queries.setQueryData(boxesQuery.queryKey, (list: Box[] | undefined) => list && replaceBox(list, ref, box))
  }
  const putAfterRead = async (): Promise<void> => {
    isWaiting = true
    for (let list = listOf(queries); list?.state.fetchStatus === 'fetching'; list = listOf(queries))
      await list.promise?.catch(() => undefined)
    isWaiting = false
    for (const { ref, box } of newer.values()) put(ref, box)
    newer.clear()
  }
  return (ref, box) => {
    put(ref, box)
    if (listOf(queries)?.state.fetchStatus !== 'fetching') return
    newer.set(`${ref.project}/${ref.name}`, { ref, box })
    if (!isWaiting) void putAfterRead()
  }
}

function listOf(queries: QueryClient) {
  return queries.getQueryCache().find({ queryKey: boxesQuery.queryKey, exact: true })
}
