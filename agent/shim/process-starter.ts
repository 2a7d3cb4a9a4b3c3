import type { Logger } from '../../shared/log.ts'
import type { FlowOwner } from '../../shared/rotation.ts'
import { startExec } from '../drivers/exec/oci-exec.ts'
import { type CommandTask, detachedCgroup, type SessionTask } from '../drivers/exec/shim-protocol.ts'
import type { CommandHost } from '../drivers/host/command-host.ts'
import type { Crun } from '../drivers/host/crun.ts'
import type { RunningExec } from '../ports/boxes/runtime.ts'

export interface ProcessStarterDeps {
  host: CommandHost
  crunStates: CrunStateRefs
  logger: Logger
}

/** Starts one command or session. Keeps no reference to the task, which may be large. */
export interface ProcessStarter {
  /** Starts it in a cgroup named after its id. Call once. Throws as `Runtime.exec`. */
  run(task: Task): Promise<RunningExec>
  /** Signals all its processes. Signals that come before it runs are sent, in their order, once it does. */
  signal(name: NodeJS.Signals): Promise<void>
}

export function createProcessStarter({ host, logger }: ProcessStarterDeps, id: string): ProcessStarter {
  let started: RunningExec | null = null
  const early: NodeJS.Signals[] = []
  return {
    run: async ({ boxId, idBase, nesting = false, user, request, cwd }) => {
      host.cgroups.place(boxId, host.handles.readRunning(boxId)?.cgroup ?? null)
      const isRunning = (): boolean => host.handles.readRunning(boxId) !== null
      const nextName = (): string => detachedCgroup(id)
      started = await startExec(
        { ...host, logger, nextName },
        { boxId, idBase, nesting, user, request, cwd, isRunning },
      )
      for (const name of early) await started.signal(name)
      return started
    },
    signal: async (name) => {
      if (started !== null) await started.signal(name)
      else early.push(name)
    },
  }
}

type Task = Pick<CommandTask | SessionTask, 'boxId' | 'idBase' | 'nesting' | 'user' | 'request' | 'cwd'>

/** Returns the owner of the output of a command or session. If it counts against no project, its box owns it. */
export function flowOwnerOf({ boxId, request }: Pick<Task, 'boxId' | 'request'>): FlowOwner {
  return { project: request.accounts?.find((account) => account.startsWith('project ')) ?? boxId, box: boxId }
}

/** Counts references to the state that crun reads of a box, which exists while the box has commands or sessions here. */
export interface CrunStateRefs {
  acquire(task: Pick<CommandTask, 'boxId' | 'crunStatus' | 'config'>): void
  /** Call once for each `acquire`. */
  release(boxId: string): void
}

/** Writes the state into the state directory of `crun`. */
export function createCrunStateRefs(crun: Pick<Crun, 'remember' | 'forget'>): CrunStateRefs {
  const boxes = new Map<string, { status: string; commands: number }>()
  return {
    acquire: ({ boxId, crunStatus: status, config }) => {
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
