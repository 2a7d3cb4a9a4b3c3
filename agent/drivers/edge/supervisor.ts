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
  /** Its name in log lines and problems. */
  what: string
  /** Renders the current configuration. Equal marks mean equal configurations. @throws Error for invalid settings */
  configFor(generation: number): { text: string; mark: string }
  /** Writes the files that a starting process reads. */
  prepare(): void | Promise<void>
  /** Updates an adopted process to the desired state. */
  adopt(process: EdgeProcess): Promise<void>
  /** Serializes all operations on the process. */
  inTurn<T>(task: () => Promise<T>): Promise<T>
  logger: Logger
  clock: Clock
}

/** Keeps one up-to-date process of a program running. Call all methods within `inTurn`, except `close`, which waits for them. */
export interface EdgeSupervisor {
  /** Adopts a running process or starts one. `problem` reports a failed start, which is retried. */
  open(): Promise<void>
  /** The processes with connections, the accepting one first. Empty while none runs. */
  processes(): readonly EdgeProcess[]
  /** Replaces the process if its configuration or a certificate has changed. */
  refresh(): Promise<void>
  /** Kills the process, if it lives, and starts another. */
  revive(): Promise<void>
  /** Ends retired processes without connections. */
  reap(): Promise<void>
  /** Count of starts. */
  starts(): number
  /** Returns why it cannot start or update, or null if there is no problem. */
  problem(): string | null
  close(): Promise<void>
}

/** Creates a supervisor, which `open` starts. */
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
      // Waits for a start under way, because it must still watch the process.
      await options.inTurn(async () => watcher.close())
    },
  }
}

/** Lists the problem, for the health report. */
export function problemsOf(
  supervisor: EdgeSupervisor,
  remedy: string,
): { code: string; evidence: string; remedy: string }[] {
  const evidence = supervisor.problem()
  if (evidence === null) return []
  const [code, consequence] =
    supervisor.processes().length === 0
      ? ['edge_down', 'URLs of boxes do not answer.']
      : ['edge_outdated', 'The edge still uses its previous settings and certificates.']
  return [{ code, evidence: `${consequence} ${evidence}`, remedy }]
}

interface Supervision {
  readonly options: SupervisorOptions
  readonly watcher: ExitWatcher
  readonly closing: AbortController
  current: EdgeProcess | null
  /** Processes that only finish their connections. */
  retired: EdgeProcess[]
  generation: number
  problem: string | null
  starts: number
  /** Consecutive starts that failed or ended soon. */
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
    logger.warn(`${what} exited, restarting it`, { pid: process.pid })
    state.failures = clock.now() - state.startedAt < STABLE_MS ? state.failures + 1 : 0
    startLater(state)
  })
}

function startLater(state: Supervision): void {
  const { clock, inTurn } = state.options
  const { signal } = state.closing
  const delayMs = state.failures === 0 ? 0 : Math.min(MIN_DELAY_MS * 2 ** state.failures, MAX_DELAY_MS)
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
    // A slow machine, as during its boot, gets more time with each try.
    const timeoutMs = Math.min(MIN_START_MS * 2 ** state.failures, MAX_START_MS)
    const started = await startEdgeProcess(program, { generation, ...config }, { predecessor, timeoutMs })
    Object.assign(state, { current: started, starts: state.starts + 1, startedAt: clock.now(), problem: null })
    watch(state, started)
    if (predecessor) await retire(state, predecessor)
    removeOtherGenerations(program, [started, ...state.retired])
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error)
    if (state.problem !== cause) logger.error(`${what} does not start`, { error })
    state.problem = cause
    state.failures++
    if (state.current !== null) return
    startLater(state)
  }
}

async function retire(state: Supervision, process: EdgeProcess): Promise<void> {
  state.retired.push(process)
  await state.options.program.retire(process)
}

const STABLE_MS = 10_000
// A tenth of a second is usual. On an emulated or starved machine, as during its boot, it took more than ten.
const MIN_START_MS = 30_000
const MAX_START_MS = 160_000
const MIN_DELAY_MS = 25
const MAX_DELAY_MS = 5_000
