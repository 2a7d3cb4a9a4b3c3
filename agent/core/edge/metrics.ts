import type { Edge, EdgeMetrics, EdgeServed } from '../../ports/edge/edge.ts'
import type { Meter, Metric, Sample } from '../../ports/host/meter.ts'

/** Exports the metrics of the edge. While it does not answer, only `up` 0 and the count of its starts. */
export function meterEdge(meter: Meter, edge: Pick<Edge, 'metrics'>): void {
  const read = shareReads(() => edge.metrics())
  const observe = <L extends string>(
    kind: 'gauge' | 'counter',
    metric: Metric<L>,
    of: (served: EdgeServed) => readonly Sample<L>[],
  ): void =>
    meter.observable(kind, metric, async () => {
      const { served } = await read()
      return served === null ? [] : of(served)
    })
  const single = (kind: 'gauge' | 'counter', [name, help]: Named, of: (served: EdgeServed) => number): void =>
    observe(kind, { name, help, labels: [] }, (served) => [{ labels: {}, value: of(served) }])
  meter.observable('gauge', UP, async () => [{ labels: {}, value: (await read()).served === null ? 0 : 1 }])
  meter.observable('counter', STARTS, async () => [{ labels: {}, value: (await read()).starts }])
  observe('counter', ANSWERED, ({ answers }) =>
    Object.entries(answers).map(([status, value]) => ({ labels: { status }, value })),
  )
  observe('counter', REFUSED, ({ refused }) => [
    { labels: { reason: 'malformed' }, value: refused.malformed },
    { labels: { reason: 'not_admitted' }, value: refused.notAdmitted },
  ])
  observe('counter', BOX_ERRORS, ({ boxErrors }) => [
    { labels: { kind: 'connect' }, value: boxErrors.connect },
    { labels: { kind: 'answer' }, value: boxErrors.answer },
  ])
  single('counter', CONNECTIONS, ({ connections }) => connections.total)
  single('gauge', OPEN, ({ connections }) => connections.open)
  single('gauge', LIMIT, ({ connections }) => connections.limit)
  single('counter', RECEIVED, ({ receivedBytes }) => receivedBytes)
  single('counter', SENT, ({ sentBytes }) => sentBytes)
  single('gauge', NAMES, ({ names }) => names)
  single('gauge', GRANTS, ({ grants }) => grants)
}

// Shares one read among the metrics of one scrape.
function shareReads(read: () => Promise<EdgeMetrics>): () => Promise<EdgeMetrics> {
  let reading: Promise<EdgeMetrics> | null = null
  return () => {
    reading ??= read().finally(() => {
      reading = null
    })
    return reading
  }
}

type Named = readonly [name: string, help: string]

const UP = { name: 'boxyard_edge_up', help: '1 if the edge runs and answers, otherwise 0.', labels: [] } as const
const STARTS = {
  name: 'boxyard_edge_starts_total',
  help: 'Starts of the edge by this agent, without one that was already running.',
  labels: [],
} as const
const ANSWERED = {
  name: 'boxyard_edge_requests_total',
  help: 'Answered requests at URLs of boxes and at the sign-in, by status class.',
  labels: ['status'],
} as const
const REFUSED = {
  name: 'boxyard_edge_requests_refused_total',
  help: 'Requests that did not reach a box: unreadable or incomplete (malformed), or refused or redirected to sign-in (not_admitted).',
  labels: ['reason'],
} as const
const BOX_ERRORS = {
  name: 'boxyard_edge_box_errors_total',
  help: 'Failed requests to boxes: no connection (connect), or an incomplete response (answer).',
  labels: ['kind'],
} as const
const CONNECTIONS: Named = ['boxyard_edge_connections_total', 'Connections that clients made to the edge.']
const OPEN: Named = ['boxyard_edge_connections_open', 'Open connections to the edge.']
const LIMIT: Named = ['boxyard_edge_connections_limit', 'Limit on open connections to the edge.']
const RECEIVED: Named = ['boxyard_edge_received_bytes_total', 'Bytes of requests, without encryption.']
const SENT: Named = ['boxyard_edge_sent_bytes_total', 'Bytes of answers, without encryption.']
const NAMES: Named = ['boxyard_edge_hostnames', 'Host names that lead to a box at the edge.']
const GRANTS: Named = [
  'boxyard_edge_grants',
  'Tokens and sessions that the edge accepts without a request to the agent.',
]
