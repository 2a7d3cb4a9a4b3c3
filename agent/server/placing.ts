import { unverifiedClaims } from '../../shared/auth/tokens.ts'
import { ServiceError } from '../../shared/errors.ts'
import { type BodyBudget, heldBytes } from '../../shared/http/body-budget.ts'
import {
  bearerToken,
  type HttpHandler,
  type HttpRequest,
  type HttpResponse,
  headerOf,
  isJsonType,
  splitTarget,
} from '../../shared/http/messages.ts'
import type { Matcher } from '../../shared/match.ts'
import { projectOwner } from '../../shared/rotation.ts'
import type { PlacedName, PlaceRequest } from '../core/fleet/placement.ts'
import { type Directory, type HomeName, OWNER_HEADER, PLACED_HEADER } from '../ports/fleet/directory.ts'
import { isUnsent } from './cells/cell-links.ts'
import { awayError } from './owner-cell.ts'
import type { PassCheck } from './pass-check.ts'
import {
  discard,
  ENTRY_HEADER,
  type PassingDeps,
  passedResponse,
  passRequest,
  readAlready,
  wholeBody,
} from './passing.ts'
import type { RequestHead } from './trust.ts'

export interface PlacingDeps extends PassingDeps {
  directory: Directory
  match: Matcher
  mayPass: PassCheck
  bodies: BodyBudget
  /** Returns the cells to ask in turn. @throws ServiceError if there is none */
  placesFor(request: PlaceRequest): string[]
}

/**
 * Wraps the handler, and sends creates of boxes, volumes and bases from the functions where the scheduler has room, here or at another
 * cell. If a cell certainly has not begun, it tries the next. Such a cell has no room, shuts down, or cannot be reached. Only that cell
 * decides any other outcome, also when the request is repeated.
 */
export function createPlacing(deps: PlacingDeps): (here: HttpHandler) => HttpHandler {
  return (here) => async (request) => {
    const route = await placedRoute(request, deps)
    if (route === null) return here(request)
    const { project, kind, maxBodyBytes } = route
    // An archive is unpacked while it comes, so the cell where it enters creates the base.
    if (kind === 'base' && !isJsonType(headerOf(request.headers, 'content-type')))
      return withoutOwner(await here(request))
    try {
      const release = deps.bodies.hold(() => [`project ${project}`], heldBytes(request, maxBodyBytes))
      try {
        const body = await request.readBody(maxBodyBytes)
        const whole: HttpRequest = { ...request, ...readAlready(body), signal: request.signal }
        const place = placeRequest(whole, { project, kind, body })
        if (place === null) return await here(whole)
        return await carryOut({ request: whole, body, place, here }, deps)
      } finally {
        release()
      }
    } catch (error) {
      return await deps.refuse(request, error)
    }
  }
}

/** Returns the route of a create that the functions have sent to this cell first. Null for another request. */
async function placedRoute(request: RequestHead, { match, mayPass }: PlacingDeps): Promise<PlacedRoute | null> {
  if (request.method !== 'POST' || request.headers[ENTRY_HEADER] !== undefined) return null
  const found = routeOf(match, request.target)
  return found !== null && (await mayPass(request, projectOwner(found.project).project)) ? found : null
}

interface PlacedRoute {
  kind: PlacedName['kind']
  project: string
  maxBodyBytes: number
}

function routeOf(match: Matcher, target: string): PlacedRoute | null {
  try {
    const { operation, params } = match('POST', splitTarget(target).pathname)
    const kind = KINDS[operation.id]
    const { project } = params
    return kind === undefined || project === undefined ? null : { kind, project, maxBodyBytes: operation.maxBodyBytes }
  } catch {
    // The dispatch reports a missing route.
    return null
  }
}

/** Reads the inputs of the placement. Null for a body that every cell refuses. */
function placeRequest(
  { headers }: HttpRequest,
  { project, kind, body }: { project: string; kind: PlacedName['kind']; body: Uint8Array },
): PlaceRequest | null {
  const parsed = bodyOf(body)
  if (parsed === null) return null
  const { name: given, from, fork, box, shared, data_mounts: mounts, config, node } = parsed
  const named = (each: HomeName['kind'], text: unknown): HomeName[] =>
    typeof text === 'string' ? [{ kind: each, project, name: text.split('@')[0] ?? '' }] : []
  const name = String(given)
  const made: PlacedName =
    kind === 'base' ? { kind, project: shared === true ? null : project, name } : { kind, project, name }
  const volumes = Array.isArray(mounts)
    ? mounts.flatMap((mount: { name?: unknown } | null) => named('volume', mount?.name))
    : []
  const sources = {
    box: () => [...named('box', fork), ...volumes],
    volume: () => named('volume', from),
    base: () => named('box', box),
  }[kind]()
  const key = headers['idempotency-key']
  const token = unverifiedClaims(bearerToken(headers))?.jti ?? ''
  return {
    ...{ made, sources },
    region: textOf((config as { region?: unknown } | null | undefined)?.region),
    node: textOf(node),
    repeatKey: typeof key === 'string' ? `${token}\n${key}` : null,
    requestId: headerOf(headers, 'x-request-id') ?? '',
  }
}

function bodyOf(body: Uint8Array): Record<string, unknown> | null {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8'))
    return typeof parsed === 'object' && parsed !== null ? (parsed as Record<string, unknown>) : null
  } catch {
    return null
  }
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

interface Placed {
  request: HttpRequest
  body: Uint8Array
  place: PlaceRequest
  here: HttpHandler
}

async function carryOut(placed: Placed, deps: PlacingDeps): Promise<HttpResponse> {
  const { directory } = deps
  // Memory does not have sources that another gateway created a moment ago.
  for (const source of placed.place.sources) if (directory.find(source) === null) await directory.read(source)
  const places = deps.placesFor(placed.place).slice(0, PLACES_MAX)
  for (const [index, cell] of places.entries()) {
    const isLast = index === places.length - 1
    const answer = await ask({ cell, isLast }, placed, deps)
    if (answer === null) continue
    const { [OWNER_HEADER]: owner } = answer.headers
    if (typeof owner === 'string') {
      discard(answer)
      return withoutOwner((await ask({ cell: owner, isLast: true, isPlaced: true }, placed, deps)) ?? answer)
    }
    if (isLast || !hasNoRoom(answer)) return withoutOwner(answer)
  }
  throw new ServiceError('agent_unavailable', 'No cell with room is reachable. Retry later.')
}

/** Removes headers that only cells exchange. */
function withoutOwner(answer: HttpResponse): HttpResponse {
  const { [OWNER_HEADER]: _owner, ...headers } = answer.headers
  return { ...answer, headers }
}

/** Asks one cell. Null: it certainly did not get the request, and is not the last. */
async function ask(
  { cell, isLast, isPlaced = false }: { cell: string; isLast: boolean; isPlaced?: boolean },
  { request, body, place, here }: Placed,
  deps: PlacingDeps,
): Promise<HttpResponse | null> {
  const { directory } = deps
  if (cell === directory.cell)
    return here(isPlaced ? { ...request, headers: { ...request.headers, [PLACED_HEADER]: cell } } : request)
  const found = directory.findCell(cell)
  if (found === null) throw awayError(place.made, cell)
  try {
    const owner = `project ${place.made.project}`
    return await settled(passedResponse(await passRequest(request, { cell: found, body, owner, isPlaced }, deps)))
  } catch (error) {
    if (error instanceof ServiceError) throw error
    if (!isLast && isUnsent(error)) return null
    throw awayError(place.made, cell, { cause: error, isChange: true })
  }
}

/** Reads an answer after which another cell may be asked. */
async function settled(answer: HttpResponse): Promise<HttpResponse> {
  if (!ROOM_STATUSES.has(answer.status) || answer.body === null || typeof answer.body === 'string') return answer
  return { ...answer, body: await wholeBody(answer.body as AsyncIterable<Uint8Array>) }
}

function hasNoRoom({ status, body }: HttpResponse): boolean {
  if (!ROOM_STATUSES.has(status) || body === null || !(typeof body === 'string' || body instanceof Uint8Array))
    return false
  const problem = bodyOf(typeof body === 'string' ? Buffer.from(body) : body)
  return ROOM_CODES.has(String(problem?.['code']))
}

/** Kind of resource that an operation creates. */
const KINDS: Readonly<Record<string, PlacedName['kind']>> = {
  createBox: 'box',
  createVolume: 'volume',
  createBase: 'base',
}
const PLACES_MAX = 3
/** Codes of a cell that has begun nothing. */
const ROOM_CODES: ReadonlySet<string> = new Set(['storage_full', 'draining'])
const ROOM_STATUSES: ReadonlySet<number> = new Set([503, 507])
