import type { CommandTask } from '../drivers/exec/shim-protocol.ts'
import type { Crun } from '../drivers/host/crun.ts'

/** What crun reads of boxes, kept while commands or sessions of theirs are held. */
export interface BoxNotes {
  hold(task: Pick<CommandTask, 'boxId' | 'crunStatus' | 'config'>): void
  /** Once for each `hold`. */
  release(boxId: string): void
}

/** Notes in the state directory of `crun`. */
export function createBoxNotes(crun: Pick<Crun, 'remember' | 'forget'>): BoxNotes {
  const boxes = new Map<string, { status: string; commands: number }>()
  return {
    hold: ({ boxId, crunStatus: status, config }) => {
      const known = boxes.get(boxId)
      if (known?.status !== status) crun.remember(boxId, status, config)
      boxes.set(boxId, { status, commands: (known?.commands ?? 0) + 1 })
    },
    release: (boxId) => {
      const known = boxes.get(boxId)
      if (known === undefined) return
      known.commands -= 1
      if (known.commands > 0) return
      boxes.delete(boxId)
      crun.forget(boxId)
    },
  }
}
