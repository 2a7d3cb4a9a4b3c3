import { ServiceError } from '../../shared/errors.ts'
import { type DetachedSession, type SessionTask, SHIM_LIMITS } from '../drivers/exec/shim-protocol.ts'
import { collectOutput } from '../lib/output/collector.ts'
import { MemoryRing } from '../lib/output/memory-ring.ts'
import type { ExecExit, RunningExec, SessionFacts } from '../ports/boxes/runtime.ts'
import { type Attachments, type AttachRequest, createAttachments } from './attachments.ts'
import type { ShimEvents } from './commands.ts'
import { createProcessStarter, type ProcessStarter, type ProcessStarterDeps } from './process-starter.ts'
import { createRecentlyEnded } from './recently-ended.ts'

/** The sessions a shim is the parent of. */
export interface Sessions {
  /**
   * Resolves with the process in the box once the shell runs. Throws as `Runtime.exec`, `name_taken`, or `rate_limited` beyond
   * 16 of a box or 256 in all.
   */
  open(task: SessionTask): Promise<number | null>
  /** Signals all that a session started; one that is not held is a success. */
  signal(sessionId: string, signal: NodeJS.Signals): Promise<void>
  /** Lets one attach once the session runs, and a while after its end; false if it is not held. Throws `rate_limited`. */
  attach(sessionId: string, visitor: AttachRequest): Promise<boolean>
  /** Those that run or start. */
  list(): DetachedSession[]
  /** Those of a box that run. */
  facts(boxId: string): SessionFacts[]
}

export interface SessionsDeps extends ProcessStarterDeps {
  listener: ShimEvents
  /** Milliseconds since the epoch. */
  now(): number
}

/** Starts shells, and keeps the end of what they print in memory. */
export function createSessions(deps: SessionsDeps): Sessions {
  const { boxes, listener, now } = deps
  const sessions = new Map<string, Session>()
  const past = createRecentlyEnded(PAST_MAX)

  const checkRoom = (task: SessionTask): void => {
    const ofBox = [...sessions.values()].filter(({ facts }) => facts.boxId === task.boxId)
    if (ofBox.some(({ facts }) => facts.name === task.name)) throw nameTaken(task.name)
    if (ofBox.length >= SHIM_LIMITS.sessionsPerBox) throw tooMany('The box has')
    if (sessions.size + past.count >= SHIM_LIMITS.sessions) throw tooMany('All boxes together have')
  }
  const drop = ({ sessionId, boxId }: SessionFacts): void => {
    sessions.delete(sessionId)
    boxes.release(boxId)
  }
  const follow = async ({ facts, audience }: Begun, running: RunningExec, ring: MemoryRing): Promise<void> => {
    const exit = await untilOver(audience, running, ring)
    drop(facts)
    listener.onEnded(facts.sessionId, { ...exit, timedOut: false, endedAt: now() })
    listener.onIdle()
    await past.add(facts.sessionId, audience)
  }
  return {
    open: async (task) => {
      checkRoom(task)
      const { promise: ready, resolve: letIn } = Promise.withResolvers<Attachments | null>()
      const start = createProcessStarter(deps, task.sessionId)
      const session: Session = { facts: factsOf(task, now()), start, ready, audience: null }
      sessions.set(task.sessionId, session)
      boxes.hold(task)
      try {
        const running = await session.start.run(task)
        const { facts } = session
        facts.process = await running.process
        const ring = new MemoryRing(SHIM_LIMITS.replayBytes)
        const audience = audienceOf(running, ring, facts)
        session.audience = audience
        letIn(audience)
        void follow({ facts, audience }, running, ring)
        return facts.process
      } catch (error) {
        letIn(null)
        drop(session.facts)
        listener.onEnded(task.sessionId, null)
        listener.onIdle()
        throw error
      }
    },
    signal: async (sessionId, signal) => sessions.get(sessionId)?.start.signal(signal),
    attach: async (sessionId, visitor) => {
      const audience = (await sessions.get(sessionId)?.ready) ?? past.find(sessionId)
      audience?.join(visitor)
      return audience !== null
    },
    list: () => [...sessions.values()].map(({ facts: { sessionId, boxId, name } }) => ({ sessionId, boxId, name })),
    facts: (boxId) =>
      [...sessions.values()].flatMap(({ facts, audience }) =>
        facts.boxId !== boxId || audience === null ? [] : [{ ...facts, viewers: audience.size }],
      ),
  }
}

interface Session {
  facts: SessionFacts
  start: ProcessStarter
  /** Null until it runs. */
  audience: Attachments | null
  /** The audience once it runs; null if it never did. */
  ready: Promise<Attachments | null>
}

interface Begun {
  facts: SessionFacts
  audience: Attachments
}

function factsOf({ sessionId, boxId, name, request, user }: SessionTask, startedAt: number): SessionFacts {
  const { command, terminal: size } = request
  const login = user.name ?? String(user.uid)
  return { sessionId, boxId, name, command, user: login, process: null, startedAt, size, viewers: 0 }
}

// What the shell left running is cut off from the terminal, as where a window is closed.
async function untilOver(audience: Attachments, running: RunningExec, ring: MemoryRing): Promise<ExecExit> {
  const collector = collectOutput(running, { stdout: ring, stderr: ring })
  collector.onOutput(audience.tell)
  const exit = await running.exited
  audience.hurry()
  await collector.settle()
  audience.end()
  collector.release()
  running.stdin.destroy()
  return exit
}

// The end of one viewer's input is no end of the shell's: the others go on.
function audienceOf(
  { stdin, stdout, stderr, terminal }: RunningExec,
  kept: MemoryRing,
  facts: SessionFacts,
): Attachments {
  const paceBytes = SHIM_LIMITS.replayBytes / 4
  return createAttachments({
    ...{ stdin, isTerminal: true, terminal, endsInput: false },
    // What is on stderr is why the shell could not be started.
    streams: [{ kind: 'stdout', kept, replayFrom: () => 0, sources: [stdout, stderr], paceBytes }],
    onSize: (size) => {
      facts.size = size
    },
  })
}

function nameTaken(name: string): ServiceError {
  return new ServiceError('name_taken', `The box has a session named "${name}".`)
}

function tooMany(whose: string): ServiceError {
  return new ServiceError('rate_limited', `${whose} as many sessions as may run at once.`)
}

const PAST_MAX = 32
