import { ServiceError } from '../../../shared/errors.ts'
import type { EventsQuery } from '../../../shared/schemas/events.ts'
import { invalidRequest } from '../../../shared/validate.ts'
import type { EventPage, EventRecord, EventScope, EventStore } from '../../ports/store/events.ts'
import type { Caller } from '../common/caller.ts'
import { withTimer } from '../common/deadline.ts'
import {
  createValueStreams,
  type ValueSource,
  type ValueStream,
  type ValueStreamsDeps,
} from '../common/value-streams.ts'

/** A page of events, with the cursor of the next. */
export interface EventAnswer {
  events: EventRecord[]
  hasMore: boolean
  nextCursor: string
}

/** Filter of events: by scope and by type prefixes; no types: all. */
export interface EventOptions {
  scope: EventScope
  types: readonly string[]
}

/** The events of this deployment. */
export interface EventFeed {
  /**
   * Reads the events after a cursor that the caller may see; waits up to `wait_seconds` for the first.
   * @throws ServiceError `invalid_request`, `cursor_expired`
   */
  read(caller: Caller, project: string, query: EventsQuery): Promise<EventAnswer>
  /**
   * Streams the same, until the reader stops, its token ends, or the feed is closed.
   * @throws ServiceError as `read`, and `rate_limited` if too many streams are open
   */
  follow(caller: Caller, project: string, query: Pick<EventsQuery, 'since' | 'type'>): Promise<ValueStream<EventRecord>>
  /** Ends all waits: reads return at once, streams end. */
  close(): void
}

export interface EventFeedDeps extends ValueStreamsDeps {
  store: { events: EventStore }
}

/** Creates a feed that reads the store again at each commit. */
export function createEventFeed(deps: EventFeedDeps): EventFeed {
  const { store, clock } = deps
  const { events } = store
  const streams = createValueStreams<EventRecord>(deps, { kind: 'events', atOnce: EVENT_STREAMS_AT_ONCE })
  const { closing } = streams
  const notices = createNotices(events)
  return {
    read: async (caller, project, query) => {
      const options = eventOptionsOf(caller, project, query)
      const until = clock.now() + query.wait_seconds * 1000
      for (let after = decodeEventCursor(query.since, await events.bounds(options.scope)); ; ) {
        const notice = notices.next()
        const page = await readOn(events, { ...options, after, limit: query.max_results })
        const left = until - clock.now()
        if (page.events.length > 0 || page.hasMore || left <= 0 || closing.aborted) return answerOf(page)
        after = page.through
        const timer = { clock, ms: Math.min(left, POLL_MS), signal: closing }
        await withTimer(timer, (over) => Promise.race([notice, over]))
      }
    },
    follow: async (caller, project, query) => {
      const filter = eventOptionsOf(caller, project, query)
      const after = decodeEventCursor(query.since, await events.bounds(filter.scope))
      const options = { ...filter, after, limit: STREAMED_AT_ONCE }
      return streams.open(caller, sourceOf({ ...deps, notices }, options))
    },
    close: () => streams.close(),
  }
}

/** Builds the filter of a request; project `-` selects all that the caller may read, and events of no project. */
export function eventOptionsOf(caller: Caller, project: string, query: Pick<EventsQuery, 'type'>): EventOptions {
  const isAll = project === '-'
  const scope = {
    projects: isAll ? caller.projects : [project],
    shared: isAll,
    admin: isAll && caller.projects === '*' && caller.permissions.includes('admin'),
  }
  return { scope, types: (query.type ?? []).map((type) => type.replace(/\*$/, '')) }
}

// The store scans a bounded range per read: continues with the next range, yielding to the event loop in between.
async function readOn(events: EventStore, query: EventOptions & { after: number; limit: number }): Promise<EventPage> {
  for (let { after } = query; ; ) {
    if (after < (await events.bounds(query.scope)).oldest - 1) throw cursorExpired()
    const page = await events.read({ ...query, after })
    if (page.events.length > 0 || !page.hasMore) return page
    after = page.through
    await new Promise((resolve) => setImmediate(resolve))
  }
}

function answerOf({ events, through, hasMore }: EventPage): EventAnswer {
  return { events: events.map(({ record }) => record), hasMore, nextCursor: encodeEventCursor(through) }
}

/** Creates the source of a stream, which reads one page at a time. */
function sourceOf(
  { store, clock, notices }: EventFeedDeps & { notices: Notices },
  options: EventOptions & { after: number; limit: number },
): ValueSource<EventRecord> {
  let { after } = options
  return {
    read: async (signal) => {
      const notice = notices.next()
      const { events, through } = await readOn(store.events, { ...options, after })
      after = through
      if (events.length === 0) {
        await withTimer({ clock, ms: POLL_MS, signal }, (over) => Promise.race([notice, over]))
      }
      return events.map(({ number, record }) => ({ cursor: encodeEventCursor(number), value: record }))
    },
    cursor: () => encodeEventCursor(after),
  }
}

interface Notices {
  next(): Promise<void>
}

/** Shares one promise of the next commit among all waits. */
function createNotices(events: EventStore): Notices {
  let next = Promise.withResolvers<void>()
  events.onCommit(() => {
    next.resolve()
    next = Promise.withResolvers<void>()
  })
  return { next: () => next.promise }
}

/** Encodes the number of an event as an opaque cursor. */
function encodeEventCursor(number: number): string {
  return Buffer.from(`${CURSOR_PREFIX}${number}`).toString('base64url')
}

/**
 * Decodes the number of the last event that the client has read; without a cursor, the one before the oldest stored event.
 * @throws ServiceError `invalid_request` for a malformed cursor, `cursor_expired` if events after it were pruned
 */
function decodeEventCursor(cursor: string | undefined, { oldest, newest }: { oldest: number; newest: number }): number {
  if (cursor === undefined) return oldest - 1
  if (cursor === 'now') return newest
  const number = Number(CURSOR.exec(Buffer.from(cursor, 'base64url').toString('latin1'))?.[1] ?? Number.NaN)
  if (Number.isNaN(number)) throw invalidRequest([{ pointer: '/query/since', detail: 'is no cursor of events' }])
  if (number < oldest - 1 || number > newest) throw cursorExpired()
  return number
}

/** Creates the error for events that were pruned. */
function cursorExpired(): ServiceError {
  const detail = 'Events after this cursor are not kept any more: read the resources anew, and begin with `since=now`.'
  return new ServiceError('cursor_expired', detail)
}

// Polls as well: commits of another process, such as `token`, send no notice.
const POLL_MS = 1_000
const STREAMED_AT_ONCE = 100
/** Streams at once, over all tokens. */
export const EVENT_STREAMS_AT_ONCE = 256
const CURSOR_PREFIX = 'e1:'
const CURSOR = /^e1:(\d{1,15})$/
