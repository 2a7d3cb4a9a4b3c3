import fs from 'node:fs'
import type { Logger } from '../../../shared/log.ts'
import { closeFd } from '../../lib/syscalls/descriptors.ts'
import { O } from '../../lib/syscalls/files.ts'
import { attachMountAt, unmountIfMounted } from '../../lib/syscalls/mounts.ts'
import type { ExitWatcher } from '../host/exit-watcher.ts'
import { parseMountInfo } from '../host/mount-info.ts'
import { answers, endProcess, findLxcfs, lxcfsMountPoint, startLxcfs } from './lxcfs-process.ts'
import type { BoxMounts } from './mounts.ts'

/** Files of the running lxcfs, to clone mounts for boxes from. */
export interface LxcfsFiles {
  /** Device number of its filesystem, as in `mountinfo`. */
  device: string
  /** Descriptors by the paths in boxes that they cover. */
  files: ReadonlyMap<string, number>
}

/** The one lxcfs of a deployment. It outlives the agent, which restarts it when it ends. */
export interface Lxcfs {
  /** Adopts or starts lxcfs, unless it has already. Resolves once it has, or failed. */
  ready(): Promise<void>
  /** Null while it does not run. */
  files(): LxcfsFiles | null
  /** The reason why it does not run, or null if it runs. */
  problem(): string | null
  /** Stops supervising it, but keeps it running. */
  close(): Promise<void>
}

export interface LxcfsOptions {
  runDir: string
  /** A directory of this process's own mount namespace. This process mounts lxcfs in it. */
  workDir: string
  mounts: Pick<BoxMounts, 'clone'>
  watcher: ExitWatcher
  logger: Logger
  /** Called when `files` changed. */
  onChange(): void
}

/** Prepares to adopt the lxcfs of an earlier agent, or start one, and supervise it. The first call of `ready` does that. */
export function openLxcfs(options: LxcfsOptions): Lxcfs {
  const supervision = new Supervision(options)
  return {
    ready: () => supervision.start(),
    files: () => supervision.files,
    problem: () => supervision.problem,
    close: () => supervision.close(),
  }
}

class Supervision {
  files: LxcfsFiles | null = null
  problem: string | null = null
  readonly #options: LxcfsOptions
  readonly #mountPoint: string
  #first: Promise<void> | undefined
  #work: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined
  #unwatch: () => void = () => undefined
  /** Consecutive starts that failed or ended soon. */
  #failures = 0
  #startedAt = 0
  #isClosed = false

  constructor(options: LxcfsOptions) {
    this.#options = options
    this.#mountPoint = `${options.workDir}/lxcfs`
    fs.mkdirSync(this.#mountPoint, { mode: 0o700 })
  }

  start(): Promise<void> {
    if (this.#isClosed) return Promise.resolve()
    this.#first ??= this.#work = this.#bring()
    return this.#first
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await this.#work
    this.#unwatch()
    this.#release()
  }

  async #bring(): Promise<void> {
    const { runDir, logger } = this.#options
    try {
      // A slow machine, as during its boot, gets more time with each try.
      const timeoutMs = Math.min(START_MS * 2 ** this.#failures, START_MAX_MS)
      const pid = (await findLxcfs(runDir)) ?? (await startLxcfs(runDir, timeoutMs))
      await this.#mount(pid)
      this.problem = null
      this.#startedAt = performance.now()
      this.#unwatch = this.#options.watcher.watch(pid, () => this.#handleEnd(pid))
      this.#later(PROBE_MS, () => this.#probe(pid))
    } catch (error) {
      const cause = error instanceof Error ? error.message : String(error)
      if (this.problem !== cause) logger.error('lxcfs does not start', { error })
      this.problem = cause
      this.#release()
      this.#failures++
      this.#later(this.#pauseMs(), () => this.#bring())
    }
    if (!this.#isClosed) this.#options.onChange()
  }

  // Opens the files on a pool thread, because each open waits for lxcfs, which may hang.
  async #mount(pid: number): Promise<void> {
    const { mounts, runDir } = this.#options
    const treeFd = await mounts.clone(pid, lxcfsMountPoint(runDir))
    try {
      attachMountAt(treeFd, this.#mountPoint)
    } finally {
      closeFd(treeFd)
    }
    const table = parseMountInfo(fs.readFileSync('/proc/self/mountinfo'))
    const device = table.findLast(({ path }) => path === this.#mountPoint)?.device ?? ''
    const files = new Map<string, number>()
    this.files = { device, files }
    for (const path of LXCFS_PATHS) files.set(path, await openPath(`${this.#mountPoint}${path}`))
  }

  #handleEnd(pid: number): void {
    this.#options.logger.warn('lxcfs exited, restarting it', { pid })
    this.#release()
    clearTimeout(this.#timer)
    this.#failures = performance.now() - this.#startedAt < STABLE_MS ? this.#failures + 1 : 0
    if (this.#failures === 0 && !this.#isClosed) this.#work = this.#bring()
    else this.#later(this.#pauseMs(), () => this.#bring())
  }

  async #probe(pid: number): Promise<void> {
    if (await answers(pid, this.#options.runDir, PROBE_MS)) this.#later(PROBE_MS, () => this.#probe(pid))
    else endProcess(pid)
  }

  #pauseMs(): number {
    return Math.min(PAUSE_MS * 2 ** (this.#failures - 1), PAUSE_MAX_MS)
  }

  #later(delayMs: number, act: () => Promise<void>): void {
    if (this.#isClosed) return
    this.#timer = setTimeout(() => {
      this.#work = act().catch((error: unknown) => {
        this.#options.logger.error('maintenance of lxcfs failed', { error })
        this.#later(PROBE_MS, act)
      })
    }, delayMs).unref()
  }

  #release(): void {
    for (const fd of this.files?.files.values() ?? []) closeFd(fd)
    this.files = null
    unmountIfMounted(this.#mountPoint)
  }
}

async function openPath(path: string): Promise<number> {
  // Node closes the descriptor of a FileHandle when it collects that.
  return new Promise((resolve, reject) => {
    fs.open(path, O.PATH | O.CLOEXEC, (error, fd) => (error === null ? resolve(fd) : reject(error)))
  })
}

/** Files of lxcfs that boxes have in place of the kernel's. */
export const LXCFS_PATHS = [
  ...['cpuinfo', 'loadavg', 'meminfo', 'stat', 'swaps', 'uptime'].map((name) => `/proc/${name}`),
  '/sys/devices/system/cpu/online',
]
const START_MS = 10_000
const START_MAX_MS = 160_000
const PROBE_MS = 10_000
const STABLE_MS = 10_000
const PAUSE_MS = 50
const PAUSE_MAX_MS = 30_000
