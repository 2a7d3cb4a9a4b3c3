/** An object of a kind, as a memory of all of them keeps it. */
export interface FollowedObject<T> {
  /** Name of the object. */
  key: string
  /** Its resourceVersion: those of one history of a cluster grow with each write. */
  version: number
  value: T
}

/**
 * This cell's memory of all objects of a kind. It is fed by a list and the events after it, which lag, and by what this cell writes
 * and reads itself, which is newer; so of two states of an object it keeps the newer.
 */
export interface ObjectIndex<T> {
  /** Returns what is known by a name, and its version; null if it knows of none. */
  find(key: string): KnownObject<T> | null
  /** Takes an object as an event tells it, which may be older than what is known. */
  put(stored: FollowedObject<T>): void
  /** Takes an event by which the object was deleted at `version`. */
  drop(key: string, version: number): void
  /** Takes an object that this cell has just written or read. */
  note(stored: FollowedObject<T>): void
  /** Forgets an object, up to `version`, which this cell has just deleted or found gone; events up to that do not bring it back. */
  forget(key: string, version: number): void
  /** Takes a whole list in the place of all that is known, but for what was noted since it began. Returns its version. */
  replaceAll(pages: AsyncIterable<{ objects: FollowedObject<T>[]; version: string }>): Promise<string>
  /** All that is known, by name. */
  all(): IterableIterator<[key: string, known: KnownObject<T>]>
}

/** What is known by a name: of a home some 300 bytes, since no object of the API is kept. */
export interface KnownObject<T> {
  value: T
  version: number
}

export interface ObjectIndexOptions<T> {
  /** Returns what is kept in the place of `value`: each parsed object has strings of its own, which many have alike. */
  share?(value: T): T
  /** Called with each name by which something may have changed, and with null after a list. */
  onChange?(key: string | null): void
}

/** Creates an empty index. */
export function createObjectIndex<T>(options: ObjectIndexOptions<T> = {}): ObjectIndex<T> {
  return new Index(options)
}

class Index<T> implements ObjectIndex<T> {
  readonly #objects = new Map<string, KnownObject<T>>()
  /** Versions up to which a forgotten name stays so, until the event of its deletion. */
  readonly #gone = new Map<string, number>()
  /** Names noted and forgotten since the list began that is being taken; null while none is. */
  #touched: Set<string> | null = null
  readonly #share: (value: T) => T
  readonly #onChange: (key: string | null) => void

  constructor({ share = (value) => value, onChange = () => undefined }: ObjectIndexOptions<T>) {
    this.#share = share
    this.#onChange = onChange
  }

  find(key: string): KnownObject<T> | null {
    return this.#objects.get(key) ?? null
  }

  put(stored: FollowedObject<T>): void {
    const { key, version } = stored
    if (version <= (this.#objects.get(key)?.version ?? 0) || version <= (this.#gone.get(key) ?? 0)) return
    this.#gone.delete(key)
    this.#set(stored)
    this.#onChange(key)
  }

  drop(key: string, version: number): void {
    if ((this.#gone.get(key) ?? version) < version) this.#gone.delete(key)
    if ((this.#objects.get(key)?.version ?? version) >= version) return
    this.#objects.delete(key)
    this.#onChange(key)
  }

  note(stored: FollowedObject<T>): void {
    this.#touched?.add(stored.key)
    this.put(stored)
  }

  forget(key: string, version: number): void {
    const known = this.#objects.get(key)
    // A name that is not known here was deleted by its event already.
    if (known === undefined || known.version > version) return
    this.#touched?.add(key)
    this.#objects.delete(key)
    this.#gone.set(key, version)
    this.#onChange(key)
  }

  async replaceAll(pages: AsyncIterable<{ objects: FollowedObject<T>[]; version: string }>): Promise<string> {
    const touched = new Set<string>()
    const listed = new Set<string>()
    let listVersion = ''
    // The list knows of all deletions before it began. Nor are versions compared with those before it, since the history may be
    // another, as after a restore of etcd: only what this cell notes meanwhile may be newer.
    this.#gone.clear()
    this.#touched = touched
    try {
      for await (const { objects, version } of pages) {
        listVersion = version
        for (const stored of objects) {
          listed.add(stored.key)
          if (touched.has(stored.key)) this.put(stored)
          else this.#set(stored)
        }
      }
    } finally {
      this.#touched = null
    }
    for (const [key, { version }] of this.#objects) {
      const isNewer = touched.has(key) && version > Number(listVersion)
      if (!listed.has(key) && !isNewer) this.#objects.delete(key)
    }
    this.#onChange(null)
    return listVersion
  }

  all(): IterableIterator<[key: string, known: KnownObject<T>]> {
    return this.#objects.entries()
  }

  #set({ key, version, value }: FollowedObject<T>): void {
    this.#objects.set(key, { value: this.#share(value), version })
  }
}
