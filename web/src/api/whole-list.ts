import type { CallInput, ItemOf, ListId } from '@boxyard/sdk'
import { api } from './client.ts'

/** The maximum of a page of a list. */
export const LONGEST_PAGE = { max_results: 1000 }

/** Reads a whole list, a page of 1,000 at a time. */
export async function readWholeList<Id extends ListId>(id: Id, input: CallInput<Id>): Promise<ItemOf<Id>[]> {
  const items: ItemOf<Id>[] = []
  for await (const item of api().list(id, input)) items.push(item)
  return items
}
