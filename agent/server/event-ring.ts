import type { EventPage, EventQuery, EventStore, NumberedEvent } from '../ports/store/events.ts'

/** A bounded ring of another cell's last events, in order and without a gap, as its tail sent them. */
export interface EventRing {
  /** Number of the newest. Null: the start of the tail is not known yet. */
  newest(): number | null
  /** Restarts after an event, unless that is its newest. */
  beginAfter(number: number): void
  /** Adds the next event, with its size in `bytes`. Restarts with it if it does not follow the newest. */
  add(event: NumberedEvent, bytes: number): void
  /** Returns a page, or null if not all events after `after` are among them. */
  read(query: EventQuery): EventPage | null
}

export interface EventRingOptions {
  selects: EventStore['selects']
  /** Most bytes of its events, as they came. */
  bytesMax(): number
}

/** Creates an empty ring. */
export function createEventRing({ selects, bytesMax }: EventRingOptions): EventRing {
  let held: { event: NumberedEvent; bytes: number }[] = []
  let newest: number | null = null
  let bytes = 0
  const beginAfter = (number: number): void => {
    if (number === newest) return
    newest = number
    held = []
    bytes = 0
  }
  return {
    newest: () => newest,
    beginAfter,
    add: (event, size) => {
      beginAfter(event.number - 1)
      newest = event.number
      held.push({ event, bytes: size })
      bytes += size
      const max = bytesMax()
      if (bytes <= max) return
      // Cuts half of it at once, since each cut moves what stays.
      let cut = 0
      for (; bytes > max / 2 && cut < held.length; cut++) bytes -= held[cut]?.bytes ?? 0
      held = held.slice(cut)
    },
    read: ({ scope, types, after, limit }) => {
      if (newest === null || after > newest || after < newest - held.length) return null
      const events: NumberedEvent[] = []
      for (let i = held.length - (newest - after); i < held.length; i++) {
        const event = held[i]?.event
        if (event === undefined || !selects({ scope, types }, { audience: event.audience, type: event.record.type }))
          continue
        // Cuts only for a further event.
        if (events.length === limit) return { events, through: events.at(-1)?.number ?? after, hasMore: true }
        events.push(event)
      }
      return { events, through: newest, hasMore: false }
    },
  }
}
