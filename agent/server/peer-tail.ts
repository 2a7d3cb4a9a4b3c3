import type { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import type { Logger } from '../../shared/log.ts'
import type { Clock } from '../ports/host/clock.ts'
import type { NumberedEvent } from '../ports/store/events.ts'
import { cellAway } from './cells/cell-links.ts'
import type { EventRing } from './event-ring.ts'
import type { PeerCaller } from './peer-caller.ts'
import { PEER_PATHS, TAIL_LINE, TAIL_QUIET_MS } from './peer-messages.ts'

/** The one long connection to another cell. It brings new events, and shows whether the cell can be reached. */
export interface PeerTail {
  /**
   * Resolves if the cell can be reached now. Opens the tail if there is none, and waits only for its first outcome. The tail stays for a
   * minute after the last call.
   * @throws ServiceError `agent_unavailable`
   */
  reach(): Promise<void>
  /** Reopens the tail after a request to the cell has failed. A request that only `isLate` means nothing while the tail works. */
  suspect(isLate: boolean): void
  close(): void
}

export interface PeerTailDeps {
  /** Number of the other cell, and of this one. */
  cell: string
  door: string
  caller: PeerCaller
  ring: EventRing
  /** Called with new events. With none, once the cell can be reached again. */
  onEvents(events: readonly NumberedEvent[]): void
  clock: Clock
  logger: Logger
}

/** Creates the tail, which reopens while it is used, at first soon, then every 2 s. */
export function createPeerTail(deps: PeerTailDeps): PeerTail {
  const { cell, clock } = deps
  const closing = new AbortController()
  let usedAt = 0
  let isHere = false
  /** Settles with the first outcome. Null: it does not run. */
  let running: PromiseWithResolvers<void> | null = null
  let heardAt = 0
  let attempt = new AbortController()
  const isUsed = (): boolean => !closing.signal.aborted && clock.now() - usedAt < UNUSED_MS
  const run = async (outcome: PromiseWithResolvers<void>): Promise<void> => {
    for (let pause = PAUSE_MS; isUsed(); pause = Math.min(2 * pause, PAUSE_MAX_MS)) {
      attempt = new AbortController()
      const onHeard = (): void => {
        heardAt = clock.now()
      }
      const onOpen = (): void => {
        isHere = true
        pause = PAUSE_MS
        outcome.resolve()
        deps.onEvents([])
      }
      await follow({ ...deps, attempt, isUsed, onOpen, onHeard }).catch((error: unknown) =>
        noteLoss(deps, isHere, error),
      )
      isHere = false
      outcome.resolve()
      if (isUsed()) await clock.sleep(pause, closing.signal)
    }
    running = null
  }
  return {
    reach: async () => {
      usedAt = clock.now()
      if (closing.signal.aborted) throw cellAway(cell)
      if (running === null) {
        running = Promise.withResolvers<void>()
        void run(running)
      }
      await running.promise
      if (!isHere) throw cellAway(cell)
    },
    suspect: (isLate) => {
      if (!isLate || clock.now() - heardAt > HEARD_MS) attempt.abort()
    },
    close: () => {
      closing.abort()
      attempt.abort()
    },
  }
}

interface Following extends PeerTailDeps {
  attempt: AbortController
  isUsed(): boolean
  onOpen(): void
  /** Called at any input. */
  onHeard(): void
}

/** Follows until the cell ends the tail or sends nothing for too long, or until the tail is unused. */
async function follow(following: Following): Promise<void> {
  const { door, caller, ring, attempt, isUsed, onHeard } = following
  const end = (): void => attempt.abort()
  let watchdog = setTimeout(end, HEAD_MS)
  try {
    const answer = await caller.post(PEER_PATHS.tail, { door, after: ring.newest() }, attempt.signal)
    answer.body.on('error', () => undefined)
    if (answer.status !== 200) {
      answer.body.destroy()
      throw new Error(`it answered ${answer.status}`)
    }
    for await (const lines of linesOf(answer.body)) {
      clearTimeout(watchdog)
      onHeard()
      if (!isUsed()) return
      watchdog = setTimeout(end, SILENCE_MS)
      takeLines(lines, following)
    }
  } finally {
    clearTimeout(watchdog)
    end()
  }
}

function takeLines(lines: readonly string[], { ring, onOpen, onEvents }: Following): void {
  const events: NumberedEvent[] = []
  for (const line of lines) {
    if (line === '') continue
    const said = TAIL_LINE.parse(JSON.parse(line))
    if ('record' in said) {
      const event = said as NumberedEvent
      ring.add(event, line.length)
      events.push(event)
    } else {
      ring.beginAfter(said.after)
      onOpen()
    }
  }
  if (events.length > 0) onEvents(events)
}

/** Yields the whole lines of each piece together. @throws Error for one longer than any event */
async function* linesOf(pieces: Readable): AsyncGenerator<string[]> {
  const decoder = new StringDecoder('utf8')
  let rest = ''
  for await (const piece of pieces) {
    const text = decoder.write(piece as Buffer)
    // A line in many short pieces is put together once.
    const lines = text.includes('\n') ? (rest + text).split('\n') : []
    rest = lines.pop() ?? rest + text
    if (rest.length > LINE_MAX) throw new Error('it sent a line without an end')
    yield lines
  }
}

function noteLoss({ cell, logger }: PeerTailDeps, wasHere: boolean, error: unknown): void {
  if (wasHere) logger.warn('failed to follow events of another cell', { cell, error })
}

/** Time without a reader after which a tail ends. */
const UNUSED_MS = 60_000
const HEAD_MS = 3_000
const SILENCE_MS = 3 * TAIL_QUIET_MS
/** A line is due by then. */
const HEARD_MS = TAIL_QUIET_MS + 1_000
const PAUSE_MS = 250
const PAUSE_MAX_MS = 2_000
/** Most characters of a line. Events are shorter, since their texts are cut. */
const LINE_MAX = 1024 * 1024
