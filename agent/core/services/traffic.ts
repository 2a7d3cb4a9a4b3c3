/** What becomes of the requests to services. */
export interface Traffic {
  /**
   * The targets of a service of the box (service-targets.ts) have changed, and the record says so: resolves once no new request
   * goes to others.
   */
  settle(boxId: string): Promise<void>
  /** Resolves once no request is open to a port of a box; those that are open after `graceMs` are cut off. */
  drain(target: { boxId: string; port: number }, graceMs: number): Promise<void>
}
