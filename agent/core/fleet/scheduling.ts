import type { BoxPlaces } from '../../ports/boxes/box-places.ts'
import type { Directory } from '../../ports/fleet/directory.ts'
import { closedNodes } from './placement.ts'

/** What the place of a new box depends on. */
export interface SchedulingRequest {
  project: string
  name: string
  /** Limits that were asked for, or those of boxes without. */
  config: { cpus: number; ram_mb: number; region: string | null }
  /** True if it must be made here: it names its node, or is made from, or uses, what is here. */
  isBound: boolean
}

/** Chooses the cell of a new box that has come to this one. */
export interface Scheduling {
  /** Returns the number of the cell that is to make it; null: this one. */
  cellFor(request: SchedulingRequest): Promise<string | null>
}

export interface SchedulingDeps {
  /** Null: no scheduler chooses. */
  places: BoxPlaces | null
  directory: Pick<Directory, 'cell' | 'cells' | 'find' | 'findCell'>
  /** Milliseconds since the epoch. */
  now(): number
}

/**
 * Creates it: a box that has no ready place here goes where the scheduler puts one more. Of those that wait for the scheduler each project
 * has some; what is beyond them is made here, where the scheduler is asked about that node alone.
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

/** Boxes of one project, and of all, that wait for the scheduler at once. */
const PROJECT_MAX = 8
const WAITING_MAX = 32
