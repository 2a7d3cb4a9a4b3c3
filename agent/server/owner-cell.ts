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

/** The cell that answers a request, and the name that says so. */
export interface OwnerCell {
  name: SoughtName
  cell: Cell
  /** On whose behalf it is asked. */
  account: string
}

/** Finds who answers requests. */
export interface OwnerFinder {
  /** Returns what a path names as a box or volume, unless it is this cell's as far as memory knows. Null: it is answered here. */
  foreignName(method: string, target: string): SoughtName | null
  /**
   * Returns the cell that has it, from memory. Reads the directory if memory knows of none, or if `isFresh`. Null: this cell, also by its
   * own record in the same two cases, or no cell. The rest of a volume whose name is free is at the cell in its id.
   * @throws ServiceError `runtime_unavailable` if the directory cannot be read, `agent_unavailable` for a cell that has no agent
   */
  find(name: SoughtName, options: { isFresh: boolean; account: string }): Promise<OwnerCell | null>
}

/** Creates the finder of owners by the table of operations. */
export function createOwnerFinder(deps: {
  directory: TurnedDirectory
  match: Matcher
  /** Whether this cell has a record of that name, for as long as memory knows nothing, as after a start without the cluster. */
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

/** Finds the cell that made a backup, by the id of that. Null: this cell, or one that is no more. */
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
