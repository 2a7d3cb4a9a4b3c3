import { rmSync } from 'node:fs'
import { ServiceError } from '../../../shared/errors.ts'
import type { Logger } from '../../../shared/log.ts'
import type { HeldEnd } from '../../ports/boxes/runtime.ts'
import type { HeldEntry } from './held-entry.ts'
import { connectHolder, type HolderLink, type HolderListener } from './holder-link.ts'
import { killHolder } from './holder-process.ts'
import { HOLDER_VERSION, type HolderOptions, holderPaths, listHolders } from './holder-protocol.ts'
import { startHolder } from './holder-start.ts'

/** A holder that is connected. */
export interface Holder {
  version: number
  link: HolderLink
}

export interface HolderLinksDeps {
  holder: HolderOptions
  logger: Logger
  /** Takes up what a holder holds, those that are known already included. */
  adopt(holder: Holder): void
  onOutput(execIds: readonly string[]): void
  /** Tells how one ended that nobody holds any more; it is ended, and null, where nobody knows. */
  endLost(entry: HeldEntry): Promise<HeldEnd | null>
}

/** The holders of an instance, of all versions, and what they hold. */
export class HolderLinks {
  readonly #deps: HolderLinksDeps
  readonly #entries = new Map<string, HeldEntry>()
  readonly #links = new Map<number, HolderLink>()
  #starting: Promise<HolderLink> | null = null
  #isClosed = false

  constructor(deps: HolderLinksDeps) {
    this.#deps = deps
  }

  /** Finds the holders that run. */
  async open(): Promise<void> {
    const { runDir } = this.#deps.holder
    for (const version of listHolders(runDir)) {
      const link = await this.#connect(version)
      if (link === null && version !== HOLDER_VERSION) rmSync(holderPaths(runDir, version).socket, { force: true })
    }
  }

  /** The holder of this version, which is started if none runs. Throws `runtime_unavailable`. */
  async current(): Promise<Holder> {
    const link = this.#links.get(HOLDER_VERSION) ?? (await this.#startHolder())
    return { version: HOLDER_VERSION, link }
  }

  add(entry: HeldEntry): void {
    this.#entries.set(entry.id, entry)
  }

  remove({ id }: HeldEntry): void {
    this.#entries.delete(id)
  }

  /** Resolves once the holders of what is held of a box answer, or are no more. */
  async check(boxId: string): Promise<void> {
    await Promise.allSettled(this.linksOf(boxId).map((link) => link.check()))
  }

  /** The holders of what is held of a box. */
  linksOf(boxId: string): HolderLink[] {
    const links = [...this.#entries.values()].map((entry) => (entry.boxId === boxId ? entry.link : null))
    return [...new Set(links)].filter((link) => link !== null)
  }

  /** Leaves what runs; waits for the end of what `isEnding`. */
  async close(isEnding: (entry: HeldEntry) => boolean): Promise<void> {
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
    const { holder, logger, adopt, onOutput } = this.#deps
    const listener: HolderListener = {
      onSilence: () => {
        if (killHolder(holder.runDir, version)) logger.error('a holder did not answer, and was killed', { version })
      },
      onOutput,
      onEnded: (id, end) => this.#entries.get(id)?.settle(end),
      onClose: () => void this.#reconnect(version),
    }
    const link = await connectHolder(holderPaths(holder.runDir, version).socket, listener)
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
      logger.error('a holder cannot be reached', { error })
    }
    const lost = orphans.filter((entry) => entry.link === null)
    if (lost.length > 0) logger.error('a holder ended without a word', { lost: lost.length })
    for (const entry of lost) entry.settle(await endLost(entry))
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
}

function after(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref())
}

const END_MS = 5_000
const LEAVE_MS = 2_000
