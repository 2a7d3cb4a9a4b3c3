import { setImmediate, setTimeout } from 'node:timers/promises'
import { ServiceError } from '../../../shared/errors.ts'
import { createLimiter } from '../../../shared/locks.ts'
import type { EventScan } from '../../ports/store/cell-history.ts'
import type { EventPage, EventQuery, EventStore, LaterPart } from '../../ports/store/events.ts'

/** Reads of events. One read may have to scan all of them. */
export interface EventScans {
  /**
   * Reads until `limit` events match or there are no more. Returns fewer once some match after about 10,000 scanned events.
   * @throws ServiceError `cursor_expired`
   */
  read(scan: EventScan): Promise<EventPage>
}
/**
 * Creates scans in a fair queue by account. One step reads as much as the store scans in about a millisecond. After each step except the
 * last of a scan, other work gets a millisecond.
 */
export function createEventScans(events: Pick<EventStore, 'bounds' | 'read'>): EventScans {
  const turns = createLimiter(1)
  return {
    read: async ({ account, inTurn, signal, ...query }) => {
      const found: EventPage['events'] = []
      for (let [turn, after] = [1, query.after]; ; turn++) {
        const isEnough = (page: EventPage): boolean => {
          const count = found.length + page.events.length
          return count >= query.limit || !page.hasMore || signal.aborted || (count > 0 && turn >= TURNS_PER_PAGE)
        }
        const limit = query.limit - found.length
        const readNext = (later: LaterPart): Promise<EventPage> =>
          turns.run(async () => {
            const next = await later(() => readOnce(events, { ...query, after, limit }))
            await (isEnough(next) ? setImmediate() : setTimeout(BREAK_MS))
            return next
          }, account)
        const page = await inTurn(readNext)
        found.push(...page.events)
        after = page.through
        if (isEnough({ ...page, events: [] })) return { ...page, events: found }
      }
    },
  }
}

async function readOnce(events: Pick<EventStore, 'bounds' | 'read'>, query: EventQuery): Promise<EventPage> {
  const page = await events.read(query)
  // Checks after the read, which may have missed events that were pruned just before it.
  const isCut = page.through > query.after && query.after < (await events.bounds(query.scope)).oldest - 1
  if (isCut) throw cursorExpired()
  return page
}

/** Makes the error for pruned events. */
export function cursorExpired(): ServiceError {
  const detail = 'Events after this cursor are no longer kept. Read the resources again, and start with `since=now`.'
  return new ServiceError('cursor_expired', detail)
}

const BREAK_MS = 1
const TURNS_PER_PAGE = 20
