/** An object in an index of all objects of its kind. */
export interface FollowedObject<T> {
  /** Name of the object. */
  key: string
  /** Its resourceVersion. Within one history of a cluster, versions grow with each write. */
  version: number
  value: T
}

/**
 * This cell's index of all objects of a kind. A list and the events after it feed it with some lag. The cell's own writes and reads feed it
 * with newer states. So the index keeps the newer of two states of an object.
 */
export interface ObjectIndex<T> {
  /** Returns the known object of a name with its version, or null if there is none. */
  find(key: string): KnownObject<T> | null
  /** Applies an object from an event, which may be older than the known state. */
  put(stored: FollowedObject<T>): void
  /** Applies an event that the object was deleted at `version`. */
  drop(key: string, version: number): void
  /** Adds an object that this cell has just written or read. */
  note(stored: FollowedObject<T>): void
  /** Removes an object, up to `version`, which this cell has just deleted or found gone. Events up to that version do not restore it. */
  forget(key: string, version: number): void
  /** Replaces all known objects with a whole list, except those noted since the list began. Returns its version. */
  replaceAll(pages: AsyncIterable<{ objects: FollowedObject<T>[]; version: string }>): Promise<string>
  /** All known objects, by name. */
  all(): IterableIterator<[key: string, known: KnownObject<T>]>
}

/** The known state of a name. A `Home` takes about 300 bytes, since the index keeps no object of the API. */
export interface KnownObject<T> {
  value: T
  version: number
}

export interface ObjectIndexOptions<T> {
  /** Returns the value to keep in place of `value`. Lets objects share strings, since each parsed object has its own copies. */
  keep?(value: T): T
  /** Called with each value that the index no longer keeps. */
  drop?(value: T): void
  /** Called with the name of each object that may have changed, and with null after a list. */
  onChange?(key: string | null): void
}

/** Creates an empty index. */
export function createObjectIndex<T>(options: ObjectIndexOptions<T> = {}): ObjectIndex<T> {
  return new Index(options)
}

class Index<T> implements ObjectIndex<T> {
  readonly #objects = new Map<string, KnownObject<T>>()
  /** Versions up to which a removed name stays removed, until the event of its deletion. */
  readonly #gone = new Map<string, number>()
  /** Names noted and removed since the current list began, or null if none is in progress. */
  #touched: Set<string> | null = null
  readonly #keep: (value: T) => T
  readonly #drop: (value: T) => void
  readonly #onChange: (key: string | null) => void

  constructor({ keep = (value) => value, drop = () => undefined, onChange = () => undefined }: ObjectIndexOptions<T>) {
    this.#keep = keep
    this.#drop = drop
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
    this.#delete(key)
    this.#onChange(key)
  }

  note(stored: FollowedObject<T>): void {
    this.#touched?.add(stored.key)
    this.put(stored)
  }

  forget(key: string, version: number): void {
    const known = this.#objects.get(key)
    // An event has already deleted a name that is not known here.
    if (known === undefined || known.version > version) return
    this.#touched?.add(key)
    this.#delete(key)
    this.#gone.set(key, version)
    this.#onChange(key)
  }

  async replaceAll(pages: AsyncIterable<{ objects: FollowedObject<T>[]; version: string }>): Promise<string> {
    const touched = new Set<string>()
    const listed = new Set<string>()
    let listVersion = ''
    // The list includes all deletions before it began. Its versions cannot be compared with earlier ones, since a restore of etcd starts
    // another history. Only objects that this cell notes during the list may be newer.
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
      if (!listed.has(key) && !isNewer) this.#delete(key)
    }
    this.#onChange(null)
    return listVersion
  }

  all(): IterableIterator<[key: string, known: KnownObject<T>]> {
    return this.#objects.entries()
  }

  #set({ key, version, value }: FollowedObject<T>): void {
    this.#delete(key)
    this.#objects.set(key, { value: this.#keep(value), version })
  }

  #delete(key: string): void {
    const known = this.#objects.get(key)
    if (known === undefined) return
    this.#objects.delete(key)
    this.#drop(known.value)
  }
}
