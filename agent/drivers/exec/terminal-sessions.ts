import { ServiceError } from '../../../shared/errors.ts'
import type { SessionFacts, TerminalSession } from '../../ports/boxes/runtime.ts'
import {
  type Attach,
  attachToEntry,
  createDetachedEntry,
  type DetachedEntry,
  type EntryFacts,
} from './detached-entry.ts'
import type { ConnectedShim, ShimConnections } from './shim-connections.ts'
import type { DetachedSession, SessionTask } from './shim-protocol.ts'

/** The sessions that shims hold, for an agent. */
export interface TerminalSessions {
  /** Begins a session, with a shim if none of this version runs. Throws `name_taken` once the one of that name runs. */
  open(task: SessionTask): Promise<TerminalSession>
  /** The one of that name that runs. */
  find(boxId: string, name: string): TerminalSession | null
  /** Those that run. */
  list(): TerminalSession[]
  facts(boxId: string): Promise<SessionFacts[]>
  /** Takes up what a shim holds. */
  adopt(shim: ConnectedShim): void
}

export interface TerminalSessionsDeps {
  links: ShimConnections
  attach: Attach
}

export function createTerminalSessions({ links, attach }: TerminalSessionsDeps): TerminalSessions {
  const sessions = new Map<string, Session>()
  const starting = new Map<string, Promise<unknown>>()

  const create = (note: DetachedSession, shim: Pick<EntryFacts, 'version' | 'link'>): Session => {
    const { sessionId, boxId, name } = note
    const entry = createDetachedEntry({ id: sessionId, boxId, ...shim }, () => drop(session))
    const { ended, signal } = entry
    const session: Session = {
      ...{ sessionId, boxId, name, ended, signal, entry },
      attach: async (typing) => {
        const attached = await attachToEntry(entry, typing, attach)
        if (attached !== null) return attached
        await ended
        throw new ServiceError('session_not_found', 'The session has ended.')
      },
    }
    links.add(entry)
    return session
  }
  const drop = ({ entry }: Session): void => {
    sessions.delete(entry.id)
    links.remove(entry)
  }
  const find = (boxId: string, name: string): Session | null =>
    [...sessions.values()].find((each) => each.boxId === boxId && each.name === name) ?? null

  const start = async (task: SessionTask): Promise<TerminalSession> => {
    const shim = await links.current()
    const { sessionId, boxId, name } = task
    const session = create({ sessionId, boxId, name }, shim)
    try {
      await shim.link.open(task)
    } catch (error) {
      drop(session)
      throw error
    }
    if (!session.entry.isEnded) sessions.set(sessionId, session)
    return session
  }
  return {
    open: async (task) => {
      const key = `${task.boxId} ${task.name}`
      while (starting.has(key)) await starting.get(key)
      if (find(task.boxId, task.name) !== null)
        throw new ServiceError('name_taken', `The box has a session named "${task.name}".`)
      const started = start(task)
      const over = started.catch(() => undefined).then(() => starting.delete(key))
      starting.set(key, over)
      return started
    },
    find,
    list: () => [...sessions.values()],
    facts: async (boxId) => (await Promise.all(links.linksOf(boxId).map((link) => link.sessions(boxId)))).flat(),
    adopt: (shim) => {
      for (const note of shim.link.held.sessions)
        if (!sessions.has(note.sessionId)) sessions.set(note.sessionId, create(note, shim))
    },
  }
}

interface Session extends TerminalSession {
  entry: DetachedEntry
}
