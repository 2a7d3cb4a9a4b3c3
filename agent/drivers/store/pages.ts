/**
 * Yields records in the order of their keys, with a page of `PAGE` in memory at a time. `read` returns at most that many records after
 * `last`. Null reads from the first.
 */
export async function* inPages<R>(read: (last: R | null) => R[]): AsyncGenerator<R> {
  for (let page = read(null); page.length > 0; page = read(page.at(-1) ?? null)) yield* page
}

/** Records of a page. A record may be long. */
export const PAGE = 8

/** Bytes of the records of a page of the API, which cost some milliseconds of CPU time. One record may be longer. */
export const PAGE_BYTES = 512 * 1024
