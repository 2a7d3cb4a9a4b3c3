import type { Logger } from '../../../shared/log.ts'
import type { AttachedExec } from '../../ports/boxes/runtime.ts'
import { createDetachedExecs, type DetachedExecs } from './detached-execs.ts'
import { attachToShim } from './shim-attach.ts'
import { type Attach, type DetachedEntry, ShimConnections } from './shim-connections.ts'
import { readExitNote, type ShimOptions, shimPaths } from './shim-protocol.ts'
import { createTerminalSessions, type TerminalSessions } from './terminal-sessions.ts'

/** The commands and sessions that outlive the agent, each a child of a shim. */
export interface Shims {
  readonly execs: Pick<DetachedExecs, 'start' | 'list'>
  readonly sessions: Pick<TerminalSessions, 'open' | 'find' | 'list' | 'facts'>
  /** Connects to the running shims, and reads the exit notes of the others. */
  open(): Promise<void>
  /** Resolves once each shim with commands or sessions of the box has answered or ended. */
  check(boxId: string): Promise<void>
  /** Waits up to 5 s for the ends in boxes that are `isEnding`, then disconnects from all shims. Running ones continue. */
  close(isEnding: (boxId: string) => boolean): Promise<void>
}

export interface ShimsDeps {
  shim: ShimOptions
  logger: Logger
  /** Ends a command or session whose shim is gone. */
  endLost(lost: Pick<DetachedEntry, 'id' | 'boxId'>): Promise<void>
}

export function createShims({ shim, logger, endLost }: ShimsDeps): Shims {
  const { runDir, execFiles } = shim
  const connections: ShimConnections = new ShimConnections({
    shim,
    logger,
    adopt: (found) => {
      execs.adopt(found)
      sessions.adopt(found)
    },
    onOutput: (execIds) => execs.onOutput(execIds),
    endLost: async (entry) => {
      const { id: execId, boxId } = entry
      const note = readExitNote(execFiles.directory, { boxId, execId })
      if (note === null)
        await endLost(entry).catch((error: unknown) => logger.error('a lost command still runs', { error }))
      return note?.end ?? null
    },
  })
  const attachedExecs = new Set<AttachedExec>()
  let isClosed = false
  const attach: Attach = async (version, id, typing) => {
    const attached = await attachToShim(shimPaths(runDir, version).socket, id, typing)
    if (isClosed) attached.close()
    attachedExecs.add(attached)
    attached.stdout.once('close', () => attachedExecs.delete(attached))
    return attached
  }
  const execs = createDetachedExecs({ shims: connections, execFiles, attach })
  const sessions = createTerminalSessions({ shims: connections, attach })
  return {
    execs,
    sessions,
    open: async () => {
      await connections.open()
      execs.readNotes()
    },
    check: (boxId) => connections.check(boxId),
    close: async (isEnding) => {
      await connections.close(({ boxId }) => isEnding(boxId))
      isClosed = true
      for (const each of attachedExecs) each.close()
    },
  }
}
