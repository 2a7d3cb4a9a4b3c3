import type { Readable, Writable } from 'node:stream'
import type { BoxSocket, SocketOptions } from './box-socket.ts'
import type { ExecExit } from './exec-exit.ts'
import type { BoxLimits } from './limits.ts'
import type { PortConnection } from './port-connection.ts'
import type { RuntimeProblem } from './problems.ts'

/** Everything that a start needs, complete and with defaults applied. */
export interface BoxSpec extends BoxLimits {
  id: string
  project: string
  name: string
  /** Host path of the writable root tree, ids as on disk (0 is root). */
  rootPath: string
  hostname: string
  /** 32 lower-case hex digits. */
  machineId: string
  /** Limit of processes and threads. */
  pidsMax: number
  /** Environment variables of every process in the box. */
  environment: Record<string, string>
  /** Grace of its commands if something other than `stop` ends the box, such as a cluster. */
  graceSeconds: number
  /** True: programs in it may make namespaces and mounts, as container runtimes do. */
  nesting: boolean
  /** True: it has never run, and its root may still identify it as another box. */
  isNew: boolean
  /** True: overwrite the files in its root that hold its name and its resolvers. */
  writesNames: boolean
  /** Mounts made before anything but init runs. Parents come before their children. */
  mounts: readonly BoxMount[]
}

/** A host tree mounted in a box. Ids are as on disk (0 is root), like in the box's root. */
export interface BoxMount {
  /** Host path of the tree, which identifies the mount. */
  source: string
  /** Absolute path in the box. The runtime creates missing directories. */
  path: string
  readOnly: boolean
}

/** A box in the runtime. `pid` is its init on the host. */
export interface RuntimeBox {
  id: string
  isRunning: boolean
  pid: number | null
}

/** Resource use of a box: counters since its start, and present values. */
export interface BoxUsage {
  /** CPU time summed over all CPUs. Null where the host does not count it. */
  cpuSeconds: number | null
  /** Includes its page cache: `cacheBytes` of it are reclaimable. */
  memoryBytes: number
  cacheBytes: number
  /** Processes and threads. */
  pids: number
  network: { receivedBytes: number; receivedPackets: number; sentBytes: number; sentPackets: number }
}

/** Reason for an unrequested end of a box's init. */
export interface BoxExit {
  id: string
  outOfMemory: boolean
  /** Its pod or container was deleted from outside. The box must restart. */
  isLost: boolean
  /** Why the agent killed it, in words for the user. Absent: it did not. */
  why?: string | undefined
}

export interface ExecRequest {
  /** Program and arguments, at least one. A program without `/` is looked up in the PATH of the environment. */
  command: readonly string[]
  /** Absolute directory in the box. Null is the user's home. */
  cwd: string | null
  /** Complete environment of the process. */
  environment: Record<string, string>
  /** A name or number, optionally `:group`, of the box's own /etc/passwd and /etc/group. Null is root. */
  user: string | null
  /** Size of its terminal. Without it, the command gets pipes. */
  terminal?: TerminalSize
  /** True: stderr is written to stdout, in the order of writing. Only without a terminal. */
  mergesOutput?: boolean
  /** True: once it has ended, everything left that it started is killed. */
  endsWhole?: boolean
  /** True: a crash may leave a core dump in the box, where the host's kernel is set to write files. */
  dumpsCore?: boolean
  /** The accounts, beside its box, that share bounded resources. */
  accounts?: readonly string[]
}

/** The size of a terminal in characters, each 1–65,535. */
export interface TerminalSize {
  cols: number
  rows: number
}

/** Terminal of a command. */
export interface Terminal {
  /** Sets the size and signals the foreground processes (SIGWINCH). Succeeds if the terminal is gone. */
  resize(size: TerminalSize): void
}

/** A running command. Its streams must be read to the end, or destroyed. */
export interface RunningExec {
  /** Working directory of its start. */
  cwd: string
  /** Pid in the box's pid namespace, once it is known. */
  process: Promise<number | null>
  /** If set, `stdin` and `stdout` are its two directions, and `stderr` is empty. */
  terminal: Terminal | null
  stdin: Writable
  stdout: Readable
  stderr: Readable
  /** Resolves once the process is gone, though streams may still hold data. Never rejects. */
  exited: Promise<ExecExit>
  /** Signals every process that the command started, except those that a service manager in the box has taken over. */
  signal(name: NodeJS.Signals): Promise<void>
}

/** A command that outlives this process. Its end is recorded even while no agent runs. */
export interface DetachedExecRequest extends ExecRequest {
  stdin: Uint8Array
  /** True: stdin stays open after `stdin`, for clients that attach. */
  keepsInput?: boolean
  /** Timeout in ms after which it is killed with all it started, also while no agent runs. Null: none. */
  timeoutMs: number | null
}

/** End of a detached command. `endedAt` in ms since the epoch. */
export interface DetachedEnd extends ExecExit {
  timedOut: boolean
  endedAt: number
}

/** A command started by `execDetached`, in this process or an earlier one. */
export interface DetachedExec {
  readonly boxId: string
  readonly execId: string
  /** Pid in the box's pid namespace. Null if it could not be determined. */
  readonly process: number | null
  /** Its end, once its output files are synced. Null if unknown. Never rejects. */
  ended: Promise<DetachedEnd | null>
  /** Calls `listener` at new output in its files. Returns a function that removes it. */
  onOutput(listener: () => void): () => void
  /** As `RunningExec.signal`. */
  signal(name: NodeJS.Signals): Promise<void>
  /**
   * Attaches. Throws `runtime_unavailable` if the shim cannot be reached. After the command's end the streams give the kept
   * output, and end.
   */
  attach(typing: Typing): Promise<AttachedExec>
  /** Removes the note of its end. Call it once the end is recorded elsewhere. */
  forget(): Promise<void>
}

/**
 * Right of an attached client to type: `all` shares the input with others, `one` owns it until the client leaves (the latest
 * to ask wins), `none` only watches.
 */
export type Typing = 'all' | 'one' | 'none'

/**
 * A detached command or session as seen by one client. The output begins with the kept part (of a terminal the last 256 KiB)
 * and ends when the command's does. The command blocks while all clients read slower than it writes. A client slower than
 * others misses output that is no longer kept.
 */
export interface AttachedExec {
  /** Ending it closes the command's stdin. Input from a client without the right to type is dropped. */
  stdin: Writable
  stdout: Readable
  /** Empty where there is a terminal. */
  stderr: Readable
  terminal: Terminal | null
  /** Detaches and destroys the streams. The command keeps running. */
  close(): void
}

/** A terminal with a shell, for a box's console. */
export interface SessionRequest extends ExecRequest {
  /** `ses_…`, not used before. */
  sessionId: string
  /** Unique among the sessions of the box. */
  name: string
  terminal: TerminalSize
}

/** A running session. `startedAt` in ms since the epoch. */
export interface SessionFacts {
  sessionId: string
  boxId: string
  name: string
  command: readonly string[]
  user: string
  process: number | null
  startedAt: number
  size: TerminalSize
  /** Number of attached clients. */
  viewers: number
}

/** A session started by this process or an earlier one. */
export interface TerminalSession {
  readonly sessionId: string
  readonly boxId: string
  readonly name: string
  /** End of its shell. Null if unknown. Never rejects. */
  ended: Promise<DetachedEnd | null>
  /** As `DetachedExec.attach`, but throws `session_not_found` once it has ended. */
  attach(typing: Typing): Promise<AttachedExec>
  signal(name: NodeJS.Signals): Promise<void>
}

/** Runs boxes, which outlive this process. Every method is idempotent and addresses a box by its id. */
export interface Runtime {
  /** Value of `GET /version`, such as `crun`. */
  readonly kind: string
  /** Prepares the host and adopts the boxes that earlier processes started. */
  open(): Promise<void>
  /** Starts in the background what the first start and the first mount would wait for. */
  warmUp(): void
  /** Throws `runtime_unavailable` with the reason while boxes cannot be started or stopped, as far as can be known quickly. */
  checkReady(): Promise<void>
  /**
   * Starts a box, and cleans up what an interrupted start left. Resolves when its init runs. Calls `onWaiting` with a message for the
   * user when the start waits for something outside, such as room in a cluster.
   */
  start(spec: BoxSpec, onWaiting?: (why: string) => void): Promise<RuntimeBox>
  /** Lists all boxes with this instance's mark, as found on the host or cluster, not in memory. */
  list(): Promise<RuntimeBox[]>
  /**
   * Sends SIGTERM to every process but init. Waits until they are gone, `graceMs` has passed or `signal` aborts. Then kills all and
   * removes every part (cgroups, mounts, namespaces, state). Succeeds if there is nothing.
   */
  stop(id: string, options: { graceMs: number; signal?: AbortSignal }): Promise<void>
  /**
   * Mounts a tree into a running box. Succeeds if it is mounted there the same way. Throws `box_not_running`, `path_invalid`
   * if the path leads to another mount or to no directory of the box's disk, `storage_full` if a directory cannot be created.
   */
  attach(id: string, mount: BoxMount): Promise<void>
  /**
   * Unmounts the tree `source` from a running box, even if the box has renamed its directory. Succeeds if it is not mounted.
   * Throws `volume_busy` with the processes that use it, changing nothing, or `box_not_running`.
   */
  detach(id: string, source: string): Promise<void>
  /** Lists the trees that `attach` or `start` mounted into a running box, with their present paths. */
  mounts(id: string): Promise<BoxMount[]>
  /** Lists present problems that boxes run with. */
  problems(): Promise<RuntimeProblem[]>
  /** Returns how long `DiskBounds` have stalled boxes, summed over all since this process opened the runtime. */
  pausedSeconds(): number
  /** Returns how many processes of boxes the kernel killed for want of memory, of all boxes since this process opened the runtime. */
  oomKills(): number
  /** Returns the resource use of a running box. Null if it does not run. */
  usage(id: string): Promise<BoxUsage | null>
  /**
   * Changes the limits of a running box at once. Throws `below_use` with the current use, or `box_not_running`, and then changes nothing.
   */
  resize(id: string, limits: BoxLimits): Promise<void>
  /**
   * Freezes every process of a running box, commands included, while `work` runs, and thaws it even if `work` fails. For a box that does
   * not run, only runs `work`. Other calls that would change the box or its mounts wait until then, so `work` must make none. Throws
   * `runtime_unavailable`, with the box thawed, if it cannot be frozen, or if freezing and `work` take longer than 5 s. In the latter
   * case it does not wait for `work`.
   */
  frozen<T>(id: string, work: () => Promise<T>): Promise<T>
  /** Starts a command in a running box. Throws `box_not_running`, or `invalid_request` for an unknown user. */
  exec(id: string, request: ExecRequest): Promise<RunningExec>
  /**
   * Starts a command that outlives this process and writes its output to the files of `execId`. Resolves when it runs, with
   * its working directory. Throws as `exec`, or `runtime_unavailable` if no shim can be started.
   */
  execDetached(
    id: string,
    execId: string,
    request: DetachedExecRequest,
  ): Promise<{ detached: DetachedExec; cwd: string }>
  /** Lists detached commands that run, or that have ended and were not forgotten, including commands of earlier processes. */
  listDetached(): Promise<DetachedExec[]>
  /** Starts a session that outlives this process and ends with its shell. Throws as `execDetached`. */
  openSession(id: string, request: SessionRequest): Promise<TerminalSession>
  /** Returns the box's session of that name, or null. */
  session(id: string, name: string): TerminalSession | null
  /** Lists the sessions of a box. */
  sessions(id: string): Promise<SessionFacts[]>
  /** Connects to a TCP port of a running box. Throws `box_not_running`, `port_not_listening`, or `port_unreachable` after 5 s. */
  connect(id: string, port: number): Promise<PortConnection>
  /**
   * Makes a Unix socket in a running box, below its /tmp, for one of its users. Throws `box_not_running`, `invalid_request` for an
   * unknown user, or `path_invalid`, `storage_full` or `box_busy` if the box has no place for it.
   */
  openSocket(id: string, options: SocketOptions): Promise<BoxSocket>
  /** Calls `listener` when a box's init ends without a `stop`. At most one listener. */
  onExit(listener: (exit: BoxExit) => void): void
  /** Calls `listener` when failed starts and stops are worth a retry. At most one listener. */
  onRecovery(listener: () => void): void
  /** Detaches from the boxes and leaves them running. */
  close(): Promise<void>
}
