import type { Clock } from '../ports/host/clock.ts'
import type { Meter } from '../ports/host/meter.ts'
import type { RequestFacts } from './request-facts.ts'

/** Counts requests, of whatever address they came to, WebSockets included. */
export interface RequestMeter {
  /** Begins one; what it returns is told the status of its answer. */
  begin(facts: RequestFacts): (status: number) => void
}

/** A meter of requests, none so far. */
export function createRequestMeter(meter: Meter, clock: Clock): RequestMeter {
  const count = meter.counter(REQUESTS)
  const time = meter.histogram(DURATION)
  let inFlight = 0
  meter.observable('gauge', IN_FLIGHT, () => [{ labels: {}, value: inFlight }])
  return {
    begin: (facts) => {
      inFlight += 1
      return (status) => {
        inFlight -= 1
        const operation = facts.operation?.id ?? 'none'
        count({ operation, status: `${Math.floor(status / 100)}xx` })
        time({ operation }, Math.max(0, clock.now() - facts.startedAt) / 1000)
      }
    },
  }
}

const REQUESTS = {
  name: 'boxyard_requests_total',
  help: 'Requests that were answered, by operation of the API (none: of no operation) and class of the status.',
  labels: ['operation', 'status'],
} as const
const DURATION = {
  name: 'boxyard_request_duration_seconds',
  help: 'Time from the head of a request to that of its answer.',
  labels: ['operation'],
  bounds: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
} as const
const IN_FLIGHT = {
  name: 'boxyard_requests_in_flight',
  help: 'Requests that are not answered yet.',
  labels: [],
} as const
