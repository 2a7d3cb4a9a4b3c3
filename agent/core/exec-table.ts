import type { Logger } from '../../shared/log.ts'
import type { LiveExec } from './live-exec.ts'

/** The commands this process holds: those that run, and those whose streams are still held by what they left running. */
export interface ExecTable {
  /** How many run. */
  count(): number
  get(id: string): LiveExec | undefined
  add(id: string, exec: LiveExec): void
  /** Ends those that run, and lets go of all streams. */
  close(): Promise<void>
}

/** A table in which at most `lingering` ended commands keep their streams: the one that ended first makes room. */
export function createExecTable(options: { lingering: number; logger: Logger }): ExecTable {
  const live = new Map<string, LiveExec>()
  const lingering = new Set<LiveExec>()

  const retire = (id: string, exec: LiveExec): void => {
    live.delete(id)
    lingering.add(exec)
    void exec.released.then(() => lingering.delete(exec))
    const oldest = lingering.size > options.lingering ? lingering.values().next().value : undefined
    oldest?.release()
  }
  return {
    count: () => live.size,
    get: (id) => live.get(id),
    add: (id, exec) => {
      live.set(id, exec)
      exec.ended.then(
        () => retire(id, exec),
        (error: unknown) => {
          options.logger.error('the end of a command could not be written', { exec: id, error })
          retire(id, exec)
        },
      )
    },
    close: async () => {
      await Promise.allSettled([...live.values()].map((exec) => exec.end()))
      for (const exec of lingering) exec.release()
    },
  }
}
