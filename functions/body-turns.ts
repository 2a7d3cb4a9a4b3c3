import { setImmediate } from 'node:timers/promises'
import { createProjectTurns, createRecentProjects } from '../shared/project-turns.ts'

/** Has bodies and queries parsed and checked by turns of their owners, so that who sends many long ones leaves the processor to the others. */
export interface BodyTurns {
  /** Knows an owner who asks for something that is not run here. */
  note(owner: string): void
  /** Knows the owner, and runs `work` on a body and a query of `sizeBytes` together: at once if that is short, else in a turn of `owner`. */
  run<T>(owner: string, sizeBytes: number, work: () => T): Promise<T>
}

/** Creates the turns of one server. */
export function createBodyTurns(): BodyTurns {
  const recent = createRecentProjects()
  const turns = createProjectTurns({ atOnce: 1, recent })
  return {
    note: (owner) => recent.note(owner),
    run: async (owner, sizeBytes, work) => {
      recent.note(owner)
      return sizeBytes <= SHORT_BYTES ? work() : turns.run(owner, () => afterWhatCame().then(work))
    },
  }
}

/** Lets in what has arrived meanwhile, so that all who wait for a turn are known when this one ends. */
async function afterWhatCame(): Promise<void> {
  await setImmediate()
}

/** Takes some tenths of a millisecond, whatever is in it. */
const SHORT_BYTES = 1024
