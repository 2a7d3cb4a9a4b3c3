import type { ServiceError } from '../../shared/errors.ts'
import { refusal } from '../../shared/refusals.ts'
import { createValve, type Valve } from '../../shared/valve.ts'
import { type DetachedSession, type SessionTask, SHIM_LIMITS } from '../drivers/exec/shim-protocol.ts'
import { collectOutput, type OutputParts, type OutputTaker, type OutputTurns } from '../lib/output/collector.ts'
import { MemoryRing } from '../lib/output/memory-ring.ts'
import type { ExecExit } from '../ports/boxes/exec-exit.ts'
import type { RunningExec, SessionFacts } from '../ports/boxes/runtime.ts'
import { type AttachedClients, type AttachRequest, createAttachedClients, createRecentlyEnded } from './attachments.ts'
import type { ShimEvents } from './commands.ts'
import { createProcessStarter, flowOwnerOf, type ProcessStarter, type ProcessStarterDeps } from './process-starter.ts'
import { createSessionRoom, tooManySessions } from './session-room.ts'

/** Runs the console sessions that this shim is the parent of. */
export interface Sessions {
  /**
   * Resolves with the pid in the box once the shell runs. Throws as `Runtime.exec`, `name_taken`, or `rate_limited` beyond
   * 16 per box or 256 in all.
   */
  open(task: SessionTask): Promise<number | null>
  /** Signals every process of a session. Does nothing for an unknown one. */
  signal(sessionId: string, signal: NodeJS.Signals): Promise<void>
  /** Attaches a client once the session runs, or up to 5 s after its end. False if it is unknown. Throws `rate_limited`. */
  attach(sessionId: string, request: AttachRequest): Promise<boolean>
  /** Lists running and starting sessions. */
  list(): DetachedSession[]
  /** Returns the details of a box's running sessions. */
  facts(boxId: string): SessionFacts[]
}

export interface SessionsDeps extends ProcessStarterDeps {
  listener: ShimEvents
  turns: OutputTurns
  /** Returns milliseconds since the epoch. */
  now(): number
}

/** Starts shells, and keeps the last 256 KiB that each prints in memory. */
export function createSessions(deps: SessionsDeps): Sessions {
  const { crunStates, listener, turns, now } = deps
  const sessions = new Map<string, Session>()
  const recentlyEnded = createRecentlyEnded(ENDED_MAX)
  const room = createSessionRoom()

  // Sessions that ended take room as long as clients may still attach to them.
  const takeRoom = (task: SessionTask): (() => void) => {
    const ofBox = [...sessions.values()].filter(({ facts }) => facts.boxId === task.boxId)
    if (ofBox.some(({ facts }) => facts.name === task.name)) throw nameTaken(task.name)
    if (ofBox.length >= SHIM_LIMITS.sessionsPerBox)
      throw tooManySessions(`The box has ${SHIM_LIMITS.sessionsPerBox} sessions, the most it may have.`)
    return room.take(task.request.accounts ?? [])
  }
  const drop = ({ sessionId, boxId }: SessionFacts): void => {
    sessions.delete(sessionId)
    crunStates.release(boxId)
  }
  const follow = async (begun: Begun, running: RunningExec, ring: MemoryRing): Promise<void> => {
    const { facts, attachments, leave } = begun
    const exit = await followToEnd(begun, running, ring)
    drop(facts)
    listener.onEnded(facts.sessionId, { ...exit, timedOut: false, endedAt: now() })
    listener.onIdle()
    await recentlyEnded.add(facts.sessionId, attachments)
    leave()
  }
  return {
    open: async (task) => {
      const leave = takeRoom(task)
      const { promise: ready, resolve: resolveAttachments } = Promise.withResolvers<AttachedClients | null>()
      const start = createProcessStarter(deps, task.sessionId)
      const session: Session = { facts: factsOf(task, now()), start, ready, attachments: null }
      sessions.set(task.sessionId, session)
      crunStates.acquire(task)
      try {
        const running = await session.start.run(task)
        const { facts } = session
        facts.process = await running.process
        const ring = new MemoryRing(SHIM_LIMITS.replayBytes)
        const valves = { stdout: createValve(running.stdout), stderr: createValve(running.stderr) }
        const attachments = attachmentsOf({ ...running, ...valves }, ring, facts)
        session.attachments = attachments
        resolveAttachments(attachments)
        const reading = { turns, owner: flowOwnerOf(task) }
        void follow({ facts, attachments, valves, reading, leave }, running, ring)
        return facts.process
      } catch (error) {
        resolveAttachments(null)
        leave()
        drop(session.facts)
        listener.onEnded(task.sessionId, null)
        listener.onIdle()
        throw error
      }
    },
    signal: async (sessionId, signal) => sessions.get(sessionId)?.start.signal(signal),
    attach: async (sessionId, request) => {
      const attachments = (await sessions.get(sessionId)?.ready) ?? recentlyEnded.find(sessionId)
      attachments?.join(request)
      return attachments !== null
    },
    list: () => [...sessions.values()].map(({ facts: { sessionId, boxId, name } }) => ({ sessionId, boxId, name })),
    facts: (boxId) =>
      [...sessions.values()].flatMap(({ facts, attachments }) =>
        facts.boxId !== boxId || attachments === null ? [] : [{ ...facts, viewers: attachments.size }],
      ),
  }
}

interface Session {
  facts: SessionFacts
  start: ProcessStarter
  /** Null until it runs. */
  attachments: AttachedClients | null
  /** Resolves once it runs, or with null if it never did. */
  ready: Promise<AttachedClients | null>
}

interface Begun {
  facts: SessionFacts
  attachments: AttachedClients
  valves: OutputParts<Valve>
  reading: OutputTaker['reading']
  /** Releases its share. */
  leave(): void
}

function factsOf({ sessionId, boxId, name, request, user }: SessionTask, startedAt: number): SessionFacts {
  const { command, terminal: size } = request
  const login = user.name ?? String(user.uid)
  return { sessionId, boxId, name, command, user: login, process: null, startedAt, size, viewers: 0 }
}

// Closes the terminal at the shell's end, as a closed window does. Processes left behind lose it.
async function followToEnd(
  { attachments, valves, reading }: Begun,
  running: RunningExec,
  ring: MemoryRing,
): Promise<ExecExit> {
  const isRead = (): boolean => attachments.size > 0
  const collector = collectOutput(valves, { sinks: { stdout: ring, stderr: ring }, reading, isRead })
  collector.onOutput(attachments.onOutput)
  const exit = await running.exited
  attachments.ignoreLag()
  await collector.settle()
  attachments.end()
  collector.release()
  running.stdin.destroy()
  return exit
}

// Leaves the shell's input open when one client's ends, since others may type.
function attachmentsOf(
  { stdin, stdout, stderr, terminal }: Pick<RunningExec, 'stdin' | 'terminal'> & OutputParts<Valve>,
  kept: MemoryRing,
  facts: SessionFacts,
): AttachedClients {
  const maxLagBytes = SHIM_LIMITS.replayBytes / 4
  return createAttachedClients({
    ...{ stdin, isTerminal: true, terminal, endsInput: false },
    // stderr carries only why the shell could not be started.
    streams: [{ kind: 'stdout', kept, replayFrom: () => 0, sources: [stdout, stderr], maxLagBytes }],
    onSize: (size) => {
      facts.size = size
    },
  })
}

function nameTaken(name: string): ServiceError {
  return refusal('name_taken', [
    `The box has a session named "${name}" already.`,
    'Attach to it, or choose another name.',
  ])
}

const ENDED_MAX = 32
