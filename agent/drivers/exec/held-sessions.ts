import { ServiceError } from '../../../shared/errors.ts'
import type { HeldSession, SessionFacts } from '../../ports/boxes/runtime.ts'
import { type Attach, attachToEntry, createHeldEntry, type EntryFacts, type HeldEntry } from './held-entry.ts'
import type { Holder, HolderLinks } from './holder-links.ts'
import type { HeldSessionNote, SessionTask } from './holder-protocol.ts'

/** The sessions that holders hold, for an agent. */
export interface HeldSessions {
  /** Begins a session, with a holder if none of this version runs. Throws `name_taken` once the one of that name runs. */
  open(task: SessionTask): Promise<HeldSession>
  /** The one of that name that runs. */
  find(boxId: string, name: string): HeldSession | null
  /** Those that run. */
  list(): HeldSession[]
  facts(boxId: string): Promise<SessionFacts[]>
  /** Takes up what a holder holds. */
  adopt(holder: Holder): void
}

export interface HeldSessionsDeps {
  links: HolderLinks
  attach: Attach
}

export function createHeldSessions({ links, attach }: HeldSessionsDeps): HeldSessions {
  const sessions = new Map<string, Session>()
  const starting = new Map<string, Promise<unknown>>()

  const create = (note: HeldSessionNote, holder: Pick<EntryFacts, 'version' | 'link'>): Session => {
    const { sessionId, boxId, name } = note
    const entry = createHeldEntry({ id: sessionId, boxId, ...holder }, () => drop(session))
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

  const start = async (task: SessionTask): Promise<HeldSession> => {
    const holder = await links.current()
    const { sessionId, boxId, name } = task
    const session = create({ sessionId, boxId, name }, holder)
    try {
      await holder.link.open(task)
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
    adopt: (holder) => {
      for (const note of holder.link.held.sessions)
        if (!sessions.has(note.sessionId)) sessions.set(note.sessionId, create(note, holder))
    },
  }
}

interface Session extends HeldSession {
  entry: HeldEntry
}
