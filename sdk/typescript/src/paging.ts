import type { AnswerOf, Caller, CallInput, OperationId } from './calls.ts'
import { unexpectedAnswer } from './problems.ts'

/** An operation whose answer is a page of a list. */
export type ListId = {
  [Id in OperationId]: AnswerOf<Id> extends { has_more: boolean; next_continuation_token: string | null } ? Id : never
}[OperationId]

/** One element of a list in an answer. */
export type ItemOf<Id extends ListId> = Extract<AnswerOf<Id>[NamedKey<AnswerOf<Id>>], readonly unknown[]>[number]

/** The keys that a type names, because answers may also have others. */
type NamedKey<T> = keyof { [Key in keyof T as string extends Key ? never : number extends Key ? never : Key]: T[Key] }

/** Iterates over a list of any length, one page at a time on demand. @throws ApiError, ConnectionError */
export async function* listAll<Id extends ListId>(
  caller: Caller,
  id: Id,
  input: CallInput<Id>,
): AsyncGenerator<ItemOf<Id>> {
  const known = new Set<string>()
  let emptyPages = 0
  let token: string | null = null
  for (;;) {
    const query = { ...input.query, ...(token === null ? {} : { continuation_token: token }) }
    const page = (await caller.call(id, { ...input, query })) as Page
    const items = Object.values(page).find((value) => Array.isArray(value)) as ItemOf<Id>[] | undefined
    if (items === undefined) throw unexpectedAnswer(200, 'The service sent a page without a list.', page)
    yield* items
    token = page.has_more ? page.next_continuation_token : null
    if (token === null) return
    if (typeof token !== 'string' || known.has(token))
      throw unexpectedAnswer(200, 'The list does not end. The service sent the same continuation token twice, or none.')
    known.add(token)
    emptyPages = items.length === 0 ? emptyPages + 1 : 0
    if (emptyPages >= EMPTY_PAGES_MAX)
      throw unexpectedAnswer(200, `The list does not end. ${emptyPages} pages in a row were empty.`)
  }
}

/** In a row, from a service that filters all of them out. */
const EMPTY_PAGES_MAX = 100

interface Page {
  has_more: boolean
  next_continuation_token: string | null
}
