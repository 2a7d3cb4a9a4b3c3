import type { Readable, Writable } from 'node:stream'

/** What a box is started from; complete, all defaults applied. */
export interface BoxSpec {
  id: string
  project: string
  name: string
  /** Host path of the writable root tree, ids as on disk (0 is root). */
  rootPath: string
  hostname: string
  /** 32 lower-case hex digits. */
  machineId: string
  /** Cores, may be fractional. */
  cpus: number
  ramMb: number
  /** Most processes and threads. */
  pidsMax: number
  /** Environment of every process of the box. */
  environment: Record<string, string>
  /** How long its commands may take to end where something else than `stop` ends it, such as a cluster. */
  graceSeconds: number
  /** What is mounted before anything but init runs, those nearer to `/` first. */
  mounts: readonly BoxMount[]
}

/** A tree of the host in a box; ids as on disk (0 is root), as the box's own root. */
export interface BoxMount {
  /** Host path of the tree: what the mount is known by. */
  source: string
  /** Absolute path in the box; missing directories are made. */
  path: string
  readOnly: boolean
}

/** What bounds a box. */
export interface BoxLimits {
  cpus: number
  ramMb: number
}

/** A box as the runtime sees it; `pid` is its init on the host. */
export interface RuntimeBox {
  id: string
  isRunning: boolean
  pid: number | null
}

/** What the kernel has counted of a box since its start, and what it has now. */
export interface BoxUsage {
  /** Of all processors together; null where the host does not count it. */
  cpuSeconds: number | null
  /** With the caches of its files, of which `cacheBytes` are given up as soon as others want them. */
  memoryBytes: number
  cacheBytes: number
  /** Processes and threads. */
  pids: number
  network: { receivedBytes: number; receivedPackets: number; sentBytes: number; sentPackets: number }
}

/** Why a box's init ended without being asked to. */
export interface BoxExit {
  id: string
  outOfMemory: boolean
  /** What it ran in was taken away from outside, as a deleted pod: the box is to come back. */
  isLost: boolean
}

export interface ExecRequest {
  /** Program and arguments, at least one; a program without `/` is looked up on the PATH of the environment. */
  command: readonly string[]
  /** Absolute directory in the box; null is the home of the user. */
  cwd: string | null
  /** The whole environment of the process. */
  environment: Record<string, string>
  /** A name or number, optionally `:group`, of the box's own /etc/passwd and /etc/group; null is root. */
  user: string | null
  /** The size of the terminal it gets; without one it gets pipes. */
  terminal?: TerminalSize
  /** True: what it writes to stderr comes with its stdout, in the order of writing; without a terminal. */
  mergesOutput?: boolean
  /** True: all that it started, and is left when it has ended, is killed. */
  endsWhole?: boolean
}

/** The size of a terminal in characters, each 1–65,535. */
export interface TerminalSize {
  cols: number
  rows: number
}

/** The terminal of a command. */
export interface Terminal {
  /** Changes its size, and tells the command's foreground processes; of one that is gone it is a success. */
  resize(size: TerminalSize): void
}

/** How a command ended. A program that is missing is 127, one that cannot be run 126, as in a shell. */
export interface ExecExit {
  /** Null if a signal ended it. */
  exitCode: number | null
  /** Such as `SIGKILL`; null if it exited. */
  signal: string | null
  /** True if the box's memory limit killed it. */
  outOfMemory: boolean
}

/** A command that runs in a box. The streams must be read to their end, or destroyed. */
export interface RunningExec {
  /** The directory it was started in. */
  cwd: string
  /** The process in the box's own pid namespace, as soon as it is known. */
  process: Promise<number | null>
  /** With one, `stdin` and `stdout` are its two directions, and `stderr` is empty. */
  terminal: Terminal | null
  stdin: Writable
  stdout: Readable
  stderr: Readable
  /** Settles once the process is gone, never rejects; streams may still hold data. */
  exited: Promise<ExecExit>
  /** Signals every process the command started that has not left it by its own service manager. */
  signal(name: NodeJS.Signals): Promise<void>
}

/** A command that goes on, and whose end is recorded, when this process is gone. */
export interface DetachedExecRequest extends ExecRequest {
  stdin: Uint8Array
  /** True: the command's input stays open after `stdin`, for clients that attach. */
  keepsInput?: boolean
  /** After this many ms it is killed with all it started, whether this process lives or not; null: never. */
  timeoutMs: number | null
}

/** How a detached command ended; `endedAt` in ms since the epoch. */
export interface DetachedEnd extends ExecExit {
  timedOut: boolean
  endedAt: number
}

/** A command that was started by `execDetached`, of this process or an earlier one. */
export interface DetachedExec {
  readonly boxId: string
  readonly execId: string
  /** The process in the box's own pid namespace; null if it could not be told. */
  readonly process: number | null
  /** How it ended, once its output is in its files durably; null if nobody knows. Never rejects. */
  ended: Promise<DetachedEnd | null>
  /** Calls `listener` when there is new output in its files; returns what stops it. */
  onOutput(listener: () => void): () => void
  /** As that of a RunningExec. */
  signal(name: NodeJS.Signals): Promise<void>
  /** Attaches; throws `runtime_unavailable` if it cannot be reached. After its end the streams give the kept output, and end. */
  attach(typing: Typing): Promise<AttachedExec>
  /** Removes the note of its end, once that is recorded elsewhere. */
  forget(): Promise<void>
}

/**
 * Who of those attached may type: `all` joins those who do, `one` takes the keyboard until it leaves (of two, the later has
 * it), `none` watches.
 */
export type Typing = 'all' | 'one' | 'none'

/**
 * A detached command or session as one viewer sees it. The output begins with what is kept of it (of a terminal the last
 * 256 KiB), and ends when the command's does. While all viewers read slower than it writes, the command blocks; one viewer that
 * is slower than others misses what is no longer kept.
 */
export interface AttachedExec {
  /** Ending it closes the command's input; input of a viewer that may not type is dropped. */
  stdin: Writable
  stdout: Readable
  /** Empty where there is a terminal. */
  stderr: Readable
  terminal: Terminal | null
  /** Detaches, and destroys the streams; the command goes on. */
  close(): void
}

/** A terminal with a shell, for a box's console. */
export interface SessionRequest extends ExecRequest {
  /** `ses_…`, unused so far. */
  sessionId: string
  /** Unique among the sessions of the box. */
  name: string
  terminal: TerminalSize
}

/** What is known of a session that runs. `startedAt` in ms since the epoch. */
export interface SessionFacts {
  sessionId: string
  boxId: string
  name: string
  command: readonly string[]
  user: string
  process: number | null
  startedAt: number
  size: TerminalSize
  /** How many are attached. */
  viewers: number
}

/** A session, begun by this process or one before. */
export interface TerminalSession {
  readonly sessionId: string
  readonly boxId: string
  readonly name: string
  /** How its shell ended; null if nobody knows. Never rejects. */
  ended: Promise<DetachedEnd | null>
  /** As that of a DetachedExec, but throws `session_not_found` once it has ended. */
  attach(typing: Typing): Promise<AttachedExec>
  signal(name: NodeJS.Signals): Promise<void>
}

/** Runs boxes. Every method is idempotent and named by the box's id; what it starts outlives this process. */
export interface Runtime {
  /** As `GET /version` tells it: `crun`. */
  readonly kind: string
  /** Makes the host ready, and takes up the boxes that run since before this process. */
  open(): Promise<void>
  /** Throws `runtime_unavailable`, saying why, while no box can be started or stopped, as far as can be known soon. */
  checkReady(): Promise<void>
  /** Starts a box whose parts may half exist from a start that was cut off; resolves when its init runs. */
  start(spec: BoxSpec): Promise<RuntimeBox>
  /** Everything that carries this instance's mark, found in the world, not in memory. */
  list(): Promise<RuntimeBox[]>
  /**
   * SIGTERM to every process but init, waits until they are gone or `graceMs` is over or `signal` aborts, then SIGKILL to all
   * and removes every part: cgroups, mounts, namespaces, state. Success if there is nothing.
   */
  stop(id: string, options: { graceMs: number; signal?: AbortSignal }): Promise<void>
  /**
   * Mounts a tree into a running box; one that is there the same way is a success. Throws `box_not_running`, `path_invalid`
   * where the path leads to no directory of the box's disk or another mount, `storage_full` where a directory cannot be made.
   */
  attach(id: string, mount: BoxMount): Promise<void>
  /**
   * Takes the tree `source` out of a running box, wherever the box has moved it; absent it is a success. Throws
   * `volume_busy`, naming processes of the box that use it, with nothing changed, or `box_not_running`.
   */
  detach(id: string, source: string): Promise<void>
  /** The trees that `attach` or `start` mounted into a running box, with their paths as they are now. */
  mounts(id: string): Promise<BoxMount[]>
  /** What a running box has used; null if it does not run. */
  usage(id: string): Promise<BoxUsage | null>
  /** Changes the limits of a running box at once. Throws `below_use` with figures and nothing changed, or `box_not_running`. */
  resize(id: string, limits: BoxLimits): Promise<void>
  /**
   * Stops every process of a running box at one instant, its commands included, while `work` runs, and then lets them go on,
   * whatever becomes of it. Of a box that does not run it just runs `work`. Box and mounts stay as they are meanwhile: other
   * calls that would change them wait, so `work` makes none. Throws `runtime_unavailable` with the box going on if it cannot be
   * stopped, or if that and `work` take longer than 5 s: what `work` does later is not waited for.
   */
  frozen<T>(id: string, work: () => Promise<T>): Promise<T>
  /** Starts a command in a running box. Throws `box_not_running`, or `invalid_request` for an unknown user. */
  exec(id: string, request: ExecRequest): Promise<RunningExec>
  /**
   * Starts a command that outlives this process, and whose output goes to the files of `execId`. Resolves when it runs, with
   * the directory it was started in. Throws as `exec`, or `runtime_unavailable` if no shim can be started.
   */
  execDetached(
    id: string,
    execId: string,
    request: DetachedExecRequest,
  ): Promise<{ detached: DetachedExec; cwd: string }>
  /** Lists the detached commands that run, or have ended and were not forgotten, including those of earlier processes. */
  listDetached(): Promise<DetachedExec[]>
  /** Starts a session that outlives this process and ends with its shell. Throws as `execDetached`. */
  openSession(id: string, request: SessionRequest): Promise<TerminalSession>
  /** The session of that name, if the box has it. */
  session(id: string, name: string): TerminalSession | null
  /** The sessions of a box. */
  sessions(id: string): Promise<SessionFacts[]>
  /** Calls `listener` when a box's init ends and nobody asked; at most one listener. */
  onExit(listener: (exit: BoxExit) => void): void
  /** Calls `listener` when starts and stops that failed are worth another try; at most one listener. */
  onRecovery(listener: () => void): void
  /** Leaves boxes running and lets go of them. */
  close(): Promise<void>
}
