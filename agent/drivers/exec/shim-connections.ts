import { rmSync } from 'node:fs'
import { ServiceError } from '../../../shared/errors.ts'
import type { Logger } from '../../../shared/log.ts'
import { type AttachedExec, type DetachedEnd, type Typing } from '../../ports/boxes/runtime.ts'
import { connectShim, type ShimClient, type ShimListener } from './shim-client.ts'
import { killShim, startShim } from './shim-process.ts'
import { ATTACH_VERSION, listShimVersions, SHIM_VERSION, type ShimOptions, shimPaths } from './shim-protocol.ts'

/** A connected shim. */
export interface ConnectedShim {
  version: number
  client: ShimClient
}

export interface ShimConnectionsDeps {
  shim: ShimOptions
  logger: Logger
  /** Called with the inventory of each shim that connects, which can include known entries. */
  adopt(shim: ConnectedShim): void
  onOutput(execIds: readonly string[]): void
  /** Returns how an entry ended whose shim is gone. Ends it and returns null if there is no exit note. */
  endLost(entry: DetachedEntry): Promise<DetachedEnd | null>
}

/** The connections to the shims of an instance, of all versions, and the entries (commands, sessions) that run in them. */
export class ShimConnections {
  readonly #deps: ShimConnectionsDeps
  readonly #entries = new Map<string, DetachedEntry>()
  readonly #clients = new Map<number, ShimClient>()
  #starting: Promise<ShimClient> | null = null
  #isClosed = false

  constructor(deps: ShimConnectionsDeps) {
    this.#deps = deps
  }

  /** Connects to the shims that run. */
  async open(): Promise<void> {
    const { runDir } = this.#deps.shim
    for (const version of listShimVersions(runDir)) {
      const client = await this.#connect(version)
      if (client === null && version !== SHIM_VERSION) rmSync(shimPaths(runDir, version).socket, { force: true })
    }
  }

  /** Returns the shim of this version, starting it if none runs. Throws `runtime_unavailable`. */
  async current(): Promise<ConnectedShim> {
    const client = this.#clients.get(SHIM_VERSION) ?? (await this.#startOnce())
    return { version: SHIM_VERSION, client }
  }

  add(entry: DetachedEntry): void {
    this.#entries.set(entry.id, entry)
  }

  remove({ id }: DetachedEntry): void {
    this.#entries.delete(id)
  }

  /** Resolves once each shim with entries of the box has answered or ended. */
  async check(boxId: string): Promise<void> {
    await Promise.allSettled(this.clientsOf(boxId).map((client) => client.check()))
  }

  /** Returns the connections to the shims with entries of the box. */
  clientsOf(boxId: string): ShimClient[] {
    const clients = [...this.#entries.values()].map((entry) => (entry.boxId === boxId ? entry.client : null))
    return [...new Set(clients)].filter((client) => client !== null)
  }

  /** Waits up to 5 s for entries that are `isEnding`, then disconnects from all shims. Running entries continue. */
  async close(isEnding: (entry: DetachedEntry) => boolean): Promise<void> {
    const running = [...this.#entries.values()].filter(({ isEnded }) => !isEnded)
    const ends = Promise.all(running.filter(isEnding).map(({ ended }) => ended))
    await Promise.race([ends, after(END_MS)])
    this.#isClosed = true
    await Promise.all([...this.#clients.values()].map((client) => client.leave(LEAVE_MS)))
    this.#clients.clear()
  }

  async #connect(version: number): Promise<ShimClient | null> {
    const before = this.#clients.get(version)
    if (before !== undefined) return before
    const { shim, logger, adopt, onOutput } = this.#deps
    const listener: ShimListener = {
      onUnresponsive: () => {
        if (killShim(shim.runDir, version)) logger.error('killed a shim that did not answer', { version })
      },
      onOutput,
      onEnded: (id, end) => this.#entries.get(id)?.settle(end),
      onClose: () => void this.#reconnect(version),
    }
    const client = await connectShim(shimPaths(shim.runDir, version).socket, listener)
    if (client === null) return null
    this.#clients.set(version, client)
    const { commands, sessions } = client.inventory
    for (const id of [...commands.map(({ execId }) => execId), ...sessions.map(({ sessionId }) => sessionId)]) {
      const known = this.#entries.get(id)
      if (known !== undefined) known.client = client
    }
    adopt({ version, client })
    return client
  }

  // The shim ended, or sent something invalid.
  async #reconnect(version: number): Promise<void> {
    this.#clients.delete(version)
    if (this.#isClosed) return
    const { logger, endLost } = this.#deps
    const orphans = [...this.#entries.values()].filter((entry) => entry.version === version && !entry.isEnded)
    for (const entry of orphans) entry.client = null
    try {
      await this.#connect(version)
    } catch (error) {
      logger.error('a shim is unreachable', { error })
    }
    const lost = orphans.filter((entry) => entry.client === null)
    if (lost.length > 0) logger.error('a shim exited unexpectedly', { lost: lost.length })
    for (const entry of lost) entry.settle(await endLost(entry))
  }

  #startOnce(): Promise<ShimClient> {
    this.#starting ??= this.#startOne().finally(() => {
      this.#starting = null
    })
    return this.#starting
  }

  async #startOne(): Promise<ShimClient> {
    const { shim, logger } = this.#deps
    try {
      await startShim(shim, logger)
      const client = await this.#connect(SHIM_VERSION)
      if (client !== null) return client
      throw new Error('the shim does not answer')
    } catch (error) {
      const detail = 'The agent cannot start commands now. Find the cause in its log under the request id.'
      throw new ServiceError('runtime_unavailable', detail, { cause: error })
    }
  }
}

/** A command or session of a shim, as this agent knows it. */
export interface DetachedEntry {
  readonly id: string
  readonly boxId: string
  /** The version of its shim. */
  readonly version: number
  /** The connection to its shim, or null once the shim is gone. */
  client: ShimClient | null
  isEnded: boolean
  ended: Promise<DetachedEnd | null>
  settle(end: DetachedEnd | null): void
  /** Signals all its processes. Does nothing after its end. */
  signal(name: NodeJS.Signals): Promise<void>
}

/** The fields known from the start. */
export type EntryFacts = Pick<DetachedEntry, 'id' | 'boxId' | 'version' | 'client'>

export function createDetachedEntry(facts: EntryFacts, onSettled: () => void = () => undefined): DetachedEntry {
  const { promise: ended, resolve } = Promise.withResolvers<DetachedEnd | null>()
  const entry: DetachedEntry = {
    ...facts,
    ended,
    isEnded: false,
    settle: (end) => {
      entry.isEnded = true
      onSettled()
      resolve(end)
    },
    signal: async (name) => {
      if (!entry.isEnded) await entry.client?.signal(entry.id, name)
    },
  }
  return entry
}

/** Attaches to the command or session `id` of the shim of `version`. Throws as `attachToShim`. */
export type Attach = (version: number, id: string, typing: Typing) => Promise<AttachedExec>

/**
 * Attaches to an entry at its shim, or returns null if the shim does not have it any more. Throws `runtime_unavailable`, also if the shim
 * is too old to attach to, and `rate_limited`.
 */
export async function attachToEntry(
  entry: DetachedEntry,
  typing: Typing,
  attach: Attach,
): Promise<AttachedExec | null> {
  if (entry.version < ATTACH_VERSION) {
    if (entry.isEnded) return null
    throw new ServiceError(
      'runtime_unavailable',
      'The command started before an upgrade, in a shim that does not support attaching.',
    )
  }
  if (entry.client === null && entry.isEnded) return null
  try {
    return await attach(entry.version, entry.id, typing)
  } catch (error) {
    const isGone = error instanceof ServiceError && error.code === 'exec_not_found'
    if (!isGone && !entry.isEnded) throw error
    return null
  }
}

function after(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref())
}

const END_MS = 5_000
const LEAVE_MS = 2_000
