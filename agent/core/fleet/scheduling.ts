import type { BoxPlaces } from '../../ports/boxes/box-places.ts'
import type { Directory } from '../../ports/fleet/directory.ts'
import { closedNodes } from './placement.ts'

/** Input of the placement of a new box. */
export interface SchedulingRequest {
  project: string
  name: string
  /** Requested limits, or the defaults. */
  config: { cpus: number; ram_mb: number; region: string | null }
  /** True if it must be made here, because it names this node, or is made from or uses resources of this cell. */
  isBound: boolean
}

/** Chooses the cell of a new box whose request reached this one. */
export interface Scheduling {
  /** Returns the number of the cell that will make it. Null for this one. */
  cellFor(request: SchedulingRequest): Promise<string | null>
}

export interface SchedulingDeps {
  /** Null without a scheduler. */
  places: BoxPlaces | null
  directory: Pick<Directory, 'cell' | 'cells' | 'find' | 'findCell'>
  /** Milliseconds since the epoch. */
  now(): number
}

/**
 * Creates the scheduling. A box without a ready slot here goes where the scheduler puts a new one. Each project can have a few boxes that
 * wait for the scheduler. Further boxes are made here, where the scheduler only checks this node.
 */
export function createScheduling({ places, ...deps }: SchedulingDeps): Scheduling {
  const waiting = new Map<string, number>()
  const total = (): number => [...waiting.values()].reduce((sum, count) => sum + count, 0)
  return {
    cellFor: async ({ project, name, config, isBound }) => {
      if (places === null || isBound || places.ready() > 0) return null
      if (deps.directory.find({ kind: 'box', project, name }) !== null) return null
      const count = waiting.get(project) ?? 0
      if (count >= PROJECT_MAX || total() >= WAITING_MAX) return null
      waiting.set(project, count + 1)
      try {
        const { cpus, ram_mb: ramMb, region } = config
        const node = await places.choose({ cpus, ramMb }, { closedNodes: closedNodes({ region }, deps) })
        const cell = deps.directory.cells().find((each) => each.node === node)
        return cell?.cell ?? null
      } finally {
        const left = (waiting.get(project) ?? 1) - 1
        if (left === 0) waiting.delete(project)
        else waiting.set(project, left)
      }
    },
  }
}

/** Most boxes of one project, and of all, that wait for the scheduler at the same time. */
const PROJECT_MAX = 8
const WAITING_MAX = 32
