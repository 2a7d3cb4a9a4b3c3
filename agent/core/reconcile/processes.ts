import type { BoxExit, Runtime } from '../../ports/boxes/runtime.ts'
import type { KeyedQueue } from '../common/keyed-queue.ts'

/** Tracks which boxes run, and how the inits of others ended. */
export interface BoxProcesses {
  /** Adopts the boxes that earlier processes started, but those in `ignored`. Call once. */
  recover(ignored: ReadonlySet<string>): Promise<void>
  isRunning(boxId: string): boolean
  /** Tests whether a box runs since a start that succeeded in this process, and not since an earlier one. */
  wasStarted(boxId: string): boolean
  running(): ReadonlySet<string>
  /** How the init of a box ended without a request. Null if it has not, or that was not seen. */
  exitOf(boxId: string): BoxExit | null
  /** Notes that a box was started, unless its exit was reported already, which may happen first. */
  noteStarted(boxId: string): void
  /** Notes that a box was stopped, because the runtime reports no exit that was requested. */
  noteStopped(boxId: string): void
  /** Drops the exit of a box's init, once that is recorded or no longer matters. */
  forgetExit(boxId: string): void
}

/** Holds an entry per box at most. Puts each box whose init ends without a request in the queue. */
export function createBoxProcesses(runtime: Runtime, queue: Pick<KeyedQueue, 'add'>): BoxProcesses {
  const running = new Set<string>()
  const started = new Set<string>()
  const exits = new Map<string, BoxExit>()
  return {
    recover: async (ignored) => {
      for (const box of await runtime.list()) if (box.isRunning && !ignored.has(box.id)) running.add(box.id)
      runtime.onExit((exit) => {
        running.delete(exit.id)
        started.delete(exit.id)
        exits.set(exit.id, exit)
        queue.add(exit.id)
      })
    },
    isRunning: (boxId) => running.has(boxId),
    wasStarted: (boxId) => started.has(boxId),
    running: () => running,
    exitOf: (boxId) => exits.get(boxId) ?? null,
    noteStarted: (boxId) => {
      if (exits.has(boxId)) return
      running.add(boxId)
      started.add(boxId)
    },
    noteStopped: (boxId) => {
      running.delete(boxId)
      started.delete(boxId)
    },
    forgetExit: (boxId) => void exits.delete(boxId),
  }
}
