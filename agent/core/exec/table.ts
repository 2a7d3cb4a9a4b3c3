import type { FairShares } from '../../../shared/fair-shares.ts'
import { createLingering } from '../../../shared/lingering.ts'
import type { Logger } from '../../../shared/log.ts'
import type { Meter } from '../../ports/host/meter.ts'
import type { ExecRecord } from '../../ports/store/exec.ts'
import type { BoxActivity } from '../boxes/activity.ts'
import type { LiveExec } from './live-exec.ts'

/**
 * The commands that this process follows. These are running commands, and ended ones whose streams are kept open by processes they left.
 */
export interface ExecTable {
  /** Returns a running command of the box. */
  get(boxId: string, id: string): LiveExec | undefined
  /** Adds a command that counts against `owners`. */
  add(exec: LiveExec, owners: readonly string[]): void
  /** Shuts down those that run, and closes all streams. */
  close(): Promise<void>
}

/** Keeps the streams of at most `lingering` ended commands open. Above it, closes the oldest streams of the owners with the most. */
export function createExecTable(options: {
  lingering: number
  running: FairShares
  activity: BoxActivity
  meter: Meter
  logger: Logger
}): ExecTable {
  const { logger, meter } = options
  const time = meter.histogram(DURATION)
  const live = new Map<string, LiveExec>()
  const lingering = createLingering(options.lingering)
  meter.observable('gauge', RUNNING, () => [{ labels: {}, value: live.size }])

  const retire = (exec: LiveExec, owners: readonly string[]): void => {
    const { id } = exec
    live.delete(id)
    // Callers that waited for the end read first.
    setImmediate(() => {
      exec
        .dispose()
        .catch((error: unknown) => logger.warn('failed to release resources of a command', { exec: id, error }))
    })
    lingering.add(exec, owners)
  }
  return {
    get: (boxId, id) => {
      const exec = live.get(id)
      return exec?.boxId === boxId ? exec : undefined
    },
    add: (exec, owners) => {
      const { id } = exec
      live.set(id, exec)
      const leave = options.running.add(owners)
      const endUse = options.activity.begin(exec.boxId)
      const end = (): void => {
        leave()
        endUse()
        retire(exec, owners)
      }
      const count = ({ status, startedAt, endedAt }: ExecRecord): void =>
        time({ status }, Math.max(0, (endedAt ?? startedAt) - startedAt) / 1000)
      exec.ended.then(
        (record) => {
          count(record)
          end()
        },
        (error: unknown) => {
          logger.error('failed to record the end of a command', { exec: id, error })
          end()
        },
      )
    },
    close: async () => {
      await Promise.allSettled([...live.values()].map((exec) => exec.shutDown()))
      lingering.releaseAll()
    },
  }
}

const RUNNING = { name: 'boxyard_execs_running', help: 'Running commands.', labels: [] } as const
const DURATION = {
  name: 'boxyard_exec_duration_seconds',
  help: 'Run time of commands, by outcome.',
  labels: ['status'],
  bounds: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 10, 60, 300, 3600],
} as const
