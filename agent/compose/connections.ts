import type { Server } from 'node:net'
import {
  boundConnections,
  CLOSED_REASONS,
  type ClosedReason,
  type ConnectionBounds,
} from '../../shared/http/connections.ts'
import { createSourceAddresses, type SourceAddresses } from '../../shared/http/source-address.ts'
import type { Logger } from '../../shared/log.ts'
import type { AgentSettings } from '../config/agent.ts'
import type { Meter } from '../ports/host/meter.ts'

/** The listeners of the agent: its internal port, the data address, the metrics, and the sockets on which the edge asks. */
export type ListenerName = keyof typeof SHARES

/** Bounds the connections of all listeners of the agent, and meters them. */
export interface ConnectionGuard {
  bound(server: Server, listener: ListenerName): void
  /** The proxies that are trusted at a listener. */
  sources(listener: ListenerName): SourceAddresses
}

/** Creates the guard. The settings' `max` connections apply to each address. */
export function createConnectionGuard(
  { limits, trustedProxies }: Pick<AgentSettings, 'limits' | 'trustedProxies'>,
  { meter, logger }: { meter: Meter; logger: Logger },
): ConnectionGuard {
  const closed = new Map<ListenerName, Map<ClosedReason, number>>()
  const open = new Map<ListenerName, ConnectionBounds[]>()
  const none = createSourceAddresses([])
  const proxies = createSourceAddresses(trustedProxies)
  const sources = (listener: ListenerName): SourceAddresses => (listener === 'data' ? proxies : none)
  meter.observable('gauge', OPEN, () =>
    [...open].map(([listener, all]) => ({
      labels: { listener },
      value: all.reduce((sum, each) => sum + each.open(), 0),
    })),
  )
  meter.observable('counter', CLOSED, () =>
    [...closed].flatMap(([listener, counts]) =>
      CLOSED_REASONS.map((reason) => ({ labels: { listener, reason }, value: counts.get(reason) ?? 0 })),
    ),
  )
  return {
    sources,
    bound: (server, listener) => {
      const counts = closed.get(listener) ?? new Map<ClosedReason, number>()
      closed.set(listener, counts)
      const bounds = boundConnections(server, {
        listener,
        max: SHARES[listener](limits.connectionsAtOnce),
        sources: sources(listener),
        logger,
        onClosed: (reason) => counts.set(reason, (counts.get(reason) ?? 0) + 1),
      })
      open.set(listener, [...(open.get(listener) ?? []), bounds])
    },
  }
}

const SHARES = {
  agent: (max: number) => max,
  data: (max: number) => max,
  // Each of its sockets.
  edge: (max: number) => Math.ceil(max / 8),
  metrics: (max: number) => Math.min(max, 64),
}
const OPEN = {
  name: 'boxyard_connections_open',
  help: 'Connections to the agent, by listener.',
  labels: ['listener'],
} as const
const CLOSED = {
  name: 'boxyard_connections_closed_total',
  help: 'Connections that the agent closed to stay within limits: refused at once, displaced by newer ones while idle, or unread for a minute.',
  labels: ['listener', 'reason'],
} as const
