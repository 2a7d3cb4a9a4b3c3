/**
 * The fleet's hosts that no name of a box tells: domains of boxes and services, and hosts of names that are too long. Each belongs to
 * one box or service of the fleet.
 */
export interface Domains {
  /** Finds who has a host in this cell's memory, which may lag behind what other cells wrote; null if it knows of nobody. */
  find(host: string): DomainOwner | null
  /**
   * Reads who has a host from where it is kept, and remembers it. Null if nobody has it.
   * @throws ServiceError `runtime_unavailable` if it cannot be read now
   */
  read(host: string): Promise<DomainOwner | null>
  /**
   * Lists the hosts of a box and of its services, by its id: all that this cell has written, and all others as far as memory knows.
   * @throws ServiceError `runtime_unavailable` while the memory is not complete
   */
  ofBox(uid: string): Promise<ReadonlyMap<string, DomainOwner>>
  /**
   * Claims a host; `find` knows of it at once. For an owner who has it already it changes nothing, so that a claim whose outcome is
   * unknown is made again.
   * @throws ServiceError `domain_taken` if another box or service has it, `runtime_unavailable` if it cannot be written now
   */
  claim(host: string, owner: DomainOwner): Promise<void>
  /**
   * Gives up a host of a box; `find` no longer knows of it at once. Changes nothing if nobody has it, or another box.
   * @throws ServiceError `runtime_unavailable` if it cannot be written now
   */
  release(host: string, uid: string): Promise<void>
  /** Calls `listener` after memory has changed: with the host, or null where many may have. Returns its removal. */
  onChange(listener: (host: string | null) => void): () => void
}

/** Who has a host. */
export interface DomainOwner {
  project: string
  /** Name and id of the box. */
  box: string
  uid: string
  /** Service of the box; null: the box itself. */
  service: string | null
}
