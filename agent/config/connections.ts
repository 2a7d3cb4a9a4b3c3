import { readFileSync } from 'node:fs'
import { CONNECTIONS_MAX_DEFAULT, connectionsWithin } from '../../shared/http/connection-limit.ts'
import { networks, whole } from './variables.ts'

/** Schemas of the variables that bound connections, part of the agent's. */
export const CONNECTION_VARIABLES = {
  BOXYARD_CONNECTIONS_MAX: whole(
    CONNECTIONS_MAX_DEFAULT.fallback,
    CONNECTIONS_MAX_DEFAULT.min,
    CONNECTIONS_MAX_DEFAULT.max,
  ),
  BOXYARD_TRUSTED_PROXIES: networks,
}

/** Returns how many connections each address of the agent may have, within the descriptors of this process. */
export function connectionsAtOnceOf(env: { BOXYARD_CONNECTIONS_MAX: number }): number {
  return connectionsWithin(env.BOXYARD_CONNECTIONS_MAX, readFileSync('/proc/self/limits', 'utf8'))
}

/** Returns how many connections the edge takes. With two descriptors for each, they use at most three fifths of its limit. */
export function edgeConnectionsOf(env: { BOXYARD_EDGE_CONNECTIONS_MAX: number }): number {
  const fifth = connectionsWithin(env.BOXYARD_EDGE_CONNECTIONS_MAX, readFileSync('/proc/self/limits', 'utf8'))
  return Math.min(env.BOXYARD_EDGE_CONNECTIONS_MAX, Math.floor(1.5 * fifth))
}
