import type { EventsQuery } from '../../../shared/schemas/events.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { CellHistory, OtherHistories } from '../../ports/store/cell-history.ts'
import type { ActorContext, EventRecord, EventScope, EventStore } from '../../ports/store/events.ts'
import { rateAccountOf } from '../common/accounts.ts'
import type { Caller } from '../common/caller.ts'
import { withTimer } from '../common/deadline.ts'
import { turnsOf } from '../common/turns.ts'
import {
  createValueStreams,
  type StreamedValue,
  type ValueSource,
  type ValueStream,
  type ValueStreamsDeps,
} from '../common/value-streams.ts'
import {
  AT_OLDEST,
  type FleetPage,
  type FleetScan,
  type Histories,
  positionNow,
  positionOf,
  readAllCells,
} from './all-cells.ts'
import { createEventNotices, type EventNotices } from './notices.ts'
import type { EventCursors, EventPosition } from './positions.ts'

/** A page of events, with the cursor for the next page. */
export interface EventAnswer {
  events: EventRecord[]
  hasMore: boolean
  nextCursor: string
  /** Unreachable cells. Their events come once they are reachable. Empty without a fleet. */
  missing: readonly string[]
}

/** An event, or the unreachable cells after a change of them. */
export type FeedItem = { event: EventRecord } | { missing: readonly string[] }

/** The events of this deployment, of all its cells. */
export interface EventFeed {
  /**
   * Reads events after a cursor that the caller can see, and waits up to `wait_seconds` for the first. Counts as a stream while it
   * runs.
   * @throws ServiceError `invalid_request`, `cursor_expired`, and `rate_limited` if too many streams are open
   */
  read(caller: Caller, project: string, query: EventsQuery): Promise<EventAnswer>
  /**
   * Streams the same, until the reader stops, its token ends, or the feed is closed.
   * @throws ServiceError as `read`
   */
  follow(caller: Caller, project: string, query: Pick<EventsQuery, 'since' | 'type'>): Promise<ValueStream<FeedItem>>
  /** Ends all waits: reads return at once, streams end. */
  close(): void
}

export interface EventFeedDeps extends ValueStreamsDeps {
  store: { events: Pick<EventStore, 'onCommit'> }
  own: CellHistory
  others: OtherHistories
  cursors: EventCursors
  actorContext: Pick<ActorContext, 'current'>
}

/** Creates a feed that reads all cells again at each commit that its readers can see. */
export function createEventFeed(deps: EventFeedDeps): EventFeed {
  const { store, own, others, clock, cursors, actorContext } = deps
  const streams = createValueStreams<FeedItem>(deps, { kind: 'events', atOnce: EVENT_STREAMS_AT_ONCE })
  const { closing } = streams
  const notices = createEventNotices([store.events, others])
  const reading = { own, others, notices, clock, cursors }
  return {
    read: async (caller, project, query) => {
      const filter = scanOf(caller, project, query)
      const leave = streams.enter(caller)
      try {
        const after = await beginOf(reading, filter.scope, query.since)
        const inTurn = turnsOf(actorContext)
        const scan = { ...filter, after, inTurn, limit: query.max_results, signal: closing }
        return answerOf(await readUntil(reading, scan, clock.now() + query.wait_seconds * 1000), cursors)
      } finally {
        leave()
      }
    },
    follow: async (caller, project, query) => {
      const filter = scanOf(caller, project, query)
      const after = await beginOf(reading, filter.scope, query.since)
      return streams.open(
        caller,
        sourceOf(reading, { ...filter, after, inTurn: turnsOf(actorContext), limit: STREAMED_AT_ONCE }),
      )
    },
    close: () => streams.close(),
  }
}

async function beginOf(reading: Reading, scope: EventScope, since: string | undefined): Promise<EventPosition> {
  if (since === undefined) return AT_OLDEST
  if (since === 'now') return positionNow(reading, scope, reading.clock.now())
  const at = TIME.test(since) ? Date.parse(since) : Number.NaN
  if (!Number.isNaN(at)) return { ...AT_OLDEST, since: at }
  return positionOf(reading, reading.cursors.decode(since), scope)
}

// Project `-` selects all projects that the caller can read, and events without a project.
function scanOf(
  caller: Caller,
  project: string,
  query: Pick<EventsQuery, 'type'>,
): Pick<FleetScan, 'scope' | 'types' | 'account'> {
  const isAll = project === '-'
  const scope = {
    projects: isAll ? caller.projects : [project],
    shared: isAll,
    admin: isAll && caller.projects === '*' && caller.permissions.includes('admin'),
  }
  const types = (query.type ?? []).map((type) => type.replace(/\*$/, ''))
  return { scope, types, account: rateAccountOf(caller, project) }
}

interface Reading extends Histories {
  notices: EventNotices
  clock: Clock
  cursors: EventCursors
}

/** Reads until there are events, `until` (ms since the epoch) has passed, or the signal aborts. */
async function readUntil(reading: Reading, scan: FleetScan, until: number): Promise<FleetPage> {
  const { notices, clock } = reading
  for (let { after } = scan; ; ) {
    const page = await notices.during(scan.scope, async (noticed) => {
      const next = await readAllCells(reading, { ...scan, after })
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

function answerOf({ events, through, hasMore, missing }: FleetPage, cursors: EventCursors): EventAnswer {
  return { events: events.map(({ value }) => value), hasMore, nextCursor: cursors.encode(through), missing }
}

/** Creates the source of a stream, which reads one page at a time. */
function sourceOf(reading: Reading, scan: Omit<FleetScan, 'signal'>): ValueSource<FeedItem> {
  const { clock, cursors } = reading
  let { after } = scan
  let told = ''
  return {
    read: async (signal) => {
      const { events, through, missing } = await readUntil(reading, { ...scan, after, signal }, clock.now() + POLL_MS)
      const reached = new Map(after.cells)
      const values: StreamedValue<FeedItem>[] = events.map(({ cell, number, value }) => {
        reached.set(cell, number)
        return { cursor: cursors.encode({ ...after, cells: reached }), value: { event: value } }
      })
      after = through
      if (missing.join() === told) return values
      told = missing.join()
      return [...values, { cursor: cursors.encode(through), name: MISSING_CELLS, value: { missing } }]
    },
    cursor: () => cursors.encode(after),
  }
}

/** Start of a time, which no cursor has. */
const TIME = /^\d{4}-\d\d-\d\dT/
// Polls as well, because commits of another process, such as `token`, wake no waiter.
const POLL_MS = 1_000
const STREAMED_AT_ONCE = 100
/** Name of the messages of a stream that list unreachable cells. */
const MISSING_CELLS = 'missing_cells'
/** Most streams and reads at the same time, over all tokens. */
export const EVENT_STREAMS_AT_ONCE = 256
