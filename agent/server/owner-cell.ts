import type { ServiceError } from '../../shared/errors.ts'
import { splitTarget } from '../../shared/http/messages.ts'
import { isOfCell } from '../../shared/ids.ts'
import type { Matcher } from '../../shared/match.ts'
import type { Cell, Directory, HomeName } from '../ports/fleet/directory.ts'
import { cellAway } from './cells/cell-links.ts'
import type { TurnedDirectory } from './cells/directory-reads.ts'

/** The resource that a request is about, from its path. */
export interface SoughtName extends HomeName {
  /** Id of a backup, which outlives its volume. It has the number of the cell that made it. */
  backup?: string
}

/** The cell that owns a request's resource, and the name of that. */
export interface OwnerCell {
  name: SoughtName
  cell: Cell
  /** The account it is asked for. */
  account: string
}

/** Finds the owners of requests. */
export interface OwnerFinder {
  /** Returns the box or volume that a path names, unless memory knows it as this cell's. Null: this cell answers. */
  foreignName(method: string, target: string): SoughtName | null
  /**
   * Returns the cell that has it, from memory. Reads the directory if memory knows of none, or if `isFresh`. Null: this cell, also by its
   * own record in the same two cases, or no cell. If the name is free, backups of a deleted volume are at the cell in their id.
   * @throws ServiceError `runtime_unavailable` if the directory cannot be read, `agent_unavailable` for a cell that has no agent
   */
  find(name: SoughtName, options: { isFresh: boolean; account: string }): Promise<OwnerCell | null>
}

/** Creates the finder of owners by the table of operations. */
export function createOwnerFinder(deps: {
  directory: TurnedDirectory
  match: Matcher
  /** Returns whether this cell has a record of that name. Used while memory knows nothing, as after a start without the cluster. */
  hasRecord(name: HomeName): Promise<boolean>
}): OwnerFinder {
  const { directory, match, hasRecord } = deps
  return {
    foreignName: (method, target) => {
      const name = nameOf(match, method, target)
      return name === null || directory.find(name)?.cell === directory.cell ? null : name
    },
    find: async (name, { isFresh, account }) => {
      const known = isFresh ? null : directory.find(name)
      if (known === null && (await hasRecord(name))) return null
      const home = known ?? (await directory.read(name, account))
      if (home === null) return madeBy(name, { directory, account })
      if (home.cell === directory.cell) return null
      const cell = directory.findCell(home.cell)
      if (cell === null) throw awayError(name, home.cell)
      return { name, cell, account }
    },
  }
}

/** Makes the error for an owner that cannot be reached. If `isChange`, it says that the change may have been carried out. */
export function awayError(
  { kind, name }: { kind: string; name: string },
  cell: string,
  { cause, isChange = false }: { cause?: unknown; isChange?: boolean } = {},
): ServiceError {
  return cellAway(cell, cause, { which: `, which has ${kind} "${name}",`, isChange })
}

/** Finds the cell that made a backup, from its id. Null: this cell, or one that no longer exists. */
function madeBy(name: SoughtName, { directory, account }: { directory: Directory; account: string }): OwnerCell | null {
  const { backup } = name
  const cell = backup === undefined ? undefined : directory.cells().find((each) => isOfCell(backup, each.cell))
  return cell === undefined ? null : { name, cell, account }
}

function nameOf(match: Matcher, method: string, target: string): SoughtName | null {
  try {
    const { operation, params } = match(method, splitTarget(target).pathname)
    const { project, name, backup } = params
    if ((operation.owner !== 'box' && operation.owner !== 'volume') || project === undefined || name === undefined)
      return null
    return { kind: operation.owner, project, name, ...(backup === undefined ? {} : { backup }) }
  } catch {
    // The dispatch reports a missing route or a wrong method.
    return null
  }
}
