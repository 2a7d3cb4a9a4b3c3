import { createHash } from 'node:crypto'
import { ServiceError } from '../../../shared/errors.ts'
import { refusal } from '../../../shared/refusals.ts'
import { invalidRequest } from '../../../shared/validate.ts'
import type { BaseName } from '../../ports/fleet/bases.ts'
import type { Cell, Directory, Home, HomeName } from '../../ports/fleet/directory.ts'
import { digestOf } from '../common/digest.ts'
import { isPresent } from './away-cells.ts'

/** The name of the new resource. */
export type PlacedName = HomeName | ({ kind: 'base' } & BaseName)

/**
 * How to choose a cell for a resource without a node and without sources. `spread` prefers the most free capacity, `project` keeps the
 * resources of a project together.
 */
export type Placement = 'spread' | 'project'

/** Input of the placement of a new box, volume or base. */
export interface PlaceRequest {
  made: PlacedName
  /** Resources that it is made from or uses. It is made where these are. */
  sources: readonly HomeName[]
  /** Required region and node. Null for any. */
  region: string | null
  node: string | null
  /** Key that repeats of one request share, so that they reach the same cell while the cells stay the same. Null without repeats. */
  repeatKey: string | null
  requestId: string
}

export interface PlacementDeps {
  directory: Pick<Directory, 'cell' | 'find' | 'findCell' | 'cells' | 'bases'>
  placement: Placement
  /** Milliseconds since the epoch. */
  now(): number
}

/**
 * Returns the numbers of the cells to try in order. A later cell is tried if the earlier ones are full.
 * 1. The cell that has the name. Not if another request made it and this one may repeat a request that another cell answered.
 * 2. The cell with the sources.
 * 3. Otherwise all cells that qualify. With `project`, in the project's own order of cells. With `spread`, cells with ready slots first,
 *    then the one of two random cells with more free memory.
 * @throws ServiceError `volume_on_other_node` if the sources are at several cells, `invalid_request` for a region or node that no cell has,
 * `runtime_unavailable` if none takes new ones
 */
export function placesFor(request: PlaceRequest, deps: PlacementDeps): string[] {
  const { directory } = deps
  const { made } = request
  const known = made.kind === 'base' ? directory.bases.find(made) : directory.find(made)
  if (known !== null && !mayBeAnswered(request, known)) return [known.cell]
  const [first, ...others] = new Set(request.sources.flatMap((source) => directory.find(source)?.cell ?? []))
  if (others.length > 0) throw scattered(request.sources, directory)
  if (first !== undefined) return [first]
  // Chooses this cell before it has reported itself, and while the cluster is away.
  const own = directory.findCell(directory.cell)
  if (own === null) return [directory.cell]
  const fitting = fittingCells([own, ...directory.cells()], request)
  // This cell is alive, whether or not it could report that to the others.
  const open = fitting.filter((cell) => (cell === own ? !own.isDraining : isOpen(cell, deps.now())))
  if (open.length === 0 && fitting.includes(own)) return [own.cell]
  if (open.length === 0)
    throw new ServiceError('runtime_unavailable', 'No suitable agent of this fleet accepts new boxes now. Retry later.')
  // Spreads shared bases, because they belong to no project.
  const order =
    deps.placement === 'project' && made.project !== null ? byScore(open, made.project) : inOrder(open, request)
  return order.map(({ cell }) => cell)
}

/** Names the nodes of cells that take no new boxes now, or that are in another region than the requested one. */
export function closedNodes(
  { region }: Pick<PlaceRequest, 'region'>,
  { directory, now }: Pick<PlacementDeps, 'now'> & { directory: Pick<Directory, 'cell' | 'cells' | 'findCell'> },
): string[] {
  const own = directory.findCell(directory.cell)
  const cells = [...(own === null ? [] : [own]), ...directory.cells()]
  const isFit = (cell: Cell): boolean => isOpen(cell, now()) && (region === null || cell.region === region)
  return cells.filter((cell) => !isFit(cell)).map(({ node }) => node)
}

/** Returns true if another cell may have answered a request with this key before another request took the name. */
function mayBeAnswered({ repeatKey }: PlaceRequest, { createdBy }: Pick<Home, 'createdBy'>): boolean {
  return repeatKey !== null && createdBy !== digestOf(repeatKey)
}

function fittingCells(cells: readonly Cell[], { region, node }: PlaceRequest): Cell[] {
  const inRegion = cells.filter((cell) => region === null || cell.region === region)
  if (inRegion.length === 0)
    throw invalidRequest([{ pointer: '/config/region', detail: `must be ${namesOf(cells, 'region')}` }])
  const onNode = inRegion.filter((cell) => node === null || cell.node === node)
  if (onNode.length === 0) throw invalidRequest([{ pointer: '/node', detail: `must be ${namesOf(inRegion, 'node')}` }])
  return onNode
}

function namesOf(cells: readonly Cell[], field: 'region' | 'node'): string {
  const names = [...new Set(cells.flatMap((cell) => cell[field] ?? []))].sort()
  const shown = names.slice(0, NAMES_SHOWN).map((name) => `"${name}"`)
  const more = names.length > NAMES_SHOWN ? `, or one of ${names.length - NAMES_SHOWN} more` : ''
  return `one of this fleet: ${shown.join(', ')}${more}`
}

function isOpen(cell: Cell, now: number): boolean {
  return !cell.isDraining && isPresent(cell, now)
}

function inOrder(cells: readonly Cell[], { repeatKey, requestId }: PlaceRequest): Cell[] {
  // A request that is signed again after a start of an agent must reach the same cell.
  const order = byScore(cells, repeatKey ?? requestId)
  // A repeat must reach the same cell, so values that change over time do not count.
  if (repeatKey !== null) return order
  const [one, two] = order
  if (one !== undefined && two !== undefined && (two.free?.ramMb ?? 0) > (one.free?.ramMb ?? 0))
    order.splice(0, 2, two, one)
  return order.sort((a, b) => Number(b.warm > 0) - Number(a.warm > 0))
}

/** Sorts cells by rendezvous hashing. Each key has its own order of all cells, and keeps it as cells join and leave. */
function byScore(cells: readonly Cell[], key: string): Cell[] {
  const scores = new Map(cells.map((cell) => [cell, scoreOf(key, cell)]))
  return [...cells].sort((a, b) => (scores.get(b) ?? 0) - (scores.get(a) ?? 0))
}

function scoreOf(key: string, { cell }: Cell): number {
  return createHash('sha256').update(`${cell}\n${key}`).digest().readUInt32BE()
}

function scattered(sources: readonly HomeName[], directory: Pick<Directory, 'find'>): ServiceError {
  const places = sources.flatMap((source) => {
    const cell = directory.find(source)?.cell
    return cell === undefined ? [] : [`${source.kind} "${source.name}" is at cell ${cell}`]
  })
  return elsewhereError(`${places.join(', ')}.`)
}

/** Makes the error for a volume or box on another node than required. */
export function elsewhereError(places: string): ServiceError {
  return refusal('volume_on_other_node', [
    `Boxes and their data volumes must be on one node: ${places}`,
    'Make the box where the volume is, by naming it in data_mounts, or bring a copy of the volume there by a backup (from_backup).',
  ])
}

const NAMES_SHOWN = 10
