import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { ServiceError } from '../../shared/errors.ts'
import { createLimiter } from '../../shared/locks.ts'
import type { Logger } from '../../shared/log.ts'
import type { HeldEnd, HeldExec } from '../ports/runtime.ts'
import { execFile } from './exec-files.ts'
import { connectHolder, type HolderLink, type HolderListener } from './holder-link.ts'
import { killHolder } from './holder-process.ts'
import {
  type HeldCommand,
  type HeldTask,
  HOLDER_VERSION,
  type HolderOptions,
  holderPaths,
  listHolders,
  readExitNote,
} from './holder-protocol.ts'
import { startHolder } from './holder-start.ts'

/** The commands that holders hold, for an agent. */
export interface HeldExecs {
  /** Finds the holders that run, and what those that do not have noted. */
  open(): Promise<void>
  /** Starts a command, and a holder if none of this version runs. */
  start(task: NewTask): Promise<HeldExec>
  /** Those that run, and those that ended and are not forgotten. */
  list(): HeldExec[]
  /** Resolves once the holders of a box's commands answer, or are no more. */
  check(boxId: string): Promise<void>
  /** Leaves what runs; waits for the end of what `isEnding`. */
  close(isEnding: (held: HeldExec) => boolean): Promise<void>
}

/** A task whose input is encoded when it is sent. */
type NewTask = Omit<HeldTask, 'stdin'> & { stdin: Uint8Array }

export interface HeldExecsDeps {
  holder: HolderOptions
  logger: Logger
  /** Ends a command that no holder holds any more. */
  endLost(held: HeldExec): Promise<void>
}

export function createHeldExecs(deps: HeldExecsDeps): HeldExecs {
  return new HeldTable(deps)
}

interface Entry extends HeldExec {
  process: number | null
  version: number
  link: HolderLink | null
  isEnded: boolean
  listeners: Set<() => void>
  settle(end: HeldEnd | null): void
}

class HeldTable implements HeldExecs {
  readonly #deps: HeldExecsDeps
  readonly #entries = new Map<string, Entry>()
  readonly #links = new Map<number, HolderLink>()
  readonly #largeStarts = createLimiter(LARGE_AT_ONCE)
  #starting: Promise<HolderLink> | null = null
  #isClosed = false

  constructor(deps: HeldExecsDeps) {
    this.#deps = deps
  }

  async open(): Promise<void> {
    const { runDir } = this.#deps.holder
    for (const version of listHolders(runDir)) {
      const link = await this.#connect(version)
      if (link === null && version !== HOLDER_VERSION) rmSync(holderPaths(runDir, version).socket, { force: true })
    }
    this.#readNotes()
  }

  start(task: NewTask): Promise<HeldExec> {
    return isLarge(task) ? this.#largeStarts.run(() => this.#start(task)) : this.#start(task)
  }

  async #start(task: NewTask): Promise<HeldExec> {
    const link = this.#links.get(HOLDER_VERSION) ?? (await this.#startHolder())
    const entry = this.#add(task, { version: HOLDER_VERSION, link })
    try {
      const stdin = Buffer.from(task.stdin).toString('base64')
      entry.process = await link.start({ ...task, stdin })
      return entry
    } catch (error) {
      this.#entries.delete(task.execId)
      throw error
    }
  }

  list(): HeldExec[] {
    return [...this.#entries.values()]
  }

  async check(boxId: string): Promise<void> {
    const links = new Set<HolderLink>()
    for (const each of this.#entries.values()) if (each.boxId === boxId && each.link !== null) links.add(each.link)
    await Promise.allSettled([...links].map((link) => link.check()))
  }

  async close(isEnding: (held: HeldExec) => boolean): Promise<void> {
    const running = [...this.#entries.values()].filter(({ isEnded }) => !isEnded)
    const ends = Promise.all(running.filter(isEnding).map(({ ended }) => ended))
    await Promise.race([ends, after(END_MS)])
    this.#isClosed = true
    await Promise.all([...this.#links.values()].map((link) => link.leave(LEAVE_MS)))
    this.#links.clear()
  }

  async #connect(version: number): Promise<HolderLink | null> {
    const before = this.#links.get(version)
    if (before !== undefined) return before
    const { runDir } = this.#deps.holder
    const listener: HolderListener = {
      onSilence: () => {
        if (killHolder(runDir, version)) this.#deps.logger.error('a holder did not answer, and was killed', { version })
      },
      onOutput: (execIds) => {
        for (const id of execIds) for (const listener of this.#entries.get(id)?.listeners ?? []) listener()
      },
      onEnded: (execId, end) => this.#entries.get(execId)?.settle(end),
      onClose: () => void this.#reconnect(version),
    }
    const link = await connectHolder(holderPaths(runDir, version).socket, listener)
    if (link === null) return null
    this.#links.set(version, link)
    for (const command of link.held) {
      const known = this.#entries.get(command.execId)
      if (known === undefined) this.#add(command, { version, link })
      else known.link = link
    }
    return link
  }

  // Either it ended, or what came from it could not be understood.
  async #reconnect(version: number): Promise<void> {
    this.#links.delete(version)
    if (this.#isClosed) return
    const { logger, endLost } = this.#deps
    const orphans = [...this.#entries.values()].filter((entry) => entry.version === version && !entry.isEnded)
    for (const entry of orphans) entry.link = null
    try {
      await this.#connect(version)
    } catch (error) {
      logger.error('a holder cannot be reached', { error })
    }
    const lost = orphans.filter((entry) => entry.link === null)
    if (lost.length > 0) logger.error('a holder ended without a word', { commands: lost.length })
    for (const entry of lost) {
      const note = readExitNote(this.#deps.holder.execFiles.directory, entry)
      if (note === null)
        await endLost(entry).catch((error: unknown) => logger.error('a lost command goes on', { error }))
      entry.settle(note?.end ?? null)
    }
  }

  #startHolder(): Promise<HolderLink> {
    this.#starting ??= this.#startOne().finally(() => {
      this.#starting = null
    })
    return this.#starting
  }

  async #startOne(): Promise<HolderLink> {
    const { holder, logger } = this.#deps
    try {
      await startHolder(holder, logger)
      const link = await this.#connect(HOLDER_VERSION)
      if (link !== null) return link
      throw new Error('the holder does not answer')
    } catch (error) {
      const detail = 'Commands cannot be held now; the cause is logged under the request id.'
      throw new ServiceError('runtime_unavailable', detail, { cause: error })
    }
  }

  #readNotes(): void {
    const { directory } = this.#deps.holder.execFiles
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    for (const boxId of readdirSync(directory)) {
      for (const name of readdirSync(`${directory}/${boxId}`)) {
        const execId = /^(\w+)\.exit$/.exec(name)?.[1]
        if (execId === undefined || this.#entries.has(execId)) continue
        const note = readExitNote(directory, { boxId, execId })
        if (note !== null) this.#add(note, { version: HOLDER_VERSION, link: null }).settle(note.end)
      }
    }
  }

  #add({ boxId, execId, ...rest }: HeldCommand | NewTask, holder: { version: number; link: HolderLink | null }): Entry {
    const { promise: ended, resolve } = Promise.withResolvers<HeldEnd | null>()
    const listeners = new Set<() => void>()
    const entry: Entry = {
      ...holder,
      boxId,
      execId,
      process: 'process' in rest ? rest.process : null,
      ended,
      isEnded: false,
      listeners,
      settle: (end) => {
        entry.isEnded = true
        resolve(end)
      },
      onOutput: (listener) => {
        listeners.add(listener)
        return () => listeners.delete(listener)
      },
      signal: async (name) => {
        if (!entry.isEnded) await entry.link?.signal(execId, name)
      },
      forget: async () => {
        rmSync(execFile(this.#deps.holder.execFiles.directory, entry, 'exit'), { force: true })
        this.#entries.delete(execId)
      },
    }
    this.#entries.set(execId, entry)
    return entry
  }
}

// What it is told is in the holder's memory, as text, until the command runs.
function isLarge({ stdin, request: { command, environment } }: NewTask): boolean {
  const parts = [stdin, ...command, ...Object.values(environment)]
  return parts.reduce((sum, { length }) => sum + length, 0) > LARGE_CHARACTERS
}

function after(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref())
}

const LARGE_CHARACTERS = 64 * 1024
const LARGE_AT_ONCE = 4
const END_MS = 5_000
const LEAVE_MS = 2_000
