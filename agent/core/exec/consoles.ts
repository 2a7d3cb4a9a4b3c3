import { ServiceError } from '../../../shared/errors.ts'
import { newId } from '../../../shared/ids.ts'
import { createKeyedLock } from '../../../shared/locks.ts'
import type { ConsoleQuery } from '../../../shared/schemas/exec-streams.ts'
import type { AttachedExec, DetachedEnd, Runtime, SessionFacts, TerminalSession } from '../../ports/boxes/runtime.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { BoxRecord } from '../../ports/store/boxes.ts'
import type { ActorContext } from '../../ports/store/events.ts'
import type { BoxActivity } from '../boxes/activity.ts'
import { boxAccounts } from '../common/accounts.ts'
import { commandEnvironment } from '../common/environment.ts'
import { type CommandStream, endingNote, hangUp, type StreamEnd, UNKNOWN_END } from './command-stream.ts'
import { checkRunning } from './execs.ts'

/** The consoles of boxes: shells in terminals that keep running when their clients leave, and when this process ends. */
export interface Consoles {
  /**
   * Attaches to the session that the query names. Starts it if the box has none of that name.
   * @throws ServiceError `box_not_running`, `invalid_request` (no such user), `rate_limited`, `runtime_unavailable`
   */
  open(box: BoxRecord, query: ConsoleQuery): Promise<CommandStream>
  /** Lists the sessions by name. */
  list(box: BoxRecord): Promise<SessionFacts[]>
  /**
   * Ends a session, by name or id: SIGHUP to all its processes, and SIGKILL after 2 s.
   * @throws ServiceError `session_not_found`
   */
  end(box: BoxRecord, session: string): Promise<void>
}

interface ConsolesDeps {
  runtime: Runtime
  clock: Clock
  activity: BoxActivity
  /** Carries the actor of a request, whose accounts its sessions count against. */
  actorContext: Pick<ActorContext, 'current'>
}

/** Keeps no state, because sessions belong to the runtime. */
export function createConsoles({ runtime, clock, activity, actorContext }: ConsolesDeps): Consoles {
  const lock = createKeyedLock()
  const join = async (
    box: BoxRecord,
    query: ConsoleQuery,
  ): Promise<{ session: TerminalSession; attached: AttachedExec; command?: readonly string[] }> => {
    const existing = runtime.session(box.id, query.session)
    const attached = await existing?.attach(query.typing).catch(ignoreIfEnded(existing))
    if (existing && attached) return { session: existing, attached }
    const command = query.shell === undefined ? DEFAULT_SHELL : [query.shell]
    const session = await runtime.openSession(box.id, {
      sessionId: newId('ses', clock.now()),
      name: query.session,
      command,
      cwd: query.cwd ?? null,
      environment: commandEnvironment(box),
      user: query.user ?? null,
      dumpsCore: box.config.core_dumps,
      terminal: { cols: query.cols, rows: query.rows },
      accounts: boxAccounts(box, actorContext.current()),
    })
    return { session, attached: await session.attach(query.typing), command }
  }
  return {
    open: async (box, query) => {
      checkRunning(box)
      const { session, attached, command } = await lock.run(`${box.id} ${query.session}`, () => join(box, query))
      const endUse = activity.begin(box.id)
      void session.ended.then(endUse)
      attached.terminal?.resize({ cols: query.cols, rows: query.rows })
      const { stdin, stdout, stderr, terminal } = attached
      return {
        id: session.sessionId,
        ...(command === undefined ? {} : { command }),
        ...{ stdin, stdout, stderr, terminal },
        comesByTurns: false,
        outlivesClient: true,
        ended: session.ended.then(endOf),
        disconnect: () => {
          endUse()
          attached.close()
        },
      }
    },
    list: async (box) => (await runtime.sessions(box.id)).toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    end: async (box, nameOrId) => {
      const facts = (await runtime.sessions(box.id)).find(({ sessionId, name }) => [sessionId, name].includes(nameOrId))
      const session = facts && runtime.session(box.id, facts.name)
      if (!session) throw new ServiceError('session_not_found', `No session "${nameOrId}" in box "${box.name}".`)
      await hangUp(session, clock)
      await Promise.race([session.ended, clock.sleep(KILL_MS)])
    },
  }
}

// Ignores the error if the session has just ended, so that another one with its name is started. Otherwise rethrows it.
function ignoreIfEnded(session: TerminalSession): (error: unknown) => Promise<undefined> {
  return async (error) => {
    const isOver = await Promise.race([session.ended.then(() => true), Promise.resolve(false)])
    if (!isOver) throw error
    return undefined
  }
}

function endOf(end: DetachedEnd | null): StreamEnd {
  if (end === null) return UNKNOWN_END
  const { exitCode, signal, reason, oomKills } = end
  return { exitCode, signal, note: endingNote({ reason, oomKills }), reason, oomKills }
}

// Starts a login shell, as a terminal does.
const FIND_SHELL = 'for shell in /bin/bash /usr/bin/bash /bin/sh; do [ -x "$shell" ] && exec "$shell" -l; done'
const DEFAULT_SHELL = ['/bin/sh', '-c', FIND_SHELL]
const KILL_MS = 5_000
