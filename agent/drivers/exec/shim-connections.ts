import { rmSync } from 'node:fs'
import { ServiceError } from '../../../shared/errors.ts'
import type { Logger } from '../../../shared/log.ts'
import type { DetachedEnd } from '../../ports/boxes/runtime.ts'
import type { DetachedEntry } from './detached-entry.ts'
import { connectShim, type ShimConnection, type ShimListener } from './shim-connection.ts'
import { killShim } from './shim-process.ts'
import { listShims, SHIM_VERSION, type ShimOptions, shimPaths } from './shim-protocol.ts'
import { startShim } from './shim-start.ts'

/** A shim that is connected. */
export interface ConnectedShim {
  version: number
  link: ShimConnection
}

export interface ShimConnectionsDeps {
  shim: ShimOptions
  logger: Logger
  /** Takes up what a shim holds, those that are known already included. */
  adopt(shim: ConnectedShim): void
  onOutput(execIds: readonly string[]): void
  /** Tells how one ended that nobody holds any more; it is ended, and null, where nobody knows. */
  endLost(entry: DetachedEntry): Promise<DetachedEnd | null>
}

/** The shims of an instance, of all versions, and what they hold. */
export class ShimConnections {
  readonly #deps: ShimConnectionsDeps
  readonly #entries = new Map<string, DetachedEntry>()
  readonly #links = new Map<number, ShimConnection>()
  #starting: Promise<ShimConnection> | null = null
  #isClosed = false

  constructor(deps: ShimConnectionsDeps) {
    this.#deps = deps
  }

  /** Finds the shims that run. */
  async open(): Promise<void> {
    const { runDir } = this.#deps.shim
    for (const version of listShims(runDir)) {
      const link = await this.#connect(version)
      if (link === null && version !== SHIM_VERSION) rmSync(shimPaths(runDir, version).socket, { force: true })
    }
  }

  /** The shim of this version, which is started if none runs. Throws `runtime_unavailable`. */
  async current(): Promise<ConnectedShim> {
    const link = this.#links.get(SHIM_VERSION) ?? (await this.#startHolder())
    return { version: SHIM_VERSION, link }
  }

  add(entry: DetachedEntry): void {
    this.#entries.set(entry.id, entry)
  }

  remove({ id }: DetachedEntry): void {
    this.#entries.delete(id)
  }

  /** Resolves once the shims of what is held of a box answer, or are no more. */
  async check(boxId: string): Promise<void> {
    await Promise.allSettled(this.linksOf(boxId).map((link) => link.check()))
  }

  /** The shims of what is held of a box. */
  linksOf(boxId: string): ShimConnection[] {
    const links = [...this.#entries.values()].map((entry) => (entry.boxId === boxId ? entry.link : null))
    return [...new Set(links)].filter((link) => link !== null)
  }

  /** Leaves what runs; waits for the end of what `isEnding`. */
  async close(isEnding: (entry: DetachedEntry) => boolean): Promise<void> {
    const running = [...this.#entries.values()].filter(({ isEnded }) => !isEnded)
    const ends = Promise.all(running.filter(isEnding).map(({ ended }) => ended))
    await Promise.race([ends, after(END_MS)])
    this.#isClosed = true
    await Promise.all([...this.#links.values()].map((link) => link.leave(LEAVE_MS)))
    this.#links.clear()
  }

  async #connect(version: number): Promise<ShimConnection | null> {
    const before = this.#links.get(version)
    if (before !== undefined) return before
    const { shim, logger, adopt, onOutput } = this.#deps
    const listener: ShimListener = {
      onSilence: () => {
        if (killShim(shim.runDir, version)) logger.error('a shim did not answer, and was killed', { version })
      },
      onOutput,
      onEnded: (id, end) => this.#entries.get(id)?.settle(end),
      onClose: () => void this.#reconnect(version),
    }
    const link = await connectShim(shimPaths(shim.runDir, version).socket, listener)
    if (link === null) return null
    this.#links.set(version, link)
    const { commands, sessions } = link.held
    for (const id of [...commands.map(({ execId }) => execId), ...sessions.map(({ sessionId }) => sessionId)]) {
      const known = this.#entries.get(id)
      if (known !== undefined) known.link = link
    }
    adopt({ version, link })
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
      logger.error('a shim cannot be reached', { error })
    }
    const lost = orphans.filter((entry) => entry.link === null)
    if (lost.length > 0) logger.error('a shim ended without a word', { lost: lost.length })
    for (const entry of lost) entry.settle(await endLost(entry))
  }

  #startHolder(): Promise<ShimConnection> {
    this.#starting ??= this.#startOne().finally(() => {
      this.#starting = null
    })
    return this.#starting
  }

  async #startOne(): Promise<ShimConnection> {
    const { shim, logger } = this.#deps
    try {
      await startShim(shim, logger)
      const link = await this.#connect(SHIM_VERSION)
      if (link !== null) return link
      throw new Error('the shim does not answer')
    } catch (error) {
      const detail = 'Commands cannot be held now; the cause is logged under the request id.'
      throw new ServiceError('runtime_unavailable', detail, { cause: error })
    }
  }
}

function after(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref())
}

const END_MS = 5_000
const LEAVE_MS = 2_000
