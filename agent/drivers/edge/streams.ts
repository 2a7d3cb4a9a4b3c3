import type { EdgeUse } from '../../ports/edge/edge.ts'
import type { Clock } from '../../ports/host/clock.ts'
import { type BoxStream, type BoxUse, readStreams, readUses, shutDownStreams } from './admin.ts'
import type { FallbackServer } from './fallback-server.ts'
import { SHARED_ENTRY } from './names.ts'
import type { EdgeProcess } from './process.ts'

type Processes = readonly Pick<EdgeProcess, 'socket'>[]

/** The agent's side of requests that HAProxy could not send to a box itself, because it has no target for them. */
type Fallback = Pick<FallbackServer, 'cut'>

/** Sums the usage of each box. A process that does not answer counts as unused. */
export async function readUse(processes: Processes): Promise<Map<string, EdgeUse>> {
  const use = new Map<string, EdgeUse>()
  for (const { boxId, open, requests } of await readAll(processes, { isOpen: false })) {
    const sum = use.get(boxId) ?? { requests: 0, open: 0 }
    use.set(boxId, { requests: sum.requests + requests, open: sum.open + open })
  }
  return use
}

/** Lists the credentials with open requests. A process that does not answer has none. */
export async function readCredentials(processes: Processes): Promise<Set<string>> {
  const uses = await readAll(processes, { isOpen: true })
  return new Set(uses.flatMap(({ credential }) => credential ?? []))
}

async function readAll(processes: Processes, which: { isOpen: boolean }): Promise<BoxUse[]> {
  const tables = await Promise.all(processes.map(({ socket }) => readUses(socket, which).catch(() => [])))
  return tables.flat()
}

export interface DrainOptions {
  target: { address: string; port: number }
  graceMs: number
  clock: Clock
  processes(): Processes
  fallback: Fallback | null
}

/** Resolves once no request is open to the target. Shuts down requests that remain after the grace period, for at most `DRAIN_CUT_MS`. */
export async function drainTarget({ target, graceMs, clock, processes, fallback }: DrainOptions): Promise<void> {
  const name = `${target.address}:${target.port}`
  const deadline = clock.now() + graceMs
  // Requires two quiet polls, because a request that was just routed may not be counted yet.
  for (let quiet = 0; quiet < 2 && clock.now() < deadline + DRAIN_CUT_MS; ) {
    const uses = await readAll(processes(), { isOpen: true })
    quiet = uses.every(({ target: one }) => one !== name) ? quiet + 1 : 0
    if (quiet === 0 && clock.now() >= deadline) {
      await cutOff(processes(), name)
      fallback?.cut(name, { lasting: true })
    }
    if (quiet < 2) await clock.sleep(quiet > 0 ? DRAIN_QUIET_MS : DRAIN_POLL_MS)
  }
}

async function cutOff(processes: Processes, name: string): Promise<void> {
  for (const { socket } of processes) {
    const streams = await readStreams(socket).catch(() => [])
    await shutDownStreams(
      socket,
      streams.filter(({ target }) => target === name),
    )
  }
}

export interface EndingOptions {
  processes(): Processes
  /** Returns the credentials that have any grant now. */
  granted(): ReadonlySet<string>
  fallback(): Fallback | null
  clock: Clock
}

/** Looks for requests that no grant admits any more, for a second after `begin`, because HAProxy counts a request with some delay. */
export class UngrantedLooks {
  readonly #options: EndingOptions
  /** End of the looks, in ms of the clock, or 0 if none is due. */
  #until = 0

  constructor(options: EndingOptions) {
    this.#options = options
  }

  begin(): void {
    this.#until = this.#options.clock.now() + LOOK_MS
  }

  /** Ends the requests that it finds, if a look is due. @throws Error for a process that does not answer, and the look stays due */
  async look(): Promise<void> {
    if (this.#until === 0) return
    const until = this.#until
    const isLast = this.#options.clock.now() >= until
    await endUngranted(this.#options)
    if (isLast && this.#until === until) this.#until = 0
  }
}

/**
 * Ends the requests of credentials without any grant. WebSockets and event streams have a number that identifies them, except streams of a
 * client with too many refusals. Those, and other requests to one port of a box, cannot be distinguished. If several credentials have some open, requests of the ended one get `SHARED_MS` to complete.
 * Then all of them end.
 * @throws Error for a process that does not answer, once the others are done
 */
async function endUngranted({ processes, ...options }: EndingOptions): Promise<void> {
  const ends = await Promise.allSettled(processes().map(({ socket }) => endUngrantedOf(socket, options)))
  const failed = ends.find((end) => end.status === 'rejected')
  if (failed !== undefined) throw failed.reason
}

async function endUngrantedOf(
  socket: string,
  { granted, clock, fallback }: Omit<EndingOptions, 'processes'>,
): Promise<void> {
  const deadline = clock.now() + SHARED_MS
  for (;;) {
    const uses = await readUses(socket, { isOpen: true })
    const known = uses.some(({ credential }) => credential !== null) ? granted() : NONE
    const ended = uses.filter(({ credential }) => credential !== null && !known.has(credential))
    if (ended.length === 0) return
    const isLast = clock.now() >= deadline
    const streams = await readStreams(socket)
    await shutDownStreams(
      socket,
      ended.flatMap((use) => streamsOf(use, { streams, uses, ended, isLast })),
    )
    for (const use of ended) {
      if (typeof use.stream !== 'number' && mayEnd(use, { uses, ended, isLast }))
        fallback()?.cut(use.target, { lasting: use.stream === SHARED_ENTRY })
    }
    if (isLast) return
    await clock.sleep(SHARED_POLL_MS)
  }
}

interface OpenNow {
  streams: readonly BoxStream[]
  uses: readonly BoxUse[]
  ended: readonly BoxUse[]
  /** If true, also end requests that cannot be distinguished. */
  isLast: boolean
}

function streamsOf(use: BoxUse, now: OpenNow): BoxStream[] {
  const { stream, target } = use
  const { streams, uses } = now
  if (typeof stream === 'number') return streams.filter(({ number }) => number === stream)
  if (!mayEnd(use, now)) return []
  const numbered = new Set(uses.filter((other) => other.target === target).map((other) => other.stream))
  return streams.filter((one) => one.target === target && !numbered.has(one.number))
}

/** Returns true if requests without a number should end, because all their credentials have ended or their time has passed. */
function mayEnd({ target }: BoxUse, { uses, ended, isLast }: Omit<OpenNow, 'streams'>): boolean {
  return isLast || uses.every((use) => use.target !== target || typeof use.stream === 'number' || ended.includes(use))
}

const NONE: ReadonlySet<string> = new Set()
/** Far longer than HAProxy takes from admitting a request to counting it. */
const LOOK_MS = 1_000
const DRAIN_POLL_MS = 20
const DRAIN_CUT_MS = 5_000
const DRAIN_QUIET_MS = 5
const SHARED_MS = 600
const SHARED_POLL_MS = 50
