import { readdirSync, readFileSync } from 'node:fs'
import type { DetachedEnd, ExecRequest, SessionFacts, TerminalSize, Typing } from '../../ports/boxes/runtime.ts'
import type { OutputPlace } from '../../ports/exec/outputs.ts'
import type { BoxUser, OciConfig } from '../host/oci-spec.ts'
import { execFile } from './files.ts'

/**
 * Lines of JSON between agent and shim. A shim outlives the agent that started it, and may meet one of another version:
 * each version has a socket of its own, `holder-<version>.sock`. An agent starts commands and sessions only in the shim of
 * its version, beside which others run until they hold nothing. All messages but `start` and `open` are the same in every
 * version, for ever.
 */
export const SHIM_VERSION = 3

/** The first version that lets agents attach to what it holds, as all later ones do. */
export const ATTACH_VERSION = 2

/** What bounds what is held, and those who are attached to it. */
export const SHIM_LIMITS = {
  sessionsPerBox: 16,
  /** Of a shim, those that ended and still have viewers included. */
  sessions: 256,
  /** Of one session or command. */
  viewersEach: 64,
  /** Of a shim. What a box may have of them the agent sees to: each is of a WebSocket, of which it takes as many. */
  viewers: 1024,
  /** Of a shim: input that its commands have not read yet. */
  unreadInputBytes: 64 * 1024 ** 2,
  /** Kept of a terminal for those who attach. */
  replayBytes: 256 * 1024,
} as const

/** What a shim is told at its start, as its only argument; no secrets. */
export interface ShimOptions {
  instanceId: string
  runDir: string
  crunPath: string
  execFiles: ExecFiles
}

/** Where the output of commands is, and how many bytes of a stream are kept. */
export interface ExecFiles {
  directory: string
  keptBytes: number
}

/** What commands and sessions are started with. */
interface StartTask {
  boxId: string
  idBase: number
  user: BoxUser
  request: ExecRequest
  cwd: string
  /** What crun noted of the box, and what else it reads of it. */
  crunStatus: string
  config: OciConfig
}

/** A command to start. */
export interface CommandTask extends StartTask, OutputPlace {
  /** Base64. */
  stdin: string
  /** Whether its input stays open after `stdin`. */
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
 * What the agent asks; `id` comes back in the answer. `leave` has none: the agent goes. With `attach` the connection belongs
 * to one viewer: once it is `attached`, frames (holder-frames.ts) take the place of lines, in both directions. A session is
 * signalled, attached to and told of as ended by its own id, in the place of a command's.
 */
export type ShimRequest =
  | { type: 'start'; id: number; task: CommandTask }
  | { type: 'open'; id: number; task: SessionTask }
  | { type: 'signal'; id: number; execId: string; signal: NodeJS.Signals }
  | { type: 'sessions'; id: number; boxId: string }
  | { type: 'attach'; id: number; execId: string; typing: Typing }
  | { type: 'leave' }

/** What the shim says: first `held`, what runs or starts now. `code` is a ServiceError's, or null. */
export type ShimMessage =
  | { type: 'held'; commands: DetachedCommand[]; sessions?: DetachedSession[] }
  | { type: 'done'; id: number; process: number | null }
  | { type: 'sessions'; id: number; sessions: SessionFacts[] }
  | { type: 'attached'; id: number; terminal: boolean }
  | { type: 'failed'; id: number; code: string | null; detail: string }
  | { type: 'output'; execIds: string[] }
  | { type: 'ended'; execId: string; end: DetachedEnd | null }

export interface DetachedCommand extends OutputPlace {
  process: number | null
  /** Absent is false. */
  terminal?: boolean
}

export interface DetachedSession {
  sessionId: string
  boxId: string
  name: string
}

/** The note of how a held command ended, written before anybody is told. */
export interface ExitNote extends DetachedCommand {
  end: DetachedEnd
}

/** The files of a shim below `runDir`; with a version that of another. */
export function shimPaths(runDir: string, version = SHIM_VERSION): { socket: string; lock: string; work: string } {
  const name = `holder-${version}`
  return { socket: `${runDir}/${name}.sock`, lock: `${runDir}/${name}.lock`, work: name }
}

/** Versions of the shims that have, or had, a socket in `runDir`. */
export function listShims(runDir: string): number[] {
  return readdirSync(runDir).flatMap((name) => {
    const version = /^holder-(\d+)\.sock$/.exec(name)?.[1]
    return version === undefined ? [] : [Number(version)]
  })
}

/** The name of the cgroup of a held command, or of a session. */
export function detachedCgroup(execId: string): string {
  return `held-${execId}`
}

/** The note of a command's end; null if there is none. */
export function readExitNote(directory: string, place: OutputPlace): ExitNote | null {
  try {
    // Ours alone can write there, and it is written whole or not at all.
    return JSON.parse(readFileSync(execFile(directory, place, 'exit'), 'utf8')) as ExitNote
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/** The longest line: a request of 6 MiB with all its text escaped, and the environment of its box. */
export const LINE_BYTES = 64 * 1024 ** 2
