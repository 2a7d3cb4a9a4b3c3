import type { Logger } from '../../../shared/log.ts'
import { repeat } from '../../../shared/repeat.ts'
import { HeldNamespaces, readTables, type TablesRead, type TableUse } from '../host/network-tables.ts'
import { namespacesOf, type ProcessLists } from './network-namespaces.ts'

/** Ends boxes that fill the tables of neighbours and connections, which the kernel shares among all network namespaces of the host. */
export interface NetworkTables {
  /** Watches a box with nesting. A box without it makes no entries. */
  watch(boxId: string): void
  forget(boxId: string): void
  /** Why the agent ended the box, or undefined if it did not. */
  whyEnded(boxId: string): string | undefined
  close(): void
}

export interface NetworkTablesOptions {
  cgroups: ProcessLists & { kill(boxId: string): void }
  logger: Logger
  /** Reads the tables. Default: the tables of this host. */
  read?: () => TablesRead
}

/** Reads the tables every second while it watches a box. Reads the namespaces of boxes only while a table is filling. */
export function createNetworkTables(options: NetworkTablesOptions): NetworkTables {
  return new TableWatch(options)
}

/** Returns the boxes to end, the most demanding first, each with the reason. Pure. */
export function boxesOverBounds(
  { neighboursMax, connectionsMax, isNeighbourTableFull }: TablesRead,
  used: ReadonlyMap<string, TableUse>,
): Map<string, string> {
  const most = Math.floor(neighboursMax / NEIGHBOURS_SHARE)
  const over = [...used].flatMap(([id, { neighbours, connections }]): [string, string][] => {
    if (neighbours > most) return [[id, reasonOf(neighbours, 'neighbours (ARP)', most)]]
    const bound = Math.floor(connectionsMax / CONNECTIONS_SHARE)
    return connections > bound ? [[id, reasonOf(connections, 'tracked connections', bound)]] : []
  })
  if (over.length > 0 || !isNeighbourTableFull) return new Map(over)
  // Several boxes below the limit fill the table together.
  const [largest] = [...used].toSorted(([, one], [, other]) => other.neighbours - one.neighbours)
  if (largest === undefined || largest[1].neighbours < NEIGHBOURS_LEAST) return new Map()
  return new Map([[largest[0], reasonOf(largest[1].neighbours, 'neighbours (ARP)', NEIGHBOURS_LEAST)]])
}

class TableWatch implements NetworkTables {
  readonly #options: NetworkTablesOptions
  readonly #boxes = new Set<string>()
  readonly #ended = new Map<string, string>()
  #stop: (() => void) | null = null
  #isLooking = false

  constructor(options: NetworkTablesOptions) {
    this.#options = options
  }

  watch(boxId: string): void {
    this.#boxes.add(boxId)
    const onError = (error: unknown): void => this.#options.logger.error('failed to read the network tables', { error })
    this.#stop ??= repeat(() => this.#look(), { everyMs: LOOK_MS, onError })
  }

  forget(boxId: string): void {
    this.#boxes.delete(boxId)
    this.#ended.delete(boxId)
    if (this.#boxes.size === 0) this.close()
  }

  whyEnded(boxId: string): string | undefined {
    return this.#ended.get(boxId)
  }

  close(): void {
    this.#stop?.()
    this.#stop = null
  }

  async #look(): Promise<void> {
    const tables = (this.#options.read ?? readTables)()
    if (!tables.isFilling || this.#isLooking) return
    this.#isLooking = true
    const held = new Map<string, HeldNamespaces>()
    try {
      const used = new Map<string, TableUse>()
      for (const id of this.#boxes) {
        const namespaces = new HeldNamespaces(await namespacesOf(this.#options.cgroups, id))
        held.set(id, namespaces)
        used.set(id, await namespaces.use())
      }
      for (const [id, reason] of boxesOverBounds(tables, used)) {
        this.#end(id, reason)
        await held.get(id)?.takeDown()
      }
    } finally {
      for (const namespaces of held.values()) namespaces.close()
      this.#isLooking = false
    }
  }

  #end(boxId: string, reason: string): void {
    if (!this.#boxes.delete(boxId)) return
    this.#ended.set(boxId, reason)
    this.#options.logger.warn('stopped a box that exceeded its share of the network tables', { box: boxId, reason })
    this.#options.cgroups.kill(boxId)
  }
}

function reasonOf(count: number, what: string, bound: number): string {
  return (
    `The box was stopped, because its network namespaces held ${count} ${what}. The limit is ${bound} of the table that it ` +
    'shares with the host. Resume it after its programs hold fewer.'
  )
}

const LOOK_MS = 1_000
/** Share of the table of neighbours (256 of the kernel's default of 1,024), and of connections, that a box can hold. */
const NEIGHBOURS_SHARE = 4
const CONNECTIONS_SHARE = 4
/** A box with fewer neighbours never ends because of them. */
const NEIGHBOURS_LEAST = 64
