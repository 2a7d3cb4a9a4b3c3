/** A base by name. */
export interface BaseName {
  /** Null: shared by all projects. */
  project: string | null
  name: string
}

/** The fleet's record of a base that one of its cells made. */
export interface FleetBase extends BaseName {
  /** Id of the base. Another base of the same name has another id. */
  uid: string
  version: number
  /** Number of the cell that made it. */
  cell: string
  /** As `source` of a base. */
  source: string
  /** Milliseconds since the epoch. */
  createdAt: number
  /** SHA-256, in hexadecimal, of the token and idempotency key of the request. Null if it had no key. */
  createdBy: string | null
}

/** A base that is about to be made at this cell. Its version is at least this. */
export type BaseClaim = Omit<FleetBase, 'cell'>

/** The bases that one cell has made for the whole fleet. Bases that each cell builds for itself are not among them. */
export interface FleetBases {
  /** Finds a base in this cell's memory, which may lag behind what other cells wrote. Null if it knows of none. */
  find(name: BaseName): FleetBase | null
  /**
   * Reads a base from where it is kept, and remembers it. Null if the name is free.
   * @throws ServiceError `runtime_unavailable` if it cannot be read now
   */
  read(name: BaseName): Promise<FleetBase | null>
  /**
   * Claims the name of a base for this cell. `find` knows of it at once. For a uid that has the name already it changes nothing. Returns
   * the version, which is above all of that name that this cell has heard of.
   * @throws ServiceError `name_taken` if another uid has the name, with OWNER_HEADER if it was claimed at another cell for the same
   * request, `runtime_unavailable` if it cannot be written now
   */
  claim(claim: BaseClaim): Promise<{ version: number }>
  /**
   * Gives up the name of a base of this cell. Changes nothing, and succeeds, if the name is free or belongs to another uid or cell.
   * @throws ServiceError `runtime_unavailable` if it cannot be written now
   */
  release(name: BaseName, uid: string): Promise<void>
  /**
   * Has the cell that made a base send it, as `CowFilesystem.send` does. The stream is verified at its end, and rejects there if it is
   * incomplete or was altered. Null: that cell does not have it, not yet or no longer.
   * @throws ServiceError `agent_unavailable` if that cell cannot be reached
   */
  open(base: FleetBase, signal: AbortSignal): Promise<AsyncIterable<Uint8Array> | null>
}
