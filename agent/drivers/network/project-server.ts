import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from '../../../shared/log.ts'
import type { ExitWatcher } from '../host/exit-watcher.ts'
import {
  forgetNameServer,
  isListening,
  killNameServer,
  killServers,
  lastWordsOf,
  type NameServerFiles,
  reloadNameServer,
  type ServerIdentity,
  startDnsmasq,
} from './name-server-process.ts'
import type { PacketFilter } from './packet-filter.ts'
import type { PreparedSlot, SlotFactory } from './slot-factory.ts'
import { planServer, type SlotPlan } from './slots.ts'

/** Parts that all servers of an instance share. */
export interface ServerParts {
  files: NameServerFiles
  instance: number
  subnet: string
  factory: SlotFactory
  filter: Pick<PacketFilter, 'add' | 'remove'>
  watcher: ExitWatcher
  logger: Logger
}

/** The name server of one project, which restarts in the same slot when it ends, so that clients keep reaching it. */
export class ProjectServer {
  /** Addresses of the boxes that use it. */
  readonly members = new Set<string>()
  /** The reason why it does not run, or null if it runs or starts. */
  problem: string | null = null
  readonly #parts: ServerParts
  readonly #identity: ServerIdentity
  readonly #plan: SlotPlan
  #slot: PreparedSlot | null = null
  #pid: number | null = null
  #work: Promise<void> = Promise.resolve()
  #timer: NodeJS.Timeout | undefined
  #unwatch = (): void => undefined
  #handleEnd = (): void => undefined
  /** Consecutive starts that failed or ended soon. */
  #failures = 0
  #isAdmitted = false
  #isReady = false
  #isEnding = false

  constructor(parts: ServerParts, identity: ServerIdentity) {
    this.#parts = parts
    this.#identity = identity
    this.#plan = planServer(parts.subnet, parts.instance, identity.number)
  }

  get address(): string {
    return this.#plan.address
  }

  /** Starts it in the background. `problem` reports a failed start, which is retried. */
  start(): void {
    this.#work = this.#bring()
  }

  /** Takes over a process of an earlier agent, for the boxes at `addresses`. */
  adopt(pid: number, addresses: readonly string[]): void {
    for (const address of addresses) this.members.add(address)
    this.#work = this.#adopt(pid)
  }

  /** Resolves once it answers queries. Also resolves if it fails to start, or is ended, after 2 s at most. */
  async ready(): Promise<void> {
    const deadline = performance.now() + READY_MAX_MS
    while (!this.#isReady && this.#failures < 2 && !this.#isEnding && performance.now() < deadline) {
      this.#isReady = this.#pid !== null && isListening(this.#pid, this.address)
      if (!this.#isReady) await sleep(READY_POLL_MS)
    }
  }

  /** Makes it read its files again. A starting server reads them anyway. */
  reload(): void {
    if (this.#pid !== null) reloadNameServer(this.#pid)
  }

  /** Ends it and removes its slot. Resolves once nothing is left of it. */
  async end(): Promise<void> {
    this.#isEnding = true
    clearTimeout(this.#timer)
    // A server that is starting is killed after that.
    await this.#work
    const { filter, factory, files } = this.#parts
    await this.#kill()
    filter.remove(this.address)
    factory.destroy(this.#plan)
    forgetNameServer(files.directory, this.#identity)
  }

  /** Stops supervising it. Resolves once no start is under way. */
  async detach(): Promise<void> {
    this.#isEnding = true
    clearTimeout(this.#timer)
    await this.#work
    this.#unwatch()
  }

  #admit(isAdopted: boolean): void {
    if (this.#isAdmitted) return
    const { interfaceName, address } = this.#plan
    const entry = { project: this.#identity.project, interfaceName, address, mbps: null, nameServer: null }
    this.#parts.filter.add(entry, isAdopted)
    this.#isAdmitted = true
  }

  async #adopt(pid: number): Promise<void> {
    try {
      this.#admit(true)
      this.#slot = await this.#parts.factory.adopt(this.#plan, pid)
      this.#watch(pid)
    } catch (error) {
      // It has ended, or would have no place in the slot that this creates.
      killServers(this.#parts.instance, (number) => number === this.#identity.number)
      this.#retry(error)
    }
  }

  async #bring(): Promise<void> {
    const { factory, files, subnet } = this.#parts
    try {
      this.#admit(false)
      this.#slot ??= (await factory.create([this.#plan]))[0] ?? null
      if (this.#slot === null) throw new Error('The agent could not create its network slot.')
      if (this.#isEnding) return
      const { userNamespace, networkNamespace } = this.#slot
      const start = { ...this.#identity, subnet, userNamespace, networkNamespace }
      this.#watch(await startDnsmasq(files, start))
    } catch (error) {
      this.#retry(error)
    }
  }

  #watch(pid: number): void {
    this.#pid = pid
    // First, since the watcher reports a process that is gone at once.
    this.#later(STABLE_MS, () => {
      this.problem = null
      this.#failures = 0
    })
    this.#unwatch = this.#parts.watcher.watch(pid, () => {
      this.#pid = null
      this.#isReady = false
      this.#handleEnd()
      if (this.#isEnding) return
      this.#retry(new Error(lastWordsOf(this.#parts.files.directory, this.#identity) || 'It was killed.'))
    })
  }

  #retry(error: unknown): void {
    const cause = error instanceof Error ? error.message : String(error)
    if (this.problem !== cause) this.#parts.logger.warn('a name server exited, restarting it', { error })
    // Only logs the first end after a stable run.
    if (this.#failures > 0) this.problem = cause
    const delayMs = this.#failures === 0 ? 0 : Math.min(DELAY_MS * 2 ** this.#failures, DELAY_MAX_MS)
    this.#failures++
    this.#later(delayMs, () => {
      this.#work = this.#bring()
    })
  }

  #later(delayMs: number, act: () => void): void {
    clearTimeout(this.#timer)
    if (!this.#isEnding) this.#timer = setTimeout(act, delayMs).unref()
  }

  async #kill(): Promise<void> {
    const pid = this.#pid
    if (pid === null) return
    const ended = new Promise<void>((resolve) => {
      this.#handleEnd = resolve
    })
    killNameServer(pid)
    await ended
  }
}

const READY_MAX_MS = 2_000
/** A look takes about 50 µs. A server starts in 25 ms. */
const READY_POLL_MS = 3
const STABLE_MS = 10_000
const DELAY_MS = 25
const DELAY_MAX_MS = 5_000
