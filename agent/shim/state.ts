import type { Logger } from '../../shared/log.ts'
import type { CommandTask, ExecFiles, SessionTask } from '../drivers/exec/shim-protocol.ts'
import type { CommandHost } from '../drivers/host/command-host.ts'
import type { SessionFacts } from '../ports/boxes/runtime.ts'
import type { AttachRequest } from './attachments.ts'
import { createBoxNotes } from './box-notes.ts'
import { type Commands, createCommands, type ShimEvents } from './commands.ts'
import { createSessions, type Sessions } from './sessions.ts'

/** All that a shim holds: what is one of them is known by its id alone. */
export interface ShimState {
  start(task: CommandTask): Promise<number | null>
  open(task: SessionTask): Promise<number | null>
  signal(id: string, signal: NodeJS.Signals): Promise<void>
  attach(id: string, visitor: AttachRequest): Promise<boolean>
  facts(boxId: string): SessionFacts[]
  commands(): ReturnType<Commands['list']>
  sessions(): ReturnType<Sessions['list']>
  /** Whether nothing would be lost if this process ended. */
  isIdle(): boolean
}

export interface ShimStateDeps {
  host: CommandHost
  files: ExecFiles
  logger: Logger
  listener: ShimEvents
  /** Milliseconds since the epoch. */
  now(): number
}

export function createShimState(deps: ShimStateDeps): ShimState {
  const boxes = createBoxNotes(deps.host.crun)
  const commands = createCommands({ ...deps, boxes })
  const sessions = createSessions({ ...deps, boxes })
  return {
    start: commands.start,
    open: sessions.open,
    signal: async (id, signal) => {
      await Promise.all([commands.signal(id, signal), sessions.signal(id, signal)])
    },
    attach: async (id, visitor) => (await commands.attach(id, visitor)) || sessions.attach(id, visitor),
    facts: sessions.facts,
    commands: commands.list,
    sessions: sessions.list,
    isIdle: () => commands.isIdle() && sessions.list().length === 0,
  }
}
