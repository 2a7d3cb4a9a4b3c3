import { cellOfLink, splitTicket } from '../../shared/auth/ticket-target.ts'
import { unverifiedClaims } from '../../shared/auth/tokens.ts'
import { asServiceError, ServiceError } from '../../shared/errors.ts'
import { heldBytes } from '../../shared/http/body-budget.ts'
import {
  bearerToken,
  type HttpHandler,
  type HttpRequest,
  type HttpResponse,
  headerOf,
  isJsonType,
  splitTarget,
} from '../../shared/http/messages.ts'
import { isOfCell } from '../../shared/ids.ts'
import type { Match, Matcher } from '../../shared/match.ts'
import { projectOwner } from '../../shared/rotation.ts'
import type { OperationId, operations } from '../../shared/routes.ts'
import type { Directory } from '../ports/fleet/directory.ts'
import { STRANGERS } from './audit.ts'
import type { AskedRequest, AskOptions, CellAsks } from './cells/cell-asks.ts'
import { cellAway } from './cells/cell-links.ts'
import type { Refuse } from './dispatch.ts'
import { answerPage, type OtherReply, type PagesDeps } from './gather-pages.ts'
import {
  type AnswerMerge,
  type CellAnswer,
  type CellValue,
  DELETE_BASE,
  GET_BASE,
  GET_QUOTA,
  GET_STORAGE,
  type ItemJoin,
  joinProjects,
  mergeAnswers,
  SET_QUOTA,
  START_SCRUB,
} from './merge-answers.ts'
import type { PassCheck } from './pass-check.ts'
import { ENTRY_HEADER, readAlready, wholePassedResponse } from './passing.ts'

/**
 * Chooses which cells answer a request for a project, the fleet or an operation.
 * - `here`: the cell that receives it. All have the same answer, another part places it, or its handler asks other cells.
 * - `source`, `one`: the cell of the box that the body names, or whose number is in the id or the sign-in link, else here.
 * - `page`: all cells, whose pages are merged. `join` makes one item of items with one key.
 * - `all`: all cells, at once or after this one. `isMakerLast` asks the cell that made the base in the path last, even this one.
 */
type Gathering =
  | { by: 'here'; since: 'same' | 'placed' | 'asks itself' }
  | { by: 'page'; field: string; key: readonly string[]; isSlow: boolean; join?: ItemJoin }
  | { by: 'source' }
  | { by: 'one' }
  | ({ by: 'all'; isMakerLast?: boolean } & AnswerMerge)

/** The operations that no single box or volume owns. If one is missing below, the code does not compile. */
type GatheredId = {
  [Id in OperationId]: (typeof operations)[Id]['owner'] extends 'project' | 'fleet' | 'operation' ? Id : never
}[OperationId]

const SAME = { by: 'here', since: 'same' } as const
const PLACED = { by: 'here', since: 'placed' } as const
const ASKS_ITSELF = { by: 'here', since: 'asks itself' } as const
const NAMED = ['project', 'name'] as const

const GATHERINGS: { readonly [Id in GatheredId]: Gathering } = {
  signIn: { by: 'one' },
  getSignInLink: { by: 'one' },
  signOut: SAME,
  createSignInLink: SAME,
  createToken: SAME,
  listTokens: SAME,
  deleteToken: SAME,
  createProjectTicket: SAME,
  createBox: PLACED,
  createVolume: PLACED,
  createBase: { by: 'source' },
  listEvents: ASKS_ITSELF,
  listAudit: ASKS_ITSELF,
  listBoxes: { by: 'page', field: 'boxes', key: NAMED, isSlow: false },
  listVolumes: { by: 'page', field: 'volumes', key: NAMED, isSlow: false },
  listBases: { by: 'page', field: 'bases', key: NAMED, isSlow: false },
  listSharedBases: { by: 'page', field: 'bases', key: NAMED, isSlow: false },
  listStoredBackups: { by: 'page', field: 'backups', key: ['id'], isSlow: true },
  getOperation: { by: 'one' },
  getBase: { by: 'all', ...GET_BASE },
  deleteBase: { by: 'all', isMakerLast: true, ...DELETE_BASE },
  listProjects: { by: 'page', field: 'projects', key: ['project'], isSlow: false, join: joinProjects },
  getQuota: { by: 'all', ...GET_QUOTA },
  updateQuota: { by: 'all', ...SET_QUOTA },
  getStorage: { by: 'all', ...GET_STORAGE },
  startScrub: { by: 'all', ...START_SCRUB },
}

export interface GatherDeps extends PagesDeps {
  directory: Pick<Directory, 'bases' | 'cell' | 'cells' | 'find' | 'homeCells' | 'read'>
  match: Matcher
  asks: CellAsks
  mayPass: PassCheck
  /** Answers requests that cannot fan out. */
  refuse: Refuse
}

/**
 * Wraps this cell's handler, so that requests for a project, the fleet or an operation are answered over all cells. A request that
 * another cell has proxied gets the answer of only this cell.
 */
export function gatherOverCells(here: HttpHandler, deps: GatherDeps): HttpHandler {
  return async (request) => {
    const found = request.headers[ENTRY_HEADER] === undefined ? findGathering(request, deps) : null
    if (found === null || found.gathering.by === 'here') return here(request)
    if (!(await deps.mayPass(request, ownerIn(request, found.match.params['project'])))) return here(request)
    const leaving = new AbortController()
    try {
      return await gather(request, { ...found, here, leaving }, deps)
    } catch (error) {
      return await deps.refuse(request, error)
    } finally {
      leaving.abort(new Error('the answer is complete'))
    }
  }
}

interface Gathered {
  gathering: Gathering
  match: Match
}

interface Asking extends Gathered {
  here: HttpHandler
  /** Cuts off all requests to other cells. */
  leaving: AbortController
}

function findGathering({ method, target }: HttpRequest, { match }: GatherDeps): Gathered | null {
  // The answer to HEAD has no body, and says nothing that differs between cells.
  if (method === 'HEAD') return null
  try {
    const found = match(method, splitTarget(target).pathname)
    const gathering = (GATHERINGS as Partial<Record<string, Gathering>>)[found.operation.id]
    return gathering === undefined ? null : { gathering, match: found }
  } catch {
    // The dispatch reports a missing route or a wrong method.
    return null
  }
}

async function gather(request: HttpRequest, asking: Asking, deps: GatherDeps): Promise<HttpResponse> {
  const { gathering, match, here } = asking
  if (gathering.by === 'one') return askOne(request, { here, id: match.params['operation'] ?? '' }, deps)
  if (gathering.by === 'source') return askSource(request, { here, project: match.params['project'] ?? '' }, deps)
  if (gathering.by === 'here') return here(request)
  const cells = cellsOf(gathering, deps)
  if (cells.length === 0) return here(request)
  const isRead = request.method === 'GET'
  const body = isRead ? NOTHING : await request.readBody(BODY_MAX)
  const own = isRead ? request : { ...request, ...readAlready(body), signal: request.signal }
  const { method, target, headers } = request
  const signal = isRead ? AbortSignal.any([request.signal, asking.leaving.signal]) : asking.leaving.signal
  const isPatient = gathering.isSlow
  // A change that this cell refuses must not happen at another.
  const isHereFirst = gathering.by === 'all' && gathering.isHereFirst
  const asked: AskedRequest = { method, target, headers, body, owner: ownerIn(request, match.params['project']) }
  const maker = gathering.by === 'all' && gathering.isMakerLast === true ? makerOf(request, match, deps) : null
  const ask = (which: readonly string[], isVerified: boolean): Promise<OtherReply[]> =>
    Promise.all(which.map((cell) => askOther(cell, deps.asks, { asked, signal, isPatient, isVerified })))
  const askOthers = async (): Promise<OtherReply[]> => {
    const before = await ask(
      cells.filter((cell) => cell !== maker),
      isHereFirst,
    )
    return [
      ...before,
      ...(await ask(
        cells.filter((cell) => cell === maker),
        isHereFirst,
      )),
    ]
  }
  const isHereLast = maker === deps.directory.cell
  const early = isHereLast ? await ask(cells, false) : null
  const [begun, answer] = isHereFirst ? [early, await here(own)] : [askOthers(), await here(own)]
  if (gathering.by === 'page') {
    if (answer.status !== match.operation.status) return answer
    const others = (await begun) ?? []
    return answerPage({ own: answer, others, request, match, ...gathering }, deps)
  }
  if (!gathering.isAsked(answer.status)) return answer
  const others = (await begun) ?? (await askOthers())
  const [first, ...rest] = await readValues({ cell: deps.directory.cell, answer }, others, deps)
  return mergeAnswers(gathering, first, rest)
}

/** Returns the cell that has made the base which a request names, as far as memory knows. Null: none. */
function makerOf({ target }: HttpRequest, { params }: Match, { directory }: GatherDeps): string | null {
  const isShared = new URLSearchParams(splitTarget(target).search).get('shared') === 'true'
  const { project = '', base: name = '' } = params
  return directory.bases.find({ project: isShared ? null : project, name })?.cell ?? null
}

/** Lists the cells to ask. These are all with an agent, and for boxes and volumes also all that own a name. */
function cellsOf(gathering: Gathering, { directory }: GatherDeps): string[] {
  const known = directory.cells().map(({ cell }) => cell)
  const isNamed = gathering.by === 'page' && NAMED_FIELDS.has(gathering.field)
  const named = isNamed ? directory.homeCells().filter((cell) => cell !== directory.cell) : []
  return [...new Set([...known, ...named])].sort()
}

async function askOther(
  cell: string,
  asks: CellAsks,
  { asked, ...options }: AskOptions & { asked: AskedRequest },
): Promise<OtherReply> {
  try {
    return { cell, reply: await asks.ask(cell, asked, options) }
  } catch (error) {
    return { cell, error: asServiceError(error) }
  }
}

/** Proxies a request to the one cell that can answer it. It began the operation, whose id has its number, or created the sign-in link. */
async function askOne(
  request: HttpRequest,
  { here, id }: { here: HttpHandler; id: string },
  { directory, asks }: GatherDeps,
): Promise<HttpResponse> {
  const { method, target, headers } = request
  const link = cellOfLink(splitTicket(target).ticket)
  const owner = directory.cells().find(({ cell }) => cell === link || isOfCell(id, cell))
  if (owner === undefined) return here(request)
  const asked: AskedRequest = { method, target, headers, body: NOTHING, owner: ownerIn(request, undefined) }
  return wholePassedResponse(await asks.ask(owner.cell, asked, { signal: request.signal, isPatient: true }), owner.cell)
}

/** Proxies the create of a base to the cell of its source box. */
async function askSource(
  request: HttpRequest,
  { here, project }: { here: HttpHandler; project: string },
  { directory, asks }: GatherDeps,
): Promise<HttpResponse> {
  const { method, target, headers } = request
  if (!isJsonType(headerOf(headers, 'content-type')) || heldBytes(request, BODY_MAX + 1) > BODY_MAX)
    return here(request)
  const body = await request.readBody(BODY_MAX)
  const name = boxOf(body)
  const box = name === null ? null : ({ kind: 'box', project, name } as const)
  const home = box === null ? null : (directory.find(box) ?? (await directory.read(box)))
  if (home === null || home.cell === directory.cell)
    return here({ ...request, ...readAlready(body), signal: request.signal })
  // A create continues even if the client disconnects.
  const { signal } = new AbortController()
  const asked: AskedRequest = { method, target, headers, body, owner: ownerIn(request, project) }
  return wholePassedResponse(await asks.ask(home.cell, asked, { signal, isPatient: true }), home.cell)
}

/** Returns the owner of requests to other cells. It is the project, else the token, which the functions have verified. */
function ownerIn({ headers }: HttpRequest, project: string | undefined): string {
  if (project !== undefined && project !== '-') return projectOwner(project).project
  const claims = unverifiedClaims(bearerToken(headers))
  return `token ${claims?.root ?? claims?.jti ?? ''}`
}

function boxOf(body: Uint8Array): string | null {
  try {
    const parsed = JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8')) as unknown
    const box = (parsed as { box?: unknown } | null)?.box
    return typeof box === 'string' ? box : null
  } catch {
    // The dispatch reports a body that is not JSON.
    return null
  }
}

/** Reads the answers of all cells, this one's first. */
async function readValues(
  own: { cell: string; answer: HttpResponse },
  others: readonly OtherReply[],
  { turns }: GatherDeps,
): Promise<[CellAnswer, ...CellValue[]]> {
  const read = async (cell: string, response: HttpResponse): Promise<CellAnswer> => {
    const { body } = response
    const text = Buffer.isBuffer(body) ? body.toString('utf8') : typeof body === 'string' ? body : ''
    await turns.run(own.answer.account ?? STRANGERS, async () => undefined)
    return { cell, response, value: text === '' ? null : JSON.parse(text) }
  }
  const values = others.map(async (other): Promise<CellValue> => {
    if ('error' in other) return other
    try {
      return await read(other.cell, await wholePassedResponse(other.reply, other.cell))
    } catch (error) {
      return { cell: other.cell, error: error instanceof ServiceError ? error : cellAway(other.cell, error) }
    }
  })
  return [await read(own.cell, own.answer), ...(await Promise.all(values))]
}

const NAMED_FIELDS: ReadonlySet<string> = new Set(['boxes', 'volumes'])
const NOTHING = new Uint8Array(0)
/** More than any body of these operations may have. */
const BODY_MAX = 64 * 1024
