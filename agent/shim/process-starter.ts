import type { Logger } from '../../shared/log.ts'
import { startExec } from '../drivers/exec/oci-exec.ts'
import { type CommandTask, detachedCgroup, type SessionTask } from '../drivers/exec/shim-protocol.ts'
import type { CommandHost } from '../drivers/host/command-host.ts'
import type { RunningExec } from '../ports/boxes/runtime.ts'
import type { BoxNotes } from './box-notes.ts'

export interface ProcessStarterDeps {
  host: CommandHost
  boxes: BoxNotes
  logger: Logger
}

/** The start of a command or session. It keeps nothing of the task, which may be large. */
export interface ProcessStarter {
  /** Starts it in a cgroup named for its id, once; throws as `Runtime.exec`. */
  run(task: Task): Promise<RunningExec>
  /** Signals all that it started; what comes before it runs is sent once it does. */
  signal(name: NodeJS.Signals): Promise<void>
}

export function createProcessStarter({ host, logger }: ProcessStarterDeps, id: string): ProcessStarter {
  let started: RunningExec | null = null
  let early: NodeJS.Signals | null = null
  return {
    run: async ({ boxId, idBase, user, request, cwd }) => {
      host.cgroups.place(boxId, host.handles.readRunning(boxId)?.cgroup ?? null)
      const isRunning = (): boolean => host.handles.readRunning(boxId) !== null
      const nextName = (): string => detachedCgroup(id)
      started = await startExec({ ...host, logger, nextName }, { boxId, idBase, user, request, cwd, isRunning })
      if (early !== null) await started.signal(early)
      return started
    },
    signal: async (name) => {
      if (started !== null) await started.signal(name)
      else early = name
    },
  }
}

type Task = Pick<CommandTask | SessionTask, 'boxId' | 'idBase' | 'user' | 'request' | 'cwd'>
