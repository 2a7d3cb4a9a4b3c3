import type { Logger } from '../../../shared/log.ts'
import type { AttachedExec } from '../../ports/boxes/runtime.ts'
import type { Attach, HeldEntry } from './held-entry.ts'
import { createHeldExecs, type HeldExecs } from './held-execs.ts'
import { createHeldSessions, type HeldSessions } from './held-sessions.ts'
import { HolderLinks } from './holder-links.ts'
import { type HolderOptions, holderPaths, readExitNote } from './holder-protocol.ts'
import { attachToHolder } from './holder-viewer.ts'

/** What outlives an agent: commands and sessions, which holders hold. */
export interface Holders {
  readonly execs: Pick<HeldExecs, 'start' | 'list'>
  readonly sessions: Pick<HeldSessions, 'open' | 'find' | 'list' | 'facts'>
  /** Finds the holders that run, and what those that do not have noted. */
  open(): Promise<void>
  /** Resolves once the holders of what is held of a box answer, or are no more. */
  check(boxId: string): Promise<void>
  /** Leaves what runs, and whatever this process is attached to; waits for the end of what is held of boxes that `isEnding`. */
  close(isEnding: (boxId: string) => boolean): Promise<void>
}

export interface HoldersDeps {
  holder: HolderOptions
  logger: Logger
  /** Ends a command or session that no holder holds any more. */
  endLost(lost: Pick<HeldEntry, 'id' | 'boxId'>): Promise<void>
}

export function createHolders({ holder, logger, endLost }: HoldersDeps): Holders {
  const { runDir, execFiles } = holder
  const links: HolderLinks = new HolderLinks({
    holder,
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
    const attached = await attachToHolder(holderPaths(runDir, version).socket, id, typing)
    if (isClosed) attached.close()
    viewers.add(attached)
    attached.stdout.once('close', () => viewers.delete(attached))
    return attached
  }
  const execs = createHeldExecs({ links, execFiles, attach })
  const sessions = createHeldSessions({ links, attach })
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
