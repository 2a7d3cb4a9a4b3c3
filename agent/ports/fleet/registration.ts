/** Publishes this cell to the fleet. Every call can be repeated. */
export interface Registration {
  /**
   * Records that this cell is on this node. The fleet may refuse other writes of the cell for some milliseconds after that.
   * @throws ServiceError `runtime_unavailable` if that cannot be written now, or the cell belongs to another node
   */
  join(): Promise<void>
  /**
   * Publishes the addresses of this cell.
   * @throws ServiceError `runtime_unavailable`, or if the cell belongs to another data directory
   */
  announce(addresses: CellAddresses): Promise<void>
  /**
   * Reports the status of this cell. False if the fleet has no addresses of it, or has addresses of another data directory.
   * @throws ServiceError `runtime_unavailable`
   */
  report(status: CellStatus): Promise<boolean>
}

/** The addresses of a cell. */
export interface CellAddresses {
  /** Base URL of its channel. */
  channelUrl: string
  /** Origin at which its tickets are redeemed. */
  dataUrl: string
  /** Host and port of its edge. */
  edgeAddress: string
  region: string
  version: string
}

/** The status of a cell. */
export interface CellStatus {
  /** True while it takes requests. */
  isReady: boolean
  /** True if it takes no new boxes. */
  isDraining: boolean
  /** Capacity that boxes can still reserve. */
  free: { cpus: number; ramMb: number; storageBytes: number }
  /** Number of places that are ready for new boxes. */
  warm: number
  /** Names of the shared bases in its pool. */
  bases: string[]
}
