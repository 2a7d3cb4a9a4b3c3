import type { HealthFault } from '../../../shared/schemas/health.ts'
import { timestamp } from '../../../shared/time.ts'
import type { Cell } from '../../ports/fleet/directory.ts'

/** Returns true if the agent of a cell reported in the last three minutes that it takes requests. It reports each minute. */
export function isPresent({ isReady, heartbeatAt }: Cell, now: number): boolean {
  return isReady && heartbeatAt !== null && now - heartbeatAt < SILENT_MS
}

/** Returns a fault for each cell whose agent is away: the first ten by number, and one for all others. */
export function awayCellFaults(cells: readonly Cell[], now: number): HealthFault[] {
  const away = cells.filter((cell) => !isPresent(cell, now)).sort((a, b) => (a.cell < b.cell ? -1 : 1))
  const faults = away.slice(0, FAULTS_MAX).map(({ cell, node, isReady, heartbeatAt }) => {
    const last =
      heartbeatAt === null ? 'has never sent a heartbeat' : `sent its last heartbeat at ${timestamp(heartbeatAt)}`
    const how = isReady || heartbeatAt === null ? last : `was stopped at ${timestamp(heartbeatAt)}`
    return { code: 'cell_away', evidence: `The agent of cell ${cell}, on node ${node}, ${how}.`, remedy: AWAY_REMEDY }
  })
  const left = away.length - faults.length
  if (left > 0)
    faults.push({ code: 'cell_away', evidence: `The agents of ${left} more cells are also away.`, remedy: AWAY_REMEDY })
  return faults
}

const SILENT_MS = 180_000
const FAULTS_MAX = 10
const AWAY_REMEDY =
  'Start it again, or delete its Agent object if the cell is gone permanently. Its boxes keep running, but are unreachable until then.'
