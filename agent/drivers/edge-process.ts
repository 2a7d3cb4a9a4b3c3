import { readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { tryReadText } from '../lib/file-text.ts'
import { CommandError, runOk } from '../lib/run.ts'
import { askHaproxy, readInfo } from './edge-admin.ts'
import { edgePaths } from './edge-names.ts'

/** A HAProxy of ours that runs. */
export interface EdgeProcess {
  /** Higher in a later one. */
  generation: number
  pid: number
  /** Of its admin socket. */
  socket: string
  /** Of its configuration. */
  mark: string
}

/** The processes of an edge, those that are just starting included, by what they were started with. */
function listEdgeProcesses(runDir: string): { pid: number; generation: number }[] {
  const { directory } = edgePaths(runDir)
  return readdirSync('/proc').flatMap((name) => {
    const pid = Number(name)
    const args = Number.isInteger(pid) ? tryReadText(`/proc/${name}/cmdline`).split('\0') : []
    const config = args[args.indexOf('-f') + 1]
    const generation = /^(\d+)\.cfg$/.exec(
      config?.startsWith(`${directory}/`) ? config.slice(directory.length + 1) : '',
    )
    return generation === null ? [] : [{ pid, generation: Number(generation[1]) }]
  })
}

/** The processes of an edge that answer, the latest first; what does not answer is killed. */
export async function findEdgeProcesses(runDir: string): Promise<EdgeProcess[]> {
  const found: EdgeProcess[] = []
  for (const { pid, generation } of listEdgeProcesses(runDir)) {
    const socket = edgePaths(runDir).admin(generation)
    const info = await readInfo(socket).catch(() => null)
    if (info?.pid === pid) found.push({ generation, pid, socket, mark: info.mark })
    else killProcess(pid, 'SIGKILL')
  }
  return found.sort((a, b) => b.generation - a.generation)
}

/**
 * Starts HAProxy with a configuration in place, as a daemon; resolves once it listens. It takes over the listeners of
 * `predecessor`, and no connection is refused meanwhile.
 * @throws Error with what HAProxy says; `code` ENOENT if it is not installed
 */
export async function startEdgeProcess(
  runDir: string,
  { generation, text, mark }: { generation: number; text: string; mark: string },
  predecessor: EdgeProcess | null,
): Promise<EdgeProcess> {
  const paths = edgePaths(runDir)
  const config = paths.config(generation)
  const socket = paths.admin(generation)
  writeFileSync(config, text, { mode: 0o600 })
  const takeover = predecessor ? ['-x', predecessor.socket] : []
  const [command = '', ...args] = [...mountNamespace(paths.directory), 'haproxy', '-D', '-f', config, ...takeover]
  try {
    await runOk(command, args, { env: { PATH }, cwd: '/', timeoutMs: START_MS })
  } catch (error) {
    for (const { pid } of listEdgeProcesses(runDir).filter((one) => one.generation === generation)) {
      killProcess(pid, 'SIGKILL')
    }
    throw error instanceof CommandError ? new Error(causeOf(error)) : error
  }
  const { pid } = await readInfo(socket)
  return { generation, pid, socket, mark }
}

/** Takes no connection any more, but brings those it has to their end. */
export async function retireEdgeProcess({ socket }: EdgeProcess): Promise<void> {
  await askHaproxy(socket, 'shutdown frontend edge')
}

/** Ends every process of the edge in a run directory, and with them what is open through it. */
export async function endEdge(runDir: string): Promise<void> {
  const deadline = performance.now() + END_MS
  for (let isPolite = true; ; isPolite = performance.now() < deadline) {
    const left = listEdgeProcesses(runDir)
    if (left.length === 0) break
    for (const { pid } of left) killProcess(pid, isPolite ? 'SIGTERM' : 'SIGKILL')
    await pause(LOOK_MS)
  }
  rmSync(edgePaths(runDir).directory, { recursive: true, force: true })
}

/** Signals a process that may be gone. */
export function killProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It is gone.
  }
}

/** Removes what processes that are gone left. */
export function removeOtherGenerations(runDir: string, kept: readonly EdgeProcess[]): void {
  const { directory } = edgePaths(runDir)
  for (const name of readdirSync(directory)) {
    const generation = /^(\d+)\.(cfg|sock)/.exec(name)?.[1]
    const isKept = kept.some((one) => one.generation === Number(generation))
    if (generation !== undefined && !isKept) rmSync(`${directory}/${name}`, { force: true })
  }
}

// It is to outlive this process without keeping mounts that are this process's own.
function mountNamespace(directory: string): string[] {
  try {
    const [here, there] = [statSync(directory), statSync(`/proc/1/root${directory}`)]
    return here.ino === there.ino && here.dev === there.dev ? ['nsenter', '--target', '1', '--mount', '--'] : []
  } catch {
    return []
  }
}

function causeOf({ stderr, timedOut }: CommandError): string {
  if (timedOut) return 'HAProxy did not start in time.'
  const alert = stderr
    .split('\n')
    .findLast((line) => /\[(ALERT|WARNING)\]/.test(line) && !line.includes('haproxy version'))
  const first = stderr.split('\n').find((line) => line.includes('[ALERT]')) ?? alert
  return first?.replace(/^\[ALERT\]\s*\(\d+\) : /, '') ?? 'HAProxy did not start.'
}

const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
const START_MS = 10_000
const END_MS = 2_000
const LOOK_MS = 10
