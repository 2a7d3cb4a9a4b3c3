/**
 * Yields records in the order of their keys, a page of `PAGE` in memory at a time: `read` returns those after `last`, at most so
 * many. Null: from the first.
 */
export async function* inPages<R>(read: (last: R | null) => R[]): AsyncGenerator<R> {
  for (let page = read(null); page.length > 0; page = read(page.at(-1) ?? null)) yield* page
}

/** Records of a page, each of which may be long. */
export const PAGE = 8

/** Bytes of the records of a page of the API, which costs the processor some milliseconds; one record may be longer. */
export const PAGE_BYTES = 512 * 1024
