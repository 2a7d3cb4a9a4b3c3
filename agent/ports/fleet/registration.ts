/** Writes what the fleet knows of this cell. Every call may be repeated. */
export interface Registration {
  /**
   * Writes down that this cell is on this node. The fleet may refuse other writes of the cell for some milliseconds after that.
   * @throws ServiceError `runtime_unavailable` if that cannot be written now, or the cell belongs to another node
   */
  join(): Promise<void>
  /**
   * Tells where this cell is reached.
   * @throws ServiceError `runtime_unavailable`, or if the cell belongs to another data directory
   */
  announce(addresses: CellAddresses): Promise<void>
  /** Tells how this cell fares; false if the fleet knows no addresses of it,
   * or those of another data directory. @throws ServiceError `runtime_unavailable` */
  report(status: CellStatus): Promise<boolean>
}

/** Where a cell is reached. */
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

/** How a cell fares. */
export interface CellStatus {
  /** True while it takes requests. */
  isReady: boolean
  /** True if it takes no new boxes. */
  isDraining: boolean
  /** What boxes may still be promised. */
  free: { cpus: number; ramMb: number; storageBytes: number }
  /** Number of places that are ready for boxes to come. */
  warm: number
  /** Names of the shared bases in its pool. */
  bases: string[]
}
