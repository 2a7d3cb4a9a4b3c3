import type { BoxConfig } from '../../../shared/schemas/boxes.ts'
import type { FleetBases } from './bases.ts'

/**
 * The fleet's directory: which cell has the record of a box or volume, and where that cell's agent is. A cell is one data directory
 * with its agent; its number is two to four characters of Crockford base32.
 */
export interface Directory {
  /** Number of this cell. */
  readonly cell: string
  /** Finds the home of a name in this cell's memory, which may lag behind what other cells wrote; null if it knows of none. */
  find(name: HomeName): Home | null
  /**
   * Reads the home of a name from where it is kept, and remembers it. Null if nobody has the name.
   * @throws ServiceError `runtime_unavailable` if it cannot be read now
   */
  read(name: HomeName): Promise<Home | null>
  /** Finds the agent of another cell in this cell's memory; null if it knows of none. */
  findCell(cell: string): Cell | null
  /** Lists the agents of all other cells, as far as this cell's memory knows of them. */
  cells(): Cell[]
  /** Lists the numbers of cells that any name belongs to, with an agent or without, as far as this cell's memory knows. */
  homeCells(): string[]
  /**
   * Reads what is kept of a name from where it is kept; null if nobody has it.
   * @throws ServiceError `runtime_unavailable` if it cannot be read now
   */
  readKept(name: HomeName): Promise<KeptHome | null>
  /**
   * Lists what is kept of the names that a cell has, of one project or with null of all, page by page, in no order.
   * @throws ServiceError `runtime_unavailable` if it cannot be read now
   */
  homesOf(query: { cell: string; kind: HomeName['kind']; project: string | null }): AsyncIterable<KeptHome[]>
  /**
   * Calls `listener` after memory has changed: with the name whose home did, or null where many may have, or a cell. Returns its
   * removal.
   */
  onChange(listener: (name: HomeName | null) => void): () => void
  /**
   * Claims a name for this cell; `find` knows of it at once. For a uid that has the name already it changes nothing and returns its
   * home, which may be another cell by now. So a claim whose outcome is unknown is made again.
   * @throws ServiceError `name_taken` if another uid has the name, with OWNER_HEADER if it was claimed at another cell for the same
   * request, `runtime_unavailable` if it cannot be written now
   */
  claim(claim: HomeClaim): Promise<Home>
  /**
   * Gives up a name of this cell; `find` no longer knows of it at once. Succeeds, and changes nothing, if nobody has the name, or
   * another uid or another cell.
   * @throws ServiceError `runtime_unavailable` if it cannot be written now
   */
  release(name: HomeName, uid: string): Promise<void>
  /** The bases of the fleet. */
  readonly bases: FleetBases
}

/**
 * Header of an answer to a create that another cell has, or is to give: its number. Of `name_taken` for a name that an earlier attempt of the
 * same request has claimed, and of 421 for a box that is to be made there. Never told to a client.
 */
export const OWNER_HEADER = 'x-boxyard-owner'
/** Header of a create that another cell has chosen this one for: it is made here. */
export const PLACED_HEADER = 'x-boxyard-placed'

/** A name that is unique in the fleet: of the boxes, or of the volumes, of a project. */
export interface HomeName {
  kind: 'box' | 'volume'
  project: string
  name: string
}

/** What a cell claims a name for. */
export interface HomeClaim extends HomeName {
  /** Id of the box or volume. */
  uid: string
  /** SHA-256, in hexadecimal, of the token and idempotency key of the request; null if it had no key. */
  createdBy: string | null
  card: HomeCard
}

/** What is told of a box or volume while its cell does not answer: what it was made with, at most 1 KB. */
export interface HomeCard {
  /** Milliseconds since the epoch. */
  createdAt: number
  /** Name of the base of a box. */
  base: string | null
  /** What it was copied from: `fork_of` of a box, `from` of a volume. */
  forkOf: string | null
  /** Port that the URL of a box leads to; null for the default. */
  port: number | null
  /** Limits of a box; null for a volume. */
  config: BoxConfig | null
  /** GiB that a box may write, or that a volume may hold. */
  storageGb: number
}

/** What the directory keeps of a name, beside what a cell remembers of it. */
export interface KeptHome extends HomeName {
  uid: string
  cell: string
  /** Null: it was claimed without one. */
  card: HomeCard | null
}

/** The cell that a name belongs to. */
export interface Home {
  cell: string
  /** At least 1; raised each time that the name comes to another cell. */
  epoch: number
  /** `Lost`: its cell is gone, and nothing of it is restored yet. */
  phase: 'Live' | 'Lost'
  /** As it was claimed. */
  createdBy: string | null
}

/** The agent of a cell, as it last told of itself. */
export interface Cell {
  cell: string
  /** Name of its node. */
  node: string
  /** Base URL of its channel. */
  channelUrl: string
  /** Origin at which its tickets are redeemed. */
  dataUrl: string
  /** Host and port of its edge; null: it has none. */
  edgeAddress: string | null
  /** Region of its boxes; null if it tells none. */
  region: string | null
  /** What boxes may still be promised there, as last told; null if it has not told. */
  free: { ramMb: number; storageBytes: number } | null
  /** Number of places that are ready for boxes to come. */
  warm: number
  isReady: boolean
  /** When it last told, in ms since the epoch; null: never. */
  heartbeatAt: number | null
  /** True if it takes no new boxes. */
  isDraining: boolean
}
