import type { Logger } from '../../shared/log.ts'
import type { ExecFiles, HeldTask, SessionTask } from '../drivers/exec/holder-protocol.ts'
import type { CommandHost } from '../drivers/host/command-host.ts'
import type { SessionFacts } from '../ports/boxes/runtime.ts'
import type { Visitor } from './audience.ts'
import { createBoxNotes } from './box-notes.ts'
import { createHeldCommands, type HeldCommands, type HeldListener } from './held-commands.ts'
import { createHeldSessions, type HeldSessions } from './held-sessions.ts'

/** All that a holder holds: what is one of them is known by its id alone. */
export interface Holding {
  start(task: HeldTask): Promise<number | null>
  open(task: SessionTask): Promise<number | null>
  signal(id: string, signal: NodeJS.Signals): Promise<void>
  attach(id: string, visitor: Visitor): Promise<boolean>
  facts(boxId: string): SessionFacts[]
  commands(): ReturnType<HeldCommands['list']>
  sessions(): ReturnType<HeldSessions['list']>
  /** Whether nothing would be lost if this process ended. */
  isIdle(): boolean
}

export interface HoldingDeps {
  host: CommandHost
  files: ExecFiles
  logger: Logger
  listener: HeldListener
  /** Milliseconds since the epoch. */
  now(): number
}

export function createHolding(deps: HoldingDeps): Holding {
  const boxes = createBoxNotes(deps.host.crun)
  const commands = createHeldCommands({ ...deps, boxes })
  const sessions = createHeldSessions({ ...deps, boxes })
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
