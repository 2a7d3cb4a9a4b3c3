import * as z from 'zod'
import { origin, whole } from './variables.ts'

/** This agent's place in a fleet. */
export interface FleetSettings {
  /** Number of its cell. */
  cell: string
  /** Base URL at which other agents reach its channel. Null: the address that it listens at. */
  channelUrl: string | null
  /** Port for the edges of other cells, at the address of the channel. 0 picks any free port. */
  edgePort: number
  /** How to choose cells for new resources. */
  placement: 'spread' | 'project'
}

/** Schemas of the fleet's variables, part of the agent's. */
export const FLEET_VARIABLES = {
  // One number has one spelling, because ids of operations have it with zeros before it.
  BOXYARD_CELL: z
    .string()
    .regex(
      /^([0-9a-hjkmnp-tv-z]{2}|[1-9a-hjkmnp-tv-z][0-9a-hjkmnp-tv-z]{2,3})$/,
      'expected 2 to 4 of 0-9 and a-z without i, l, o and u, such as k1. With more than 2, the first is not 0',
    )
    .optional(),
  BOXYARD_CELL_URL: origin.optional(),
  BOXYARD_CELL_EDGE_PORT: whole(8093, 0, 65_535),
  BOXYARD_PLACEMENT: z.enum(['spread', 'project']).optional(),
}

type FleetVariables = z.infer<z.ZodObject<typeof FLEET_VARIABLES>> & { BOXYARD_AGENT_HOST: string }

/**
 * Returns the place in a fleet. Null for an agent without one.
 * @throws Error for a URL or a placement without a cell, and a cell without a URL where the channel listens at all addresses
 */
export function fleetOf(env: FleetVariables): FleetSettings | null {
  const { BOXYARD_CELL: cell, BOXYARD_CELL_URL: channelUrl, BOXYARD_AGENT_HOST: host } = env
  const { BOXYARD_PLACEMENT: placement } = env
  if (cell === undefined) {
    if (channelUrl !== undefined) throw new Error('BOXYARD_CELL_URL is given without BOXYARD_CELL.')
    if (placement !== undefined) throw new Error('BOXYARD_PLACEMENT is given without BOXYARD_CELL.')
    return null
  }
  if (channelUrl === undefined && EVERY_ADDRESS.has(host))
    throw new Error(
      `BOXYARD_AGENT_HOST=${host}: needs BOXYARD_CELL_URL, where other agents reach the channel of cell ${cell}.`,
    )
  return {
    cell,
    channelUrl: channelUrl ?? null,
    edgePort: env.BOXYARD_CELL_EDGE_PORT,
    placement: placement ?? 'spread',
  }
}

const EVERY_ADDRESS: ReadonlySet<string> = new Set(['0.0.0.0', '::'])
