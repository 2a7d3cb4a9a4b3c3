import type { Logger } from '../../shared/log.ts'
import type { CommandTask, ExecFiles, SessionTask } from '../drivers/exec/shim-protocol.ts'
import type { CommandHost } from '../drivers/host/command-host.ts'
import { createOutputTurns } from '../lib/output/collector.ts'
import type { SessionFacts } from '../ports/boxes/runtime.ts'
import type { AttachRequest } from './attachments.ts'
import { type Commands, createCommands, type ShimEvents } from './commands.ts'
import { createCrunStateRefs } from './process-starter.ts'
import { createSessions, type Sessions } from './sessions.ts'

/** All commands and sessions of a shim, each addressed by its id. */
export interface ShimState {
  start(task: CommandTask): Promise<number | null>
  open(task: SessionTask): Promise<number | null>
  signal(id: string, signal: NodeJS.Signals): Promise<void>
  attach(id: string, request: AttachRequest): Promise<boolean>
  sessionFacts(boxId: string): SessionFacts[]
  commands(): ReturnType<Commands['list']>
  sessions(): ReturnType<Sessions['list']>
  /** Returns whether this process may end without loss. */
  isIdle(): boolean
}

export interface ShimStateDeps {
  host: CommandHost
  files: ExecFiles
  logger: Logger
  listener: ShimEvents
  /** Returns milliseconds since the epoch. */
  now(): number
}

export function createShimState(deps: ShimStateDeps): ShimState {
  const crunStates = createCrunStateRefs(deps.host.crun)
  const turns = createOutputTurns()
  const commands = createCommands({ ...deps, crunStates, turns })
  const sessions = createSessions({ ...deps, crunStates, turns })
  return {
    start: commands.start,
    open: sessions.open,
    signal: async (id, signal) => {
      await Promise.all([commands.signal(id, signal), sessions.signal(id, signal)])
    },
    attach: async (id, request) => (await commands.attach(id, request)) || sessions.attach(id, request),
    sessionFacts: sessions.facts,
    commands: commands.list,
    sessions: sessions.list,
    isIdle: () => commands.isIdle() && sessions.list().length === 0,
  }
}
