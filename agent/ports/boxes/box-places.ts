/** Places for new boxes that are ready on some node of a cluster, each chosen by the scheduler of that cluster. */
export interface BoxPlaces {
  /** Number of those that are ready on this node. */
  ready(): number
  /** Calls `listener` when the last of those is taken, and when there is one again. */
  onTurn(listener: () => void): void
  /**
   * Has the scheduler choose a node for one more, for a box of that size, and waits until it is ready there. Returns the name of the
   * node. Null if it finds none, none becomes ready in time, or the cluster cannot be asked.
   */
  choose(size: { cpus: number; ramMb: number }, options: { closedNodes: readonly string[] }): Promise<string | null>
}
