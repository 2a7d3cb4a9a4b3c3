import type { EventsQuery, EventView } from '../../../shared/schemas/events.ts'
import type { EventPage, EventRecord, EventScope, EventStore } from '../../ports/store/events.ts'
import type { Caller } from '../common/caller.ts'
import { withTimer } from '../common/deadline.ts'
import {
  createEventStreams,
  type EventStreamSource,
  type EventStreamsDeps,
  encodeServerSentEvent,
} from '../common/event-streams.ts'
import { timestamp } from '../common/time.ts'
import { cursorExpired, decodeEventCursor, encodeEventCursor } from './cursor.ts'

/** A page of events as clients get it. */
export interface EventAnswer {
  events: EventView[]
  hasMore: boolean
  nextCursor: string
}

/** What is looked for in the events: whose, of which types; empty: of any. */
export interface EventOptions {
  scope: EventScope
  types: readonly string[]
}

/** The events of this deployment. */
export interface EventFeed {
  /**
   * The events that a caller may see after a cursor; waits for one as long as is asked.
   * @throws ServiceError `invalid_request`, `cursor_expired`
   */
  read(caller: Caller, project: string, query: EventsQuery): Promise<EventAnswer>
  /**
   * The same as a stream of messages, until it is read no further, its token is no longer good, or the feed is closed.
   * @throws ServiceError as `read`, and `rate_limited` where too many streams are open
   */
  follow(
    caller: Caller,
    project: string,
    query: Pick<EventsQuery, 'since' | 'type'>,
  ): Promise<AsyncIterable<Uint8Array>>
  /** Answers those who wait with what there is, from now on at once. */
  close(): void
}

export interface EventFeedDeps extends EventStreamsDeps {
  store: { events: EventStore }
}

/** Reads what the store has, again whenever it has more. */
export function createEventFeed(deps: EventFeedDeps): EventFeed {
  const { store, clock } = deps
  const { events } = store
  const streams = createEventStreams(deps, { kind: 'events', atOnce: EVENT_STREAMS_AT_ONCE })
  const { closing } = streams
  const notices = createNotices(events)
  return {
    read: async (caller, project, query) => {
      const wish = eventOptionsOf(caller, project, query)
      const until = clock.now() + query.wait_seconds * 1000
      for (let after = decodeEventCursor(query.since, await events.bounds()); ; ) {
        const notice = notices.next()
        const page = await readOn(events, { ...wish, after, limit: query.max_results })
        const left = until - clock.now()
        if (page.events.length > 0 || page.hasMore || left <= 0 || closing.aborted) return answerOf(page)
        after = page.through
        const look = { clock, ms: Math.min(left, LOOK_MS), signal: closing }
        await withTimer(look, (over) => Promise.race([notice, over]))
      }
    },
    follow: async (caller, project, query) => {
      const after = decodeEventCursor(query.since, await events.bounds())
      const wish = { ...eventOptionsOf(caller, project, query), after, limit: STREAMED_AT_ONCE }
      return streams.open(caller, sourceOf({ ...deps, notices }, wish))
    },
    close: () => streams.close(),
  }
}

/** Whose events, and of which types, a caller asks for; `-` is all it may read, with what is of no project. */
export function eventOptionsOf(caller: Caller, project: string, query: Pick<EventsQuery, 'type'>): EventOptions {
  const isAll = project === '-'
  const scope = {
    projects: isAll ? caller.projects : [project],
    shared: isAll,
    admin: isAll && caller.projects === '*' && caller.permissions.includes('admin'),
  }
  return { scope, types: (query.type ?? []).map((type) => type.replace(/\*$/, '')) }
}

// A look is bounded: where nothing is found in what was looked at, the next follows, and others have their turn between.
async function readOn(events: EventStore, query: EventOptions & { after: number; limit: number }): Promise<EventPage> {
  for (let { after } = query; ; ) {
    if (after < (await events.bounds()).oldest - 1) throw cursorExpired()
    const page = await events.read({ ...query, after })
    if (page.events.length > 0 || !page.hasMore) return page
    after = page.through
    await new Promise((resolve) => setImmediate(resolve))
  }
}

function answerOf({ events, through, hasMore }: EventPage): EventAnswer {
  return {
    events: events.map(({ record }) => viewEvent(record)),
    hasMore,
    nextCursor: encodeEventCursor(through),
  }
}

function viewEvent({ id, at, type, project, resource, actor, requestId, data }: EventRecord): EventView {
  return { id, ts: timestamp(at), type, project, resource, actor, request_id: requestId, data }
}

/** A page is read at once. */
function sourceOf(
  { store, clock, notices }: EventFeedDeps & { notices: Notices },
  wish: EventOptions & { after: number; limit: number },
): EventStreamSource {
  let { after } = wish
  return {
    read: async (signal) => {
      const notice = notices.next()
      const { events, through } = await readOn(store.events, { ...wish, after })
      after = through
      if (events.length === 0) {
        await withTimer({ clock, ms: LOOK_MS, signal }, (over) => Promise.race([notice, over]))
      }
      return events.map(sentEventOf).join('')
    },
    id: () => encodeEventCursor(after),
  }
}

function sentEventOf({ number, record }: EventPage['events'][number]): string {
  return encodeServerSentEvent({ id: encodeEventCursor(number), data: viewEvent(record) })
}

interface Notices {
  next(): Promise<void>
}

/** What all who wait have in common: the next commit. */
function createNotices(events: EventStore): Notices {
  let next = Promise.withResolvers<void>()
  events.onCommit(() => {
    next.resolve()
    next = Promise.withResolvers<void>()
  })
  return { next: () => next.promise }
}

// Another process, such as one that mints a token, gives no notice.
const LOOK_MS = 1_000
const STREAMED_AT_ONCE = 100
/** Of all tokens. */
export const EVENT_STREAMS_AT_ONCE = 256
