import type { AnswerOf, Caller } from './calls.ts'
import { unexpectedAnswer } from './problems.ts'
import { Pace } from './retries.ts'

export type BoxyardEvent = AnswerOf<'listEvents'>['events'][number]

export interface FollowOptions {
  /** A cursor, a time such as `2026-01-31T00:00:00Z`, or `now`. Default: the oldest event that the service keeps. */
  since?: string | undefined
  /** Types to follow, such as `box.created` or `box.*`. Default: all. */
  types?: readonly string[] | undefined
  /** Called after each page with the cursor from which a client can resume later. */
  onCursor?: (cursor: string) => void
  signal?: AbortSignal | undefined
}

/**
 * Follows the events of a project without end, across fronts and restarts of the service.
 * @throws ApiError `cursor_expired`. Then list the current resources, and continue from `now`
 */
export async function* followEvents(
  caller: Caller,
  project: string,
  options: FollowOptions,
): AsyncGenerator<BoxyardEvent> {
  const { types, onCursor, signal } = options
  const pace = new Pace()
  let since = options.since
  for (;;) {
    signal?.throwIfAborted()
    await pace.wait(signal)
    const page: AnswerOf<'listEvents'> = await caller.call('listEvents', {
      path: { project },
      query: {
        wait_seconds: since === 'now' ? 0 : LONGEST_WAIT_SECONDS,
        ...(since === undefined ? {} : { since }),
        ...(types === undefined ? {} : { type: [...types] }),
      },
      signal,
    })
    if (!Array.isArray(page.events) || typeof page.next_cursor !== 'string')
      throw unexpectedAnswer(200, 'The service sent a page without events, or without a cursor.', page)
    if (page.events.length > 0 || since === 'now') pace.reset()
    for (const event of page.events) {
      signal?.throwIfAborted()
      yield event
    }
    since = page.next_cursor
    onCursor?.(since)
  }
}

const LONGEST_WAIT_SECONDS = 25
