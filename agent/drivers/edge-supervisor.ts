import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import type { Logger } from '../../shared/log.ts'
import type { Clock } from '../ports/clock.ts'
import { askHaproxy } from './edge-admin.ts'
import { type EdgeSettings, haproxyConfig } from './edge-config.ts'
import { edgePaths } from './edge-names.ts'
import {
  type EdgeProcess,
  findEdgeProcesses,
  killProcess,
  removeOtherGenerations,
  retireEdgeProcess,
  startEdgeProcess,
} from './edge-process.ts'
import { createExitWatcher, type ExitWatcher } from './exit-watcher.ts'

export interface SupervisorOptions {
  runDir: string
  /** 0: any that is free, and then always that. */
  port: number
  settingsFor(port: number): EdgeSettings
  /** Puts the maps where a process that starts reads them. */
  writeMaps(): void
  /** Brings what a process serves to the maps. */
  syncMaps(process: EdgeProcess): Promise<void>
  /** One thing after another, of all that is done to the edge. */
  inTurn<T>(task: () => Promise<T>): Promise<T>
  logger: Logger
  clock: Clock
}

/** Keeps one HAProxy running that serves what it should. But for `close`, call it in turn. */
export interface EdgeSupervisor {
  readonly port: number
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
  close(): void
}

/** A supervisor that has not begun. */
export function createEdgeSupervisor(options: SupervisorOptions): EdgeSupervisor {
  const watcher = createExitWatcher(options.logger)
  const state: Supervision = {
    ...{ port: options.port, current: null, retired: [], generation: 0, problem: null, startedAt: 0 },
    ...{ starts: 0, failures: 0, options, watcher, closing: new AbortController() },
  }
  return {
    get port() {
      return state.port
    },
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
      for (const { pid, socket } of state.retired) {
        const info = await askHaproxy(socket, 'show info').catch(() => '')
        if (Number(/^CurrConns: (\d+)/m.exec(info)?.[1] ?? 0) <= 1) killProcess(pid, 'SIGTERM')
      }
    },
    starts: () => state.starts,
    problem: () => state.problem,
    close: () => {
      if (state.closing.signal.aborted) return
      state.closing.abort()
      watcher.close()
    },
  }
}

interface Supervision {
  readonly options: SupervisorOptions
  readonly watcher: ExitWatcher
  readonly closing: AbortController
  port: number
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
  const { runDir, clock, syncMaps } = state.options
  const found = await findEdgeProcesses(runDir)
  if (state.options.port === 0) state.port = await keptPort(edgePaths(runDir).port)
  state.generation = found[0]?.generation ?? 0
  state.current = found[0] ?? null
  state.startedAt = clock.now()
  for (const process of found) watch(state, process)
  for (const process of found.slice(1)) await retire(state, process)
  if (state.current) await syncMaps(state.current)
  if (state.current) await refresh(state)
  else await start(state, null)
}

async function refresh(state: Supervision): Promise<void> {
  const { options, current, port, generation } = state
  if (current === null) return
  try {
    if (haproxyConfig(options.settingsFor(port), generation).mark === current.mark) state.problem = null
    else await start(state, current)
  } catch (error) {
    state.problem = error instanceof Error ? error.message : String(error)
  }
}

function watch(state: Supervision, process: EdgeProcess): void {
  const { logger, clock } = state.options
  state.watcher.watch(process.pid, () => {
    state.retired = state.retired.filter((one) => one !== process)
    if (process !== state.current) return
    state.current = null
    logger.warn('the edge ended, and is started again', { pid: process.pid })
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
  const { runDir, clock, settingsFor, writeMaps, logger } = state.options
  const generation = ++state.generation
  try {
    writeMaps()
    const config = haproxyConfig(settingsFor(state.port), generation)
    const started = await startEdgeProcess(runDir, { generation, ...config }, predecessor)
    Object.assign(state, { current: started, starts: state.starts + 1, startedAt: clock.now(), problem: null })
    watch(state, started)
    if (predecessor) await retire(state, predecessor)
    removeOtherGenerations(runDir, [started, ...state.retired])
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error)
    if (state.problem !== cause) logger.error('the edge does not start', { error })
    state.problem = cause
    if (state.current !== null) return
    state.failures++
    startLater(state)
  }
}

async function retire(state: Supervision, process: EdgeProcess): Promise<void> {
  state.retired.push(process)
  await retireEdgeProcess(process)
}

/** The port of the edge in a run directory, where it may have any. */
async function keptPort(path: string): Promise<number> {
  try {
    const kept = Number(readFileSync(path, 'utf8'))
    if (Number.isInteger(kept) && kept > 0 && kept < 65_536) return kept
  } catch {
    // There is none yet.
  }
  const free = await freePort()
  writeFileSync(path, String(free), { mode: 0o600 })
  return free
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })
}

const STEADY_MS = 10_000
const FIRST_DELAY_MS = 25
const LONGEST_DELAY_MS = 5_000
