/** Warm places for new boxes on the nodes of a cluster. The scheduler of that cluster chooses the node of each. */
export interface BoxPlaces {
  /** Number of places that are ready on this node. */
  ready(): number
  /** Calls `listener` when the last of these is taken, and when there is one again. */
  onTurn(listener: () => void): void
  /**
   * Asks the scheduler for a node with room for a box of that size, and waits until a place is ready there. Returns the name of the node.
   * Null if the scheduler finds none, no place becomes ready in time, or the cluster cannot be asked.
   */
  choose(size: { cpus: number; ramMb: number }, options: { closedNodes: readonly string[] }): Promise<string | null>
}
