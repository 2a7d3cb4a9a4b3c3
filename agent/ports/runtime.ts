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

/** Why a box's init ended without being asked to. */
export interface BoxExit {
  id: string
  outOfMemory: boolean
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
  stdin: Writable
  stdout: Readable
  stderr: Readable
  /** Settles once the process is gone, never rejects; streams may still hold data. */
  exited: Promise<ExecExit>
  /** Signals every process the command started that has not left it by its own service manager. */
  signal(name: NodeJS.Signals): Promise<void>
}

/** A command that goes on, and whose end is known, when this process is gone. */
export interface HoldRequest extends ExecRequest {
  stdin: Uint8Array
  /** After this many ms it is killed with all it started, whether this process lives or not; null: never. */
  timeoutMs: number | null
}

/** How a held command ended; `endedAt` in ms since the epoch. */
export interface HeldEnd extends ExecExit {
  timedOut: boolean
  endedAt: number
}

/** A command that was given away by `hold`, by this process or one before. */
export interface HeldExec {
  readonly boxId: string
  readonly execId: string
  /** The process in the box's own pid namespace; null if it could not be told. */
  readonly process: number | null
  /** How it ended, once its output is in its files durably; null if nobody knows. Never rejects. */
  ended: Promise<HeldEnd | null>
  /** Calls `listener` when there is new output in its files; returns what stops it. */
  onOutput(listener: () => void): () => void
  /** As that of a RunningExec. */
  signal(name: NodeJS.Signals): Promise<void>
  /** Drops the note of its end: it is recorded elsewhere, and the next process is not to be told of it. */
  forget(): Promise<void>
}

/** Runs boxes. Every method is idempotent and named by the box's id; what it starts outlives this process. */
export interface Runtime {
  /** As `GET /version` tells it: `crun`. */
  readonly kind: string
  /** Makes the host ready, and takes up the boxes that run since before this process. */
  open(): Promise<void>
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
  /** Changes the limits of a running box at once. Throws `below_use` with figures and nothing changed, or `box_not_running`. */
  resize(id: string, limits: BoxLimits): Promise<void>
  /** Starts a command in a running box. Throws `box_not_running`, or `invalid_request` for an unknown user. */
  exec(id: string, request: ExecRequest): Promise<RunningExec>
  /**
   * Starts a command that does not belong to this process, and whose output goes to the files of `execId`. Resolves when it
   * runs, with the directory it was started in. Throws as `exec`, or `runtime_unavailable` if nobody can hold it.
   */
  hold(id: string, execId: string, request: HoldRequest): Promise<{ held: HeldExec; cwd: string }>
  /** All held commands that run, or have ended and were not forgotten, those of processes before this one included. */
  held(): Promise<HeldExec[]>
  /** Calls `listener` when a box's init ends and nobody asked; at most one listener. */
  onExit(listener: (exit: BoxExit) => void): void
  /** Leaves boxes running and lets go of them. */
  close(): Promise<void>
}
