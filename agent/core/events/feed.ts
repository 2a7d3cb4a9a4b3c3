import type { EventsQuery } from '../../../shared/schemas/events.ts'
import { invalidRequest } from '../../../shared/validate.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { ActorContext, EventPage, EventRecord, EventStore } from '../../ports/store/events.ts'
import { rateAccountOf } from '../common/accounts.ts'
import type { Caller } from '../common/caller.ts'
import { withTimer } from '../common/deadline.ts'
import { turnsOf } from '../common/turns.ts'
import {
  createValueStreams,
  type ValueSource,
  type ValueStream,
  type ValueStreamsDeps,
} from '../common/value-streams.ts'
import { createEventNotices, type EventNotices } from './notices.ts'
import { createEventScans, cursorExpired, type EventScan, type EventScans } from './scans.ts'

/** A page of events, with the cursor of the next. */
export interface EventAnswer {
  events: EventRecord[]
  hasMore: boolean
  nextCursor: string
}

/** The events of this deployment. */
export interface EventFeed {
  /**
   * Reads the events after a cursor that the caller may see; waits up to `wait_seconds` for the first. Counts
   * among the streams meanwhile.
   * @throws ServiceError `invalid_request`, `cursor_expired`, and `rate_limited` if too many streams are open
   */
  read(caller: Caller, project: string, query: EventsQuery): Promise<EventAnswer>
  /**
   * Streams the same, until the reader stops, its token ends, or the feed is closed.
   * @throws ServiceError as `read`
   */
  follow(caller: Caller, project: string, query: Pick<EventsQuery, 'since' | 'type'>): Promise<ValueStream<EventRecord>>
  /** Ends all waits: reads return at once, streams end. */
  close(): void
}

export interface EventFeedDeps extends ValueStreamsDeps {
  store: { events: EventStore }
  actorContext: Pick<ActorContext, 'current'>
}

/** Creates a feed that reads the store again at each commit of what its readers may see. */
export function createEventFeed(deps: EventFeedDeps): EventFeed {
  const { store, clock, actorContext } = deps
  const { events } = store
  const streams = createValueStreams<EventRecord>(deps, { kind: 'events', atOnce: EVENT_STREAMS_AT_ONCE })
  const { closing } = streams
  const reading = { scans: createEventScans(events), notices: createEventNotices(events), clock }
  return {
    read: async (caller, project, query) => {
      const filter = scanOf(caller, project, query)
      const leave = streams.enter(caller)
      try {
        const after = decodeEventCursor(query.since, await events.bounds(filter.scope))
        const inTurn = turnsOf(actorContext)
        const scan = { ...filter, after, inTurn, limit: query.max_results, signal: closing }
        return answerOf(await readUntil(reading, scan, clock.now() + query.wait_seconds * 1000))
      } finally {
        leave()
      }
    },
    follow: async (caller, project, query) => {
      const filter = scanOf(caller, project, query)
      const after = decodeEventCursor(query.since, await events.bounds(filter.scope))
      return streams.open(
        caller,
        sourceOf(reading, { ...filter, after, inTurn: turnsOf(actorContext), limit: STREAMED_AT_ONCE }),
      )
    },
    close: () => streams.close(),
  }
}

// Project `-` selects all that the caller may read, and events of no project.
function scanOf(
  caller: Caller,
  project: string,
  query: Pick<EventsQuery, 'type'>,
): Pick<EventScan, 'scope' | 'types' | 'account'> {
  const isAll = project === '-'
  const scope = {
    projects: isAll ? caller.projects : [project],
    shared: isAll,
    admin: isAll && caller.projects === '*' && caller.permissions.includes('admin'),
  }
  const types = (query.type ?? []).map((type) => type.replace(/\*$/, ''))
  return { scope, types, account: rateAccountOf(caller, project) }
}

interface Reading {
  scans: EventScans
  notices: EventNotices
  clock: Clock
}

/** Reads once, and again while there is nothing, until `until` in ms since the epoch, or the signal. */
async function readUntil({ scans, notices, clock }: Reading, scan: EventScan, until: number): Promise<EventPage> {
  for (let { after } = scan; ; ) {
    const page = await notices.during(scan.scope, async (noticed) => {
      const next = await scans.read({ ...scan, after })
      const left = until - clock.now()
      if (next.events.length > 0 || next.hasMore || left <= 0 || scan.signal.aborted) return next
      after = next.through
      const timer = { clock, ms: Math.min(left, POLL_MS), signal: scan.signal }
      await withTimer(timer, (over) => Promise.race([noticed, over]))
      return null
    })
    if (page !== null) return page
  }
}

function answerOf({ events, through, hasMore }: EventPage): EventAnswer {
  return { events: events.map(({ record }) => record), hasMore, nextCursor: encodeEventCursor(through) }
}

/** Creates the source of a stream, which reads one page at a time. */
function sourceOf(reading: Reading, scan: Omit<EventScan, 'signal'>): ValueSource<EventRecord> {
  let { after } = scan
  return {
    read: async (signal) => {
      const { events, through } = await readUntil(reading, { ...scan, after, signal }, reading.clock.now() + POLL_MS)
      after = through
      return events.map(({ number, record }) => ({ cursor: encodeEventCursor(number), value: record }))
    },
    cursor: () => encodeEventCursor(after),
  }
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

// Polls as well: commits of another process, such as `token`, send no notice.
const POLL_MS = 1_000
const STREAMED_AT_ONCE = 100
/** Streams and reads at once, over all tokens. */
export const EVENT_STREAMS_AT_ONCE = 256
const CURSOR_PREFIX = 'e1:'
const CURSOR = /^e1:(\d{1,15})$/
