import { execFileSync } from 'node:child_process'
import { linksOf } from '../../../infra/cluster/node-space.ts'
import type { ClusterRecord } from '../../../infra/cluster/record.ts'
import type { FleetOfTests } from './cells.ts'

/** A temporary fault in a fleet. */
export interface FleetFault {
  name: string
  strike(): Promise<void>
  /** Ends the fault. Resolves once the failed part serves again. */
  mend(): Promise<void>
}

/** Cuts or restores the link of a node in a cluster of several. `number` counts from 1. */
export function setLink(record: ClusterRecord, number: number, state: 'up' | 'down'): void {
  const link = linksOf(record)[number]
  if (link === undefined) throw new Error(`There is no node ${number} with a link in the cluster ${record.name}.`)
  execFileSync('ip', ['link', 'set', link, state])
}

/** Returns the faults of a fleet whose cells are apart. They hit the agent, front and link of each cell, and the API server. */
export function faultsOf({ cells, plane }: FleetOfTests): FleetFault[] {
  const ofCells = cells.flatMap(({ cell, service }, index): FleetFault[] => [
    {
      name: `agent of ${cell} killed`,
      strike: () => service.killAgent(),
      mend: () => service.startAgent(),
    },
    {
      name: `front of ${cell} killed`,
      strike: () => service.killFront(),
      mend: () => service.startFront(),
    },
    {
      name: `link of ${cell} down`,
      strike: async () => setLink(plane.record, index + 1, 'down'),
      mend: async () => setLink(plane.record, index + 1, 'up'),
    },
  ])
  return [...ofCells, { name: 'API server away', strike: () => plane.stopServer(), mend: () => plane.startServer() }]
}
