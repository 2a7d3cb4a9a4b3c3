import type { Home } from '../../ports/fleet/directory.ts'
import type { StoredHome } from './fleet-objects.ts'

/**
 * This cell's memory of all homes of the fleet. It is fed by a list and the events after it, which lag, and by what this cell writes
 * and reads itself, which is newer; so of two states of a name it keeps the newer.
 */
export interface HomeIndex {
  /** Returns the home of a name and its version; null if it knows of none. */
  find(key: string): KnownHome | null
  /** Takes a home as an event tells it, which may be older than what is known. */
  put(stored: StoredHome): void
  /** Takes an event by which the object was deleted at `version`. */
  drop(key: string, version: number): void
  /** Takes a home that this cell has just written or read. */
  note(stored: StoredHome): void
  /** Forgets a home, up to `version`, which this cell has just deleted or found gone; events up to that do not bring it back. */
  forget(key: string, version: number): void
  /** Takes a whole list in the place of all that is known, but for what was noted since it began. Returns its version. */
  replaceAll(pages: AsyncIterable<{ homes: StoredHome[]; version: string }>): Promise<string>
  /** Lists the cells that a name belongs to. */
  cells(): string[]
}

/** What is known of a name: some 300 bytes, since no object of the API is kept. */
export interface KnownHome {
  home: Home
  version: number
}

/** Creates an empty index. */
export function createHomeIndex(): HomeIndex {
  return new Index()
}

class Index implements HomeIndex {
  readonly #homes = new Map<string, KnownHome>()
  /** Versions up to which a forgotten name stays so, until the event of its deletion. */
  readonly #gone = new Map<string, number>()
  /** Names of each cell, by one string for it, since each parsed object has a copy of its own. */
  readonly #cells = new Map<string, { cell: string; names: number }>()
  /** Names noted and forgotten since the list began that is being taken; null while none is. */
  #touched: Set<string> | null = null

  find(key: string): KnownHome | null {
    return this.#homes.get(key) ?? null
  }

  put(stored: StoredHome): void {
    const { key, version } = stored
    if (version <= (this.#homes.get(key)?.version ?? 0) || version <= (this.#gone.get(key) ?? 0)) return
    this.#gone.delete(key)
    this.#set(stored)
  }

  drop(key: string, version: number): void {
    if ((this.#homes.get(key)?.version ?? version) < version) this.#delete(key)
    if ((this.#gone.get(key) ?? version) < version) this.#gone.delete(key)
  }

  note(stored: StoredHome): void {
    this.#touched?.add(stored.key)
    this.put(stored)
  }

  forget(key: string, version: number): void {
    const known = this.#homes.get(key)
    // A name that is not known here was deleted by its event already.
    if (known === undefined || known.version > version) return
    this.#touched?.add(key)
    this.#delete(key)
    this.#gone.set(key, version)
  }

  async replaceAll(pages: AsyncIterable<{ homes: StoredHome[]; version: string }>): Promise<string> {
    const touched = new Set<string>()
    const listed = new Set<string>()
    let listVersion = ''
    // The list knows of all deletions before it began. Nor are versions compared with those before it, since the history may be
    // another, as after a restore of etcd: only what this cell notes meanwhile may be newer.
    this.#gone.clear()
    this.#touched = touched
    try {
      for await (const { homes, version } of pages) {
        listVersion = version
        for (const stored of homes) {
          listed.add(stored.key)
          if (touched.has(stored.key)) this.put(stored)
          else this.#set(stored)
        }
      }
    } finally {
      this.#touched = null
    }
    for (const [key, { version }] of this.#homes) {
      const isNewer = touched.has(key) && version > Number(listVersion)
      if (!listed.has(key) && !isNewer) this.#delete(key)
    }
    return listVersion
  }

  cells(): string[] {
    return [...this.#cells.keys()]
  }

  #set({ key, version, home }: StoredHome): void {
    this.#delete(key)
    const known = this.#cells.get(home.cell) ?? { cell: home.cell, names: 0 }
    this.#cells.set(known.cell, known)
    known.names += 1
    this.#homes.set(key, { home: { ...home, cell: known.cell }, version })
  }

  #delete(key: string): void {
    const cell = this.#homes.get(key)?.home.cell
    const known = cell === undefined ? undefined : this.#cells.get(cell)
    this.#homes.delete(key)
    if (known === undefined) return
    known.names -= 1
    if (known.names === 0) this.#cells.delete(known.cell)
  }
}
