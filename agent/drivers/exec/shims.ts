import type { Logger } from '../../../shared/log.ts'
import type { AttachedExec } from '../../ports/boxes/runtime.ts'
import type { Attach, DetachedEntry } from './detached-entry.ts'
import { createDetachedExecs, type DetachedExecs } from './detached-execs.ts'
import { attachToShim } from './shim-attach.ts'
import { ShimConnections } from './shim-connections.ts'
import { readExitNote, type ShimOptions, shimPaths } from './shim-protocol.ts'
import { createTerminalSessions, type TerminalSessions } from './terminal-sessions.ts'

/** What outlives an agent: commands and sessions, which shims hold. */
export interface Shims {
  readonly execs: Pick<DetachedExecs, 'start' | 'list'>
  readonly sessions: Pick<TerminalSessions, 'open' | 'find' | 'list' | 'facts'>
  /** Finds the shims that run, and what those that do not have noted. */
  open(): Promise<void>
  /** Resolves once the shims of what is held of a box answer, or are no more. */
  check(boxId: string): Promise<void>
  /** Leaves what runs, and whatever this process is attached to; waits for the end of what is held of boxes that `isEnding`. */
  close(isEnding: (boxId: string) => boolean): Promise<void>
}

export interface ShimsDeps {
  shim: ShimOptions
  logger: Logger
  /** Ends a command or session that no shim holds any more. */
  endLost(lost: Pick<DetachedEntry, 'id' | 'boxId'>): Promise<void>
}

export function createShims({ shim, logger, endLost }: ShimsDeps): Shims {
  const { runDir, execFiles } = shim
  const links: ShimConnections = new ShimConnections({
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
        await endLost(entry).catch((error: unknown) => logger.error('a lost command goes on', { error }))
      return note?.end ?? null
    },
  })
  const viewers = new Set<AttachedExec>()
  let isClosed = false
  const attach: Attach = async (version, id, typing) => {
    const attached = await attachToShim(shimPaths(runDir, version).socket, id, typing)
    if (isClosed) attached.close()
    viewers.add(attached)
    attached.stdout.once('close', () => viewers.delete(attached))
    return attached
  }
  const execs = createDetachedExecs({ links, execFiles, attach })
  const sessions = createTerminalSessions({ links, attach })
  return {
    execs,
    sessions,
    open: async () => {
      await links.open()
      execs.readNotes()
    },
    check: (boxId) => links.check(boxId),
    close: async (isEnding) => {
      await links.close(({ boxId }) => isEnding(boxId))
      isClosed = true
      for (const each of viewers) each.close()
    },
  }
}
