import { readdirSync, readFileSync } from 'node:fs'
import type { DetachedEnd, ExecRequest, SessionFacts, TerminalSize, Typing } from '../../ports/boxes/runtime.ts'
import type { ExecKey } from '../../ports/exec/outputs.ts'
import type { BoxUser, OciConfig } from '../host/oci-spec.ts'
import { execFile } from './outputs.ts'

/**
 * Lines of JSON between agent and shim. A shim outlives the agent that started it, and may meet one of another version. So each version has
 * its own socket, `holder-<version>.sock`. An agent starts commands and sessions only in the shim of its version. Older shims run beside it
 * until their last command ends. All messages except `start` and `open` must stay the same in every version.
 */
export const SHIM_VERSION = 3

/** The first version that agents can attach to. */
export const ATTACH_VERSION = 2

/** Limits of commands, sessions and clients. */
export const SHIM_LIMITS = {
  sessionsPerBox: 16,
  /** Per shim, including those that ended and still have clients. */
  sessions: 256,
  /** Per session or command. */
  clientsEach: 64,
  /** Per shim. The agent limits the clients of one box. Each belongs to a WebSocket, and the agent accepts as many in all. */
  clients: 1024,
  /** Per shim: input that its commands have not read yet. */
  unreadInputBytes: 64 * 1024 ** 2,
  /** Output of a terminal that the shim keeps for future clients. */
  replayBytes: 256 * 1024,
} as const

/** The options of a shim, its only argument, as JSON. Contains no secrets. */
export interface ShimOptions {
  instanceId: string
  runDir: string
  crunPath: string
  execFiles: ExecFiles
}

/** The directory of the output of commands, and the number of bytes to keep of a stream. */
export interface ExecFiles {
  directory: string
  keptBytes: number
}

/** Common fields of the starts of commands and sessions. */
interface StartTask {
  boxId: string
  idBase: number
  /** Absent is false. */
  nesting?: boolean
  user: BoxUser
  request: ExecRequest
  cwd: string
  /** crun's state of the box, and the OCI config that crun reads with it. */
  crunStatus: string
  config: OciConfig
}

/** A command to start. */
export interface CommandTask extends StartTask, ExecKey {
  /** Base64. */
  stdin: string
  /** If true, its input stays open after `stdin`. */
  keepsInput: boolean
  timeoutMs: number | null
}

/** A session to start. */
export interface SessionTask extends StartTask {
  sessionId: string
  name: string
  request: ExecRequest & { terminal: TerminalSize }
}

/**
 * Requests of the agent. The answer carries the same `id`. `leave` has no answer, and the agent disconnects. `attach` gives the connection
 * to one client. After `attached`, frames (shim-frames.ts) replace lines in both directions. Where a message has an `execId`, a session
 * uses its own id.
 */
export type ShimRequest =
  | { type: 'start'; id: number; task: CommandTask }
  | { type: 'open'; id: number; task: SessionTask }
  | { type: 'signal'; id: number; execId: string; signal: NodeJS.Signals }
  | { type: 'sessions'; id: number; boxId: string }
  | { type: 'attach'; id: number; execId: string; typing: Typing }
  | { type: 'leave' }

/** Messages of the shim, first `held`, its inventory. `code` is the code of a ServiceError, or null. */
export type ShimMessage =
  | { type: 'held'; commands: DetachedCommand[]; sessions?: DetachedSession[] }
  | { type: 'done'; id: number; process: number | null }
  | { type: 'sessions'; id: number; sessions: SessionFacts[] }
  | { type: 'attached'; id: number; terminal: boolean }
  | { type: 'failed'; id: number; code: string | null; detail: string }
  | { type: 'output'; execIds: string[] }
  | { type: 'ended'; execId: string; end: DetachedEnd | null }

export interface DetachedCommand extends ExecKey {
  process: number | null
  /** Absent is false. */
  terminal?: boolean
}

export interface DetachedSession {
  sessionId: string
  boxId: string
  name: string
}

/** The note of how a detached command ended. The shim writes it before it sends the end. */
export interface ExitNote extends DetachedCommand {
  end: DetachedEnd
}

/** The files of the shim of `version` below `runDir`. */
export function shimPaths(runDir: string, version = SHIM_VERSION): { socket: string; lock: string; work: string } {
  const name = `holder-${version}`
  return { socket: `${runDir}/${name}.sock`, lock: `${runDir}/${name}.lock`, work: name }
}

/** Lists the versions of shims that have, or had, a socket in `runDir`. */
export function listShimVersions(runDir: string): number[] {
  return readdirSync(runDir).flatMap((name) => {
    const version = /^holder-(\d+)\.sock$/.exec(name)?.[1]
    return version === undefined ? [] : [Number(version)]
  })
}

/** The name of the cgroup of a detached command or a session. */
export function detachedCgroup(execId: string): string {
  return `held-${execId}`
}

/** Reads the exit note of a command, or returns null if there is none. */
export function readExitNote(directory: string, key: ExecKey): ExitNote | null {
  try {
    // Only this user can write there, and the shim writes a note atomically.
    return JSON.parse(readFileSync(execFile(directory, key, 'exit'), 'utf8')) as ExitNote
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/** Bytes of the longest line: a request of 6 MiB with all its text escaped, and the environment of its box. */
export const LINE_BYTES = 64 * 1024 ** 2
