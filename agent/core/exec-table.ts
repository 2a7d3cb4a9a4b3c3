import type { FairShares } from '../../shared/fair-shares.ts'
import type { Logger } from '../../shared/log.ts'
import type { LiveExec } from './live-exec.ts'

/** The commands this process follows: those that run, and those whose streams are still held by what they left running. */
export interface ExecTable {
  /** A command of the box. */
  get(boxId: string, id: string): LiveExec | undefined
  add(exec: LiveExec): void
  /** Leaves those that run, and lets go of all streams. */
  close(): Promise<void>
}

/** A table in which at most `lingering` ended commands keep their streams: the one that ended first makes room. */
export function createExecTable(options: { lingering: number; running: FairShares; logger: Logger }): ExecTable {
  const { logger } = options
  const live = new Map<string, LiveExec>()
  const lingering = new Set<LiveExec>()

  const retire = (exec: LiveExec): void => {
    const { id } = exec
    live.delete(id)
    // Those who waited for the end read first.
    setImmediate(() => {
      exec.dispose().catch((error: unknown) => logger.warn('what is left of a command stays', { exec: id, error }))
    })
    lingering.add(exec)
    void exec.released.then(() => lingering.delete(exec))
    const oldest = lingering.size > options.lingering ? lingering.values().next().value : undefined
    oldest?.release()
  }
  return {
    get: (boxId, id) => {
      const exec = live.get(id)
      return exec?.boxId === boxId ? exec : undefined
    },
    add: (exec) => {
      const { id } = exec
      live.set(id, exec)
      const leave = options.running.add(exec.boxId)
      const end = (): void => {
        leave()
        retire(exec)
      }
      exec.ended.then(end, (error: unknown) => {
        logger.error('the end of a command could not be written', { exec: id, error })
        end()
      })
    },
    close: async () => {
      await Promise.allSettled([...live.values()].map((exec) => exec.leave()))
      for (const exec of lingering) exec.release()
    },
  }
}
