import { chmodSync, existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { tryReadText } from '../../lib/disk/file-text.ts'
import { edgePaths, frontPaths } from './names.ts'

/** A running process of the edge. */
export interface EdgeProcess {
  /** Increases with each start. */
  generation: number
  pid: number
  /** Socket at which it reports. */
  socket: string
  /** Mark of its configuration. */
  mark: string
}

/** Files of a process. */
export interface EdgeFiles {
  generation: number
  /** Path of its configuration, which identifies the process in /proc. */
  config: string
  /** Path of the socket at which it will report. */
  socket: string
}

/** How to start a process. */
export interface EdgeStart {
  /** The process that it replaces, beside which it starts. */
  predecessor: EdgeProcess | null
  /** Time it has to listen. */
  timeoutMs: number
}

/** A program of the edge, HAProxy or Caddy: how to start, query and retire it. */
export interface EdgeProgram {
  filesOf(generation: number): EdgeFiles
  /** Mode of its configuration files. */
  configMode: number
  /**
   * Starts it as a daemon, and resolves once it listens.
   * @throws Error with its message, whose `code` is ENOENT if it is not installed
   */
  start(files: EdgeFiles, options: EdgeStart): Promise<void>
  /** Reads its identity. @throws Error if it does not answer */
  readInfo(socket: string): Promise<{ pid: number; mark: string }>
  /** Stops it from accepting connections. Open ones continue. */
  retire(process: EdgeProcess): Promise<void>
  /** Returns true if a retired process has no connection left. */
  isIdle(process: EdgeProcess): Promise<boolean>
}

/** Lists the processes with a configuration in a directory, including those that are starting. */
async function listProcesses(directory: string): Promise<{ pid: number; generation: number }[]> {
  const found: { pid: number; generation: number }[] = []
  let unchecked = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  for (const deadline = performance.now() + EXEC_MS; unchecked.length > 0; await pause(1)) {
    const unnamed: string[] = []
    for (const name of unchecked) {
      const text = tryReadText(`/proc/${name}/cmdline`)
      const generation = generationIn(text, directory)
      if (generation !== null) found.push({ pid: Number(name), generation })
      // During execve a process has no arguments for a moment. Kernel threads never have any, but have no exe.
      else if (text === '' && existsSync(`/proc/${name}/exe`)) unnamed.push(name)
    }
    unchecked = performance.now() < deadline ? unnamed : []
  }
  return found
}

/** Returns true if a directory holds configurations. Without one no process of it runs. */
export function hasConfigurations(directory: string): boolean {
  return readdirSync(directory).some((name) => CONFIG.test(name))
}

/** Returns the generation of the first configuration in `directory` that a command line names, or null if it names none. */
function generationIn(commandLine: string, directory: string): number | null {
  for (const argument of commandLine.split('\0')) {
    if (!argument.startsWith(`${directory}/`)) continue
    const generation = CONFIG.exec(argument.slice(directory.length + 1))?.[1]
    if (generation !== undefined) return Number(generation)
  }
  return null
}

/** Finds the running processes of a program, latest first, and kills those that do not answer. */
export async function findEdgeProcesses(program: EdgeProgram): Promise<EdgeProcess[]> {
  const found: EdgeProcess[] = []
  for (const { pid, generation } of await listProcesses(directoryOf(program))) {
    const { socket } = program.filesOf(generation)
    const info = await program.readInfo(socket).catch(() => null)
    if (info?.pid === pid) found.push({ generation, pid, socket, mark: info.mark })
    else killProcess(pid, 'SIGKILL')
  }
  return found.sort((a, b) => b.generation - a.generation)
}

/**
 * Starts a program with a configuration, and resolves once it listens. Kills the processes that a failed start left.
 * @throws Error as `EdgeProgram.start`
 */
export async function startEdgeProcess(
  program: EdgeProgram,
  { generation, text, mark }: { generation: number; text: string; mark: string },
  options: EdgeStart,
): Promise<EdgeProcess> {
  const files = program.filesOf(generation)
  writeFileSync(files.config, text, { mode: 0o600 })
  // Overrides the umask.
  chmodSync(files.config, program.configMode)
  try {
    await program.start(files, options)
    const { pid } = await program.readInfo(files.socket)
    return { generation, pid, socket: files.socket, mark }
  } catch (error) {
    const left = await listProcesses(directoryOf(program))
    for (const { pid } of left.filter((one) => one.generation === generation)) killProcess(pid, 'SIGKILL')
    throw error
  }
}

/** Returns true if a process of that generation lives or is starting. */
export async function isStarting({ config, generation }: EdgeFiles): Promise<boolean> {
  return (await listProcesses(dirname(config))).some((one) => one.generation === generation)
}

/** Lists the pids of all edge processes of a run directory. */
export async function edgePids(runDir: string): Promise<number[]> {
  const directories = [edgePaths(runDir).directory, frontPaths(runDir).directory]
  return (await Promise.all(directories.map(listProcesses))).flat().map(({ pid }) => pid)
}

/** Ends all edge processes of a run directory, with their connections. */
export async function endEdge(runDir: string): Promise<void> {
  await endFront(runDir)
  await endProcesses(edgePaths(runDir).directory)
}

/** Ends the Caddy in front of the edge. */
export function endFront(runDir: string): Promise<void> {
  return endProcesses(frontPaths(runDir).directory)
}

async function endProcesses(directory: string): Promise<void> {
  const deadline = performance.now() + END_MS
  for (let isGraceful = true; ; isGraceful = performance.now() < deadline) {
    const left = await listProcesses(directory)
    if (left.length === 0) break
    for (const { pid } of left) killProcess(pid, isGraceful ? 'SIGTERM' : 'SIGKILL')
    await pause(POLL_MS)
  }
  rmSync(directory, { recursive: true, force: true })
}

/** Signals a process that may have exited. */
export function killProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It has exited.
  }
}

/** Removes the files of processes that have exited. */
export function removeOtherGenerations(program: EdgeProgram, kept: readonly EdgeProcess[]): void {
  const { config, socket } = program.filesOf(0)
  for (const directory of new Set([dirname(config), dirname(socket)])) {
    for (const name of readdirSync(directory)) {
      const generation = FILE.exec(name)?.[1]
      const isKept = kept.some((one) => one.generation === Number(generation))
      if (generation !== undefined && !isKept) rmSync(`${directory}/${name}`, { force: true })
    }
  }
}

function directoryOf(program: EdgeProgram): string {
  return dirname(program.filesOf(0).config)
}

/** `PATH` of the programs. */
export const PROGRAM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
const CONFIG = /^(\d+)\.(cfg|json)$/
const FILE = /^(\d+)\.(cfg|json|sock|log)/
/** Far longer than an execve takes. */
const EXEC_MS = 100
const END_MS = 2_000
const POLL_MS = 10
