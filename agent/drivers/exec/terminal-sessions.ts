import { ServiceError } from '../../../shared/errors.ts'
import { refusal } from '../../../shared/refusals.ts'
import type { SessionFacts, TerminalSession } from '../../ports/boxes/runtime.ts'
import {
  type Attach,
  attachToEntry,
  type ConnectedShim,
  createDetachedEntry,
  type DetachedEntry,
  type EntryFacts,
  type ShimConnections,
} from './shim-connections.ts'
import type { DetachedSession, SessionTask } from './shim-protocol.ts'

/** The agent's view of the console sessions that run in shims. */
export interface TerminalSessions {
  /** Starts a session, and first a shim if none of this version runs. Throws `name_taken` if one of that name runs. */
  open(task: SessionTask): Promise<TerminalSession>
  /** Finds the running session of that name. */
  find(boxId: string, name: string): TerminalSession | null
  /** Lists running sessions. */
  list(): TerminalSession[]
  /** Queries the shims for the sessions of a box. */
  facts(boxId: string): Promise<SessionFacts[]>
  /** Adds the sessions of a shim's inventory. */
  adopt(shim: ConnectedShim): void
}

export interface TerminalSessionsDeps {
  shims: ShimConnections
  attach: Attach
}

export function createTerminalSessions({ shims, attach }: TerminalSessionsDeps): TerminalSessions {
  const sessions = new Map<string, Session>()
  const starting = new Map<string, Promise<unknown>>()

  const create = (note: DetachedSession, shim: Pick<EntryFacts, 'version' | 'client'>): Session => {
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
    shims.add(entry)
    return session
  }
  const drop = ({ entry }: Session): void => {
    sessions.delete(entry.id)
    shims.remove(entry)
  }
  const find = (boxId: string, name: string): Session | null =>
    [...sessions.values()].find((each) => each.boxId === boxId && each.name === name) ?? null

  const start = async (task: SessionTask): Promise<TerminalSession> => {
    const shim = await shims.current()
    const { sessionId, boxId, name } = task
    const session = create({ sessionId, boxId, name }, shim)
    try {
      await shim.client.open(task)
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
        throw refusal('name_taken', [
          `The box has a session named "${task.name}" already.`,
          'Attach to it, or choose another name.',
        ])
      const started = start(task)
      const over = started.catch(() => undefined).then(() => starting.delete(key))
      starting.set(key, over)
      return started
    },
    find,
    list: () => [...sessions.values()],
    facts: async (boxId) => (await Promise.all(shims.clientsOf(boxId).map((client) => client.sessions(boxId)))).flat(),
    adopt: (shim) => {
      for (const note of shim.client.inventory.sessions)
        if (!sessions.has(note.sessionId)) sessions.set(note.sessionId, create(note, shim))
    },
  }
}

interface Session extends TerminalSession {
  entry: DetachedEntry
}
