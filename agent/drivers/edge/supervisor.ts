import type { Logger } from '../../../shared/log.ts'
import type { Clock } from '../../ports/host/clock.ts'
import { createExitWatcher, type ExitWatcher } from '../host/exit-watcher.ts'
import {
  type EdgeProcess,
  type EdgeProgram,
  findEdgeProcesses,
  killProcess,
  removeOtherGenerations,
  startEdgeProcess,
} from './process.ts'

export interface SupervisorOptions {
  program: EdgeProgram
  /** As people know it, within a sentence. */
  what: string
  /** What it is to be started with now; the mark tells one configuration from another. @throws Error where it cannot be */
  configFor(generation: number): { text: string; mark: string }
  /** Makes ready what a process that starts reads. */
  prepare(): void | Promise<void>
  /** Brings one that is taken over to what it should serve. */
  adopt(process: EdgeProcess): Promise<void>
  /** One thing after another, of all that is done to it. */
  inTurn<T>(task: () => Promise<T>): Promise<T>
  logger: Logger
  clock: Clock
}

/** Keeps one process of a program running that serves what it should. But for `close`, which waits for those, call it in turn. */
export interface EdgeSupervisor {
  /** Adopts what runs, or starts it; that it cannot be started is told as a problem. */
  open(): Promise<void>
  /** All that have connections, the one that takes new ones first; empty while none runs. */
  processes(): readonly EdgeProcess[]
  /** Starts another in its place if its configuration, or a certificate, is another now. */
  refresh(): Promise<void>
  /** Kills it, if it lives, and starts another. */
  revive(): Promise<void>
  /** Ends those whose last connection is gone. */
  reap(): Promise<void>
  /** How often it was started. */
  starts(): number
  /** Why it cannot be started, or not as it should be. */
  problem(): string | null
  close(): Promise<void>
}

/** A supervisor that has not begun. */
export function createEdgeSupervisor(options: SupervisorOptions): EdgeSupervisor {
  const watcher = createExitWatcher(options.logger)
  const state: Supervision = {
    ...{ current: null, retired: [], generation: 0, problem: null, startedAt: 0 },
    ...{ starts: 0, failures: 0, options, watcher, closing: new AbortController() },
  }
  return {
    open: () => open(state),
    processes: () => (state.current ? [state.current, ...state.retired] : state.retired),
    refresh: () => refresh(state),
    revive: async () => {
      const hung = state.current
      state.current = null
      if (hung) killProcess(hung.pid, 'SIGKILL')
      await start(state, null)
    },
    reap: async () => {
      for (const process of state.retired) {
        if (await options.program.isIdle(process)) killProcess(process.pid, 'SIGTERM')
      }
    },
    starts: () => state.starts,
    problem: () => state.problem,
    close: async () => {
      if (state.closing.signal.aborted) return
      state.closing.abort()
      // A start that has begun still has its process watched.
      await options.inTurn(async () => watcher.close())
    },
  }
}

/** What is wrong, for the health report. */
export function problemsOf(
  supervisor: EdgeSupervisor,
  remedy: string,
): { code: string; evidence: string; remedy: string }[] {
  const evidence = supervisor.problem()
  if (evidence === null) return []
  const [code, consequence] =
    supervisor.processes().length === 0
      ? ['edge_down', 'No URL of a box answers.']
      : ['edge_outdated', 'The edge serves with the settings and certificates it had before.']
  return [{ code, evidence: `${consequence} ${evidence}`, remedy }]
}

interface Supervision {
  readonly options: SupervisorOptions
  readonly watcher: ExitWatcher
  readonly closing: AbortController
  current: EdgeProcess | null
  /** Those that bring what they have to its end. */
  retired: EdgeProcess[]
  generation: number
  problem: string | null
  starts: number
  /** Starts that failed, or soon ended, one after the other. */
  failures: number
  startedAt: number
}

async function open(state: Supervision): Promise<void> {
  const { program, clock, adopt } = state.options
  const found = await findEdgeProcesses(program)
  state.generation = found[0]?.generation ?? 0
  state.current = found[0] ?? null
  state.startedAt = clock.now()
  for (const process of found) watch(state, process)
  for (const process of found.slice(1)) await retire(state, process)
  if (state.current) await adopt(state.current)
  if (state.current) await refresh(state)
  else await start(state, null)
}

async function refresh(state: Supervision): Promise<void> {
  const { options, current, generation } = state
  if (current === null) return
  try {
    if (options.configFor(generation).mark === current.mark) state.problem = null
    else await start(state, current)
  } catch (error) {
    state.problem = error instanceof Error ? error.message : String(error)
  }
}

function watch(state: Supervision, process: EdgeProcess): void {
  const { logger, clock, what } = state.options
  state.watcher.watch(process.pid, () => {
    state.retired = state.retired.filter((one) => one !== process)
    if (process !== state.current) return
    state.current = null
    logger.warn(`${what} ended, and is started again`, { pid: process.pid })
    state.failures = clock.now() - state.startedAt < STEADY_MS ? state.failures + 1 : 0
    startLater(state)
  })
}

function startLater(state: Supervision): void {
  const { clock, inTurn } = state.options
  const { signal } = state.closing
  const delayMs = state.failures === 0 ? 0 : Math.min(FIRST_DELAY_MS * 2 ** state.failures, LONGEST_DELAY_MS)
  void clock.sleep(delayMs, signal).then(() =>
    inTurn(async () => {
      if (state.current === null && !signal.aborted) await start(state, null)
    }),
  )
}

async function start(state: Supervision, predecessor: EdgeProcess | null): Promise<void> {
  const { program, clock, configFor, prepare, logger, what } = state.options
  if (state.closing.signal.aborted) return
  const generation = ++state.generation
  try {
    await prepare()
    const config = configFor(generation)
    const started = await startEdgeProcess(program, { generation, ...config }, predecessor)
    Object.assign(state, { current: started, starts: state.starts + 1, startedAt: clock.now(), problem: null })
    watch(state, started)
    if (predecessor) await retire(state, predecessor)
    removeOtherGenerations(program, [started, ...state.retired])
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error)
    if (state.problem !== cause) logger.error(`${what} does not start`, { error })
    state.problem = cause
    if (state.current !== null) return
    state.failures++
    startLater(state)
  }
}

async function retire(state: Supervision, process: EdgeProcess): Promise<void> {
  state.retired.push(process)
  await state.options.program.retire(process)
}

const STEADY_MS = 10_000
const FIRST_DELAY_MS = 25
const LONGEST_DELAY_MS = 5_000
