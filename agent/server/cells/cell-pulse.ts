import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { setTimeout as delay } from 'node:timers/promises'
import type { HttpHandler } from '../../../shared/http/messages.ts'

/** Certificates of this agent towards others, in PEM. */
export interface LinkTls {
  ca: string
  cert: string
  key: string
}

/** Watches exchanges with the agents of other cells, so that a stopped or unreachable agent delays no request for long. */
export interface CellPulse {
  /**
   * Runs an exchange with the agent at `channelUrl` up to the head of its answer. Its signal aborts once that agent shows no sign of
   * life, but never while it is only slow to answer.
   * @throws CellSilence on that abort, and at once, with nothing sent, for an agent that showed no sign of life a moment ago
   */
  watch<T>(channelUrl: string, exchange: (signal: AbortSignal) => Promise<T>): Promise<T>
  /** Stops watching. Exchanges under way continue. */
  close(): void
}

/** Reports that the agent of another cell shows no sign of life. */
export class CellSilence extends Error {
  override readonly name = 'CellSilence'
  /** False: nothing was sent to it. */
  readonly wasSent: boolean

  constructor(wasSent: boolean) {
    super('it shows no sign of life')
    this.wasSent = wasSent
  }
}

/** Times in ms. */
export interface PulseTimes {
  /** Time without an answer before it probes an agent, and the interval of the probes after that. */
  lookMs: number
  /** Time for one probe. After two missed probes the agent is silent. */
  signMs: number
  /** While an agent is silent, probes continue until no exchange has wanted it for this long. */
  forgetMs: number
}

export interface CellPulseOptions {
  tls: LinkTls | null
  /** Default: two seconds for each. */
  times?: PulseTimes | undefined
}

/**
 * Creates the liveness probe. Any answer is a sign of life. Anything that an agent returns on a connection of its own is one too, even a
 * refusal.
 */
export function createCellPulse({ tls, times = TIMES }: CellPulseOptions): CellPulse {
  const agents = new Map<string, Watched>()
  const closing = new AbortController()
  const follow = async (url: string, watched: Watched): Promise<void> => {
    for (let missed = 0; ; ) {
      if (missed === 0 || watched.isSilent) await delay(times.lookMs, undefined, { signal: closing.signal, ref: false })
      if (isForgotten(watched, times)) break
      const isWanted = watched.isSilent || isDue(watched, times)
      const isMissed = isWanted && !(await givesSign(url, { tls, ms: times.signMs, signal: closing.signal }))
      missed = isMissed ? missed + 1 : 0
      if (missed >= MISSED_MAX) fallSilent(watched)
      else if (isWanted && !isMissed) hear(watched)
    }
    agents.delete(url)
  }
  const watchedAt = (url: string): Watched => {
    const known = agents.get(url)
    if (known !== undefined) return known
    const made: Watched = { waiting: new Map(), heardAt: 0, wantedAt: 0, isSilent: false }
    agents.set(url, made)
    // Only the close ends it.
    follow(url, made).catch(() => undefined)
    return made
  }
  return {
    watch: async (channelUrl, exchange) => {
      const watched = watchedAt(channelUrl)
      watched.wantedAt = performance.now()
      if (watched.isSilent) throw new CellSilence(false)
      const cut = new AbortController()
      watched.waiting.set(cut, watched.wantedAt)
      try {
        const answer = await exchange(cut.signal)
        hear(watched)
        return answer
      } catch (error) {
        throw cut.signal.aborted ? cut.signal.reason : error
      } finally {
        watched.waiting.delete(cut)
      }
    },
    close: () => closing.abort(),
  }
}

/** The state of an agent that exchanges need. */
interface Watched {
  /** Exchanges without an answer, the oldest first, with the time at which each began. */
  waiting: Map<AbortController, number>
  heardAt: number
  wantedAt: number
  isSilent: boolean
}

function hear(watched: Watched): void {
  watched.heardAt = performance.now()
  watched.isSilent = false
}

function fallSilent(watched: Watched): void {
  watched.isSilent = true
  for (const cut of watched.waiting.keys()) cut.abort(new CellSilence(true))
}

function isDue({ waiting, heardAt }: Watched, { lookMs }: PulseTimes): boolean {
  const [oldest] = waiting.values()
  return oldest !== undefined && performance.now() - Math.max(oldest, heardAt) >= lookMs
}

function isForgotten({ waiting, wantedAt, isSilent }: Watched, { forgetMs }: PulseTimes): boolean {
  return waiting.size === 0 && (!isSilent || performance.now() - wantedAt >= forgetMs)
}

/** Probes an agent over a separate connection. Never rejects. */
function givesSign(
  channelUrl: string,
  { tls, ms, signal }: { tls: LinkTls | null; ms: number; signal: AbortSignal },
): Promise<boolean> {
  const start = tls === null ? httpRequest : httpsRequest
  return new Promise((resolve) => {
    const outgoing = start(new URL(PULSE_PATH, channelUrl), { agent: false, signal, ...tls })
    const settle = (isAlive: boolean): void => {
      clearTimeout(late)
      resolve(isAlive)
      outgoing.destroy()
    }
    const late = setTimeout(() => settle(false), ms).unref()
    outgoing.once('response', () => settle(true))
    outgoing.on('error', (error: Error & { code?: string }) => settle(!NO_WAY.has(error.code ?? '')))
    outgoing.end()
  })
}

/** Wraps the handler of the channel, so that other agents get a sign of life. It needs no signature, and reveals nothing else. */
export function answerPulse(others: HttpHandler): HttpHandler {
  return (request) => (request.target === PULSE_PATH ? Promise.resolve(SIGN) : others(request))
}

const PULSE_PATH = '/cells/pulse'
const SIGN = { status: 204, headers: {}, body: null }
/** Errors of connections that no host has answered. */
const NO_WAY: ReadonlySet<string> = new Set(['EHOSTUNREACH', 'ENETUNREACH', 'EHOSTDOWN', 'ETIMEDOUT', 'ABORT_ERR'])
/** Missed probes before an agent is silent. One may be missed because this agent itself was held up. */
const MISSED_MAX = 2
const TIMES: PulseTimes = { lookMs: 2_000, signMs: 2_000, forgetMs: 30_000 }
