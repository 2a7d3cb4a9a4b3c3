import { type HttpHandler, splitTarget } from '../../shared/http/messages.ts'
import type { Clock } from '../ports/host/clock.ts'
import type { Meter } from '../ports/host/meter.ts'
import type { RequestFacts } from './request-facts.ts'

/** Metrics of requests at all addresses, WebSockets included. */
export interface RequestMeter {
  /** Starts a request. Call the returned function with the status of its answer. */
  begin(facts: RequestFacts): (status: number) => void
}

/** Creates the metrics of requests. */
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

/** Serves `GET /metrics`, and nothing else. */
export function createMetricsHandler(page: { type: string; render(): Promise<string> }): HttpHandler {
  return async ({ method, target }) => {
    if (splitTarget(target).pathname !== '/metrics') return plain(404, 'The figures are at /metrics.\n')
    if (method !== 'GET') return { ...plain(405, 'GET alone.\n'), headers: { ...TEXT, allow: 'GET' } }
    return {
      status: 200,
      headers: { 'content-type': page.type, 'cache-control': 'no-store' },
      body: await page.render(),
    }
  }
}

function plain(status: number, body: string) {
  return { status, headers: TEXT, body }
}

const TEXT = { 'content-type': 'text/plain; charset=utf-8' }
const REQUESTS = {
  name: 'boxyard_requests_total',
  help: 'Answered requests, by operation of the API (none: no operation) and status class.',
  labels: ['operation', 'status'],
} as const
const DURATION = {
  name: 'boxyard_request_duration_seconds',
  help: 'Time from the head of a request to the head of its response.',
  labels: ['operation'],
  bounds: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
} as const
const IN_FLIGHT = {
  name: 'boxyard_requests_in_flight',
  help: 'Requests in progress.',
  labels: [],
} as const
