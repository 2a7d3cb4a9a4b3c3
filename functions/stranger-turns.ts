import type { ServiceError } from '../shared/errors.ts'
import { createFairShares } from '../shared/fair-shares.ts'
import { FRONT_BOUNDS } from '../shared/http/bounds.ts'
import type { HttpRequest } from '../shared/http/messages.ts'
import { sourceKey } from '../shared/http/source-key.ts'
import { refusal } from '../shared/refusals.ts'
import type { Progress } from './reception.ts'

/** Delays refusals of requests without a verified token, by source address, once an address has had very many. */
export interface StrangerTurns {
  /**
   * Resolves at once with null for an answer that is not a refusal (4xx), for a caller with a token, and within the rate of the address.
   * Otherwise resolves in its turn with `rate_limited`, to send instead of the refusal. Resolves at once, with `Connection: close`, if too
   * many requests of that address are already waiting.
   */
  wait(
    from: Pick<HttpRequest, 'clientAddress'>,
    to: Pick<Progress, 'claims'>,
    answer: { status: number },
  ): Promise<ServiceError | null>
  /** Ends all waits, now and in the future. */
  close(): void
}

/** Creates the queue of one front. `now` is in milliseconds. */
export function createStrangerTurns({ now }: { now(): number }): StrangerTurns {
  const { refusalsPerSecond, refusalsBurst, refusalsWaiting } = FRONT_BOUNDS
  const stepMs = 1000 / refusalsPerSecond
  const room = createFairShares(refusalsWaiting)
  /** The end of each source's charged time, least recently used first. */
  const doneAt = new Map<string, number>()
  const waiting = new Set<() => void>()
  let isClosed = false
  const note = (source: string, at: number): void => {
    doneAt.delete(source)
    doneAt.set(source, at)
    if (doneAt.size > SOURCES_MAX) doneAt.delete(doneAt.keys().next().value ?? '')
  }
  const sleep = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer)
        waiting.delete(wake)
        resolve()
      }
      const timer = setTimeout(wake, ms)
      waiting.add(wake)
    })
  return {
    wait: async ({ clientAddress }, { claims }, { status }) => {
      if (isClosed || claims !== null || status < 400 || status >= 500) return null
      const source = sourceKey(clientAddress)
      const next = Math.max(doneAt.get(source) ?? 0, now()) + stepMs
      const waitMs = next - refusalsBurst * stepMs - now()
      if (waitMs <= 0) {
        note(source, next)
        return null
      }
      const release = room.take(source)
      if (release === null) return tooMany(waitMs, { Connection: 'close' })
      note(source, next)
      await sleep(waitMs)
      release()
      return tooMany(waitMs)
    },
    close: () => {
      isClosed = true
      for (const wake of waiting) wake()
    },
  }
}

function tooMany(waitMs: number, headers: Record<string, string> = {}): ServiceError {
  const seconds = Math.max(1, Math.ceil(waitMs / 1000))
  return refusal(
    'rate_limited',
    [
      'Too many requests without a valid token come from this address.',
      `Send a valid token, or try again in ${seconds} s.`,
    ],
    { headers: { 'Retry-After': String(seconds), ...headers } },
  )
}

const SOURCES_MAX = 10_000
