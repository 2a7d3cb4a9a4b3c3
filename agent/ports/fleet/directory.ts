import type { BoxConfig } from '../../../shared/schemas/boxes.ts'
import type { FleetBases } from './bases.ts'

/**
 * The fleet's directory. It knows which cell has the record of a box or volume, and where that cell's agent is. A cell is one data
 * directory with its agent. Its number is two to four characters of Crockford base32.
 */
export interface Directory {
  /** Number of this cell. */
  readonly cell: string
  /** Finds the ownership record of a name in this cell's memory, which may lag behind other cells' writes. Null if it knows of none. */
  find(name: HomeName): Home | null
  /**
   * Reads the ownership record of a name from where it is kept, and remembers it. Null if the name is free.
   * @throws ServiceError `runtime_unavailable` if it cannot be read now
   */
  read(name: HomeName): Promise<Home | null>
  /** Finds the agent of another cell in this cell's memory. Null if it knows of none. */
  findCell(cell: string): Cell | null
  /** Lists the agents of all other cells, as far as this cell's memory knows of them. */
  cells(): Cell[]
  /** Lists the numbers of cells that any name belongs to, with an agent or without, as far as this cell's memory knows. */
  homeCells(): string[]
  /**
   * Reads the stored record of a name from where it is kept. Null if the name is free.
   * @throws ServiceError `runtime_unavailable` if it cannot be read now
   */
  readKept(name: HomeName): Promise<KeptHome | null>
  /**
   * Lists the stored records of a cell's names, page by page, in no order. `project` null selects all projects.
   * @throws ServiceError `runtime_unavailable` if it cannot be read now
   */
  homesOf(query: { cell: string; kind: HomeName['kind']; project: string | null }): AsyncIterable<KeptHome[]>
  /**
   * Calls `listener` after memory has changed. Passes the name whose owner changed, or null if many names, or a cell, may have changed.
   * Returns a function that removes the listener.
   */
  onChange(listener: (name: HomeName | null) => void): () => void
  /**
   * Claims a name for this cell. `find` knows of it at once. For a uid that has the name already it changes nothing and returns the
   * ownership record, which may name another cell by now. So a claim with an unknown outcome can be repeated.
   * @throws ServiceError `name_taken` if another uid has the name, with OWNER_HEADER if it was claimed at another cell for the same
   * request, `runtime_unavailable` if it cannot be written now
   */
  claim(claim: HomeClaim): Promise<Home>
  /**
   * Gives up a name of this cell. `find` no longer knows of it at once. Changes nothing, and succeeds, if the name is free or belongs to
   * another uid or cell.
   * @throws ServiceError `runtime_unavailable` if it cannot be written now
   */
  release(name: HomeName, uid: string): Promise<void>
  /** The bases of the fleet. */
  readonly bases: FleetBases
}

/**
 * Header of an answer to a create that belongs to another cell. Its value is that cell's number. It comes with `name_taken` if an earlier
 * attempt of the same request claimed the name there, and with 421 for a box to create there. Never sent to a client.
 */
export const OWNER_HEADER = 'x-boxyard-owner'
/** Header of a create that another cell has sent here because it chose this cell for it. */
export const PLACED_HEADER = 'x-boxyard-placed'

/** A name that is unique in the fleet: of the boxes, or of the volumes, of a project. */
export interface HomeName {
  kind: 'box' | 'volume'
  project: string
  name: string
}

/** A claim of a name for a cell. */
export interface HomeClaim extends HomeName {
  /** Id of the box or volume. */
  uid: string
  /** SHA-256, in hexadecimal, of the token and idempotency key of the request. Null if it had no key. */
  createdBy: string | null
  card: HomeCard
}

/** A cached summary of how a box or volume was created, at most 1 KB. Answers use it while its cell does not respond. */
export interface HomeCard {
  /** Milliseconds since the epoch. */
  createdAt: number
  /** Name of the base of a box. */
  base: string | null
  /** Its source: `fork_of` of a box, `from` of a volume. */
  forkOf: string | null
  /** Port that the URL of a box leads to. Null for the default. */
  port: number | null
  /** Limits of a box. Null for a volume. */
  config: BoxConfig | null
  /** GiB that a box may write, or that a volume may hold. */
  storageGb: number
}

/** The directory's record of a name, beyond what a cell keeps in memory. */
export interface KeptHome extends HomeName {
  uid: string
  cell: string
  /** Null: it was claimed without one. */
  card: HomeCard | null
}

/** The cell that a name belongs to. */
export interface Home {
  cell: string
  /** At least 1. Raised each time that the name moves to another cell. */
  epoch: number
  /** `Lost`: its cell is gone, and nothing of it is restored yet. */
  phase: 'Live' | 'Lost'
  /** As it was claimed. */
  createdBy: string | null
}

/** The agent of a cell, as it last reported. */
export interface Cell {
  cell: string
  /** Name of its node. */
  node: string
  /** Base URL of its channel. */
  channelUrl: string
  /** Origin at which its tickets are redeemed. */
  dataUrl: string
  /** Host and port of its edge. Null: it has none. */
  edgeAddress: string | null
  /** Region of its boxes. Null if it reports none. */
  region: string | null
  /** Capacity that boxes can still reserve there, as last reported. Null if it never reported. */
  free: { ramMb: number; storageBytes: number } | null
  /** Number of places that are ready for new boxes. */
  warm: number
  isReady: boolean
  /** Time of its last report, in ms since the epoch. Null: never. */
  heartbeatAt: number | null
  /** True if it takes no new boxes. */
  isDraining: boolean
}
