/**
 * The fleet's hosts whose names do not contain the name of a box. These are domains of boxes and services, and hosts for names that are
 * too long. Each belongs to one box or service of the fleet.
 */
export interface Domains {
  /** Finds the owner of a host in this cell's memory, which may lag behind other cells' writes. Null if it knows of none. */
  find(host: string): DomainOwner | null
  /**
   * Reads the owner of a host from where it is kept, and remembers it. Null if the host is free.
   * @throws ServiceError `runtime_unavailable` if it cannot be read now
   */
  read(host: string): Promise<DomainOwner | null>
  /**
   * Lists the hosts of a box and of its services, by its id. Includes all that this cell has written, and all others that memory knows.
   * @throws ServiceError `runtime_unavailable` while the memory is not complete
   */
  ofBox(uid: string): Promise<ReadonlyMap<string, DomainOwner>>
  /**
   * Claims a host. `find` knows of it at once. Changes nothing if the owner has it already, so that a claim with an unknown outcome can
   * be repeated.
   * @throws ServiceError `domain_taken` if another box or service has it, `runtime_unavailable` if it cannot be written now
   */
  claim(host: string, owner: DomainOwner): Promise<void>
  /**
   * Gives up a host of a box. `find` no longer knows of it at once. Changes nothing if the host is free or belongs to another box.
   * @throws ServiceError `runtime_unavailable` if it cannot be written now
   */
  release(host: string, uid: string): Promise<void>
  /**
   * Calls `listener` after memory has changed, with the host, or with null if many hosts may have changed. Returns a function that
   * removes the listener.
   */
  onChange(listener: (host: string | null) => void): () => void
}

/** The owner of a host. */
export interface DomainOwner {
  project: string
  /** Name and id of the box. */
  box: string
  uid: string
  /** Service of the box. Null: the box itself. */
  service: string | null
}
