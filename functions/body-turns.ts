import { setImmediate } from 'node:timers/promises'
import { inLoopTurns, LOOP_TURNS, type OpenFlow } from '../shared/flow-turns.ts'
import { createProjectTurns, createRecentProjects } from '../shared/project-turns.ts'
import { piecesByTurns } from '../shared/pulled-flow.ts'
import type { FlowOwner } from '../shared/rotation.ts'

/** Parses and checks bodies and queries in a fair queue of owners. An owner that sends many long ones leaves the CPU to the others. */
export interface BodyTurns {
  /** Notes that an owner sends a request. If it has a verified token, the bytes of others make room for it. */
  note(owner: string, isVerified: boolean): void
  /**
   * Runs `work` on a body and a query that together have `sizeBytes`. Runs it at once if they are short, otherwise in a turn of `owner`.
   */
  run<T>(owner: string, sizeBytes: number, work: () => T): Promise<T>
  /** Forwards bytes from an owner in the fair queue of the event loop. */
  pieces(owner: string, pieces: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array>
  /** Returns a function that opens the turns of the event loop for bytes to an owner. */
  openFlow(owner: string): OpenFlow
}

/** Creates the fair queue of one server. */
export function createBodyTurns(): BodyTurns {
  const recent = createRecentProjects()
  const turns = createProjectTurns({ atOnce: 1, recent })
  return {
    note: (owner, isVerified) => {
      recent.note(owner)
      if (isVerified) LOOP_TURNS.note(owner)
    },
    pieces: (owner, pieces) => piecesByTurns(pieces, flowOwner(owner)),
    openFlow: (owner) => inLoopTurns(flowOwner(owner)),
    run: async (owner, sizeBytes, work) => {
      recent.note(owner)
      return sizeBytes <= SHORT_BYTES ? work() : turns.run(owner, () => afterWhatCame().then(work))
    },
  }
}

/** The front does not distinguish the boxes of a project. */
function flowOwner(owner: string): FlowOwner {
  return { project: owner, box: '' }
}

/** Handles requests that have arrived by now, so that every waiting owner is known when this turn ends. */
async function afterWhatCame(): Promise<void> {
  await setImmediate()
}

/** Parsing takes some tenths of a millisecond, whatever it holds. */
const SHORT_BYTES = 1024
