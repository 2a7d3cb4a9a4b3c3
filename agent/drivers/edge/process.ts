import { chmodSync, existsSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { tryReadText } from '../../lib/disk/file-text.ts'
import { edgePaths, frontPaths } from './names.ts'

/** A process of the edge that runs. */
export interface EdgeProcess {
  /** Higher in a later one. */
  generation: number
  pid: number
  /** At which it answers. */
  socket: string
  /** Of its configuration. */
  mark: string
}

/** What a process is started with. */
export interface EdgeFiles {
  generation: number
  /** The path of its configuration, by which its processes are found. */
  config: string
  /** The path of the socket at which it is to answer. */
  socket: string
}

/** How one of the programs of the edge is started, asked and let go. */
export interface EdgeProgram {
  filesOf(generation: number): EdgeFiles
  /** Of the files of its configurations. */
  configMode: number
  /**
   * Starts it as a daemon, and resolves once it listens, beside or in place of `predecessor`.
   * @throws Error with what it says; `code` ENOENT if it is not installed
   */
  start(files: EdgeFiles, predecessor: EdgeProcess | null): Promise<void>
  /** What it says of itself. @throws Error if it does not answer */
  readInfo(socket: string): Promise<{ pid: number; mark: string }>
  /** It takes no connection any more, but brings those it has to their end. */
  retire(process: EdgeProcess): Promise<void>
  /** Whether one that was retired has nothing left to do. */
  isIdle(process: EdgeProcess): Promise<boolean>
}

/** The processes with a configuration in a directory, those that are just starting included. */
async function listProcesses(directory: string): Promise<{ pid: number; generation: number }[]> {
  const found: { pid: number; generation: number }[] = []
  let looked = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  for (const deadline = performance.now() + EXEC_MS; looked.length > 0; await pause(1)) {
    const unnamed: string[] = []
    for (const name of looked) {
      const text = tryReadText(`/proc/${name}/cmdline`)
      const generation = generationIn(text, directory)
      if (generation !== null) found.push({ pid: Number(name), generation })
      // Just when one program takes the place of another, a process has no arguments; one of the kernel's has no program.
      else if (text === '' && existsSync(`/proc/${name}/exe`)) unnamed.push(name)
    }
    looked = performance.now() < deadline ? unnamed : []
  }
  return found
}

/** Of the first configuration in `directory` that a command line names; null: it names none. */
function generationIn(commandLine: string, directory: string): number | null {
  for (const argument of commandLine.split('\0')) {
    if (!argument.startsWith(`${directory}/`)) continue
    const generation = CONFIG.exec(argument.slice(directory.length + 1))?.[1]
    if (generation !== undefined) return Number(generation)
  }
  return null
}

/** The processes of a program that answer, the latest first; what does not answer is killed. */
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
 * Starts a program with a configuration; resolves once it listens. Nothing of one that does not start is left.
 * @throws Error as `EdgeProgram.start`
 */
export async function startEdgeProcess(
  program: EdgeProgram,
  { generation, text, mark }: { generation: number; text: string; mark: string },
  predecessor: EdgeProcess | null,
): Promise<EdgeProcess> {
  const files = program.filesOf(generation)
  writeFileSync(files.config, text, { mode: 0o600 })
  // Whatever the umask.
  chmodSync(files.config, program.configMode)
  try {
    await program.start(files, predecessor)
    const { pid } = await program.readInfo(files.socket)
    return { generation, pid, socket: files.socket, mark }
  } catch (error) {
    const left = await listProcesses(directoryOf(program))
    for (const { pid } of left.filter((one) => one.generation === generation)) killProcess(pid, 'SIGKILL')
    throw error
  }
}

/** Whether a process of that generation lives, or is about to. */
export async function isStarting({ config, generation }: EdgeFiles): Promise<boolean> {
  return (await listProcesses(dirname(config))).some((one) => one.generation === generation)
}

/** Ends every process of the edge in a run directory, and with them what is open through it. */
export async function endEdge(runDir: string): Promise<void> {
  await endFront(runDir)
  await endProcesses(edgePaths(runDir).directory)
}

/** Ends what stands in front of the edge. */
export function endFront(runDir: string): Promise<void> {
  return endProcesses(frontPaths(runDir).directory)
}

async function endProcesses(directory: string): Promise<void> {
  const deadline = performance.now() + END_MS
  for (let isPolite = true; ; isPolite = performance.now() < deadline) {
    const left = await listProcesses(directory)
    if (left.length === 0) break
    for (const { pid } of left) killProcess(pid, isPolite ? 'SIGTERM' : 'SIGKILL')
    await pause(LOOK_MS)
  }
  rmSync(directory, { recursive: true, force: true })
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

/** What starts a program so that it outlives this process without keeping mounts that are this process's own. */
export function mountNamespace(directory: string): string[] {
  try {
    const [here, there] = [statSync(directory), statSync(`/proc/1/root${directory}`)]
    return here.ino === there.ino && here.dev === there.dev ? ['nsenter', '--target', '1', '--mount', '--'] : []
  } catch {
    return []
  }
}

function directoryOf(program: EdgeProgram): string {
  return dirname(program.filesOf(0).config)
}

/** Where programs are found. */
export const PROGRAM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
const CONFIG = /^(\d+)\.(cfg|json)$/
const FILE = /^(\d+)\.(cfg|json|sock|log)/
/** Far longer than a process has no arguments for. */
const EXEC_MS = 100
const END_MS = 2_000
const LOOK_MS = 10
