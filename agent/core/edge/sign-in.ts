import { randomBytes } from 'node:crypto'
import { asServiceError, problemTypeNotFound, ServiceError } from '../../../shared/errors.ts'
import {
  givenRequestId,
  type HttpHandler,
  type HttpRequest,
  type HttpResponse,
  headerOf,
  splitTarget,
} from '../../../shared/http/messages.ts'
import { pageHeaders } from '../../../shared/http/page.ts'
import { newId } from '../../../shared/ids.ts'
import type { Logger } from '../../../shared/log.ts'
import { answerProblemTypes } from '../../../shared/problem-types.ts'
import type { EdgeRequest } from '../../ports/edge/edge.ts'
import type { Clock } from '../../ports/host/clock.ts'
import { digestOf } from '../common/digest.ts'
import { type EdgeAddress, isOwnHost, projectOfHost, signInHost, urlOf } from '../common/urls.ts'
import type { Access } from './access.ts'
import { type EdgeAnswer, edgeAnswerOf, leadTo } from './answers.ts'
import type { SignInCodes } from './codes.ts'
import type { FailedAuthLimit } from './failed-auth-limit.ts'
import type { EdgeGrants } from './grants.ts'
import { messagePage, onwardPage, type SignInForm, signInPage, signOutPage } from './pages.ts'
import { hostNameOf, nonceCookie, nonceOf, OWN_PATHS, safeTarget, sessionCookie, sessionOf } from './request.ts'
import type { EdgeRoutes } from './routes.ts'

export interface SignInDeps {
  hosts: Pick<EdgeRoutes, 'lookup'>
  address: EdgeAddress
  access: Pick<Access, 'showToken'>
  grants: Pick<EdgeGrants, 'beginSession' | 'endSession'>
  codes: SignInCodes
  failedAuth: FailedAuthLimit
  clock: Clock
  logger: Logger
}

/** How a person's browser gets a session at the host of a box: by a token that is shown at another host, and there alone. */
export interface SignIn {
  /** Leads a browser that opens a page to the sign-in, bound to this browser. */
  lead(request: Pick<EdgeRequest, 'host' | 'target' | 'headers'>): EdgeAnswer
  /**
   * Answers what is asked of the sign-in host, and of every host below `/.boxyard/`. `Host` is as the client sent it, and
   * `clientAddress` the client's own.
   */
  handle: HttpHandler
}

/** No sign-in under way; those that are, are forgotten with the process. */
export function createSignIn(deps: SignInDeps): SignIn {
  return {
    lead: ({ host, target, headers }) => {
      const known = nonceOf(headers.cookie)
      const nonce = known ?? randomBytes(NONCE_BYTES).toString('base64url')
      const query = new URLSearchParams({ host, target: safeTarget(target), nonce: digestOf(nonce) })
      const cookie = known === undefined ? { 'set-cookie': nonceCookie(nonce, NONCE_SECONDS) } : {}
      return leadTo(`${urlOf(signInHost(deps.address), deps.address)}?${query.toString()}`, cookie)
    },
    handle: async (request) => {
      const requestId = givenRequestId(request.headers) ?? newId('req', deps.clock.now())
      const visit = visitOf(request, requestId)
      try {
        return await answer(deps, visit)
      } catch (error) {
        const known = asServiceError(error)
        if (known.status >= 500) deps.logger.error('a page of the edge failed', { request_id: requestId, error })
        return edgeAnswerOf(known, { method: request.method, accept: visit.header('accept'), requestId })
      }
    },
  }
}

/** A request, read. */
interface Visit {
  request: HttpRequest
  requestId: string
  host: string | null
  pathname: string
  query: URLSearchParams
  clientAddress: string
  header(name: string): string | undefined
}

function visitOf(request: HttpRequest, requestId: string): Visit {
  const header = (name: string): string | undefined => headerOf(request.headers, name)
  const { clientAddress } = request
  return { request, requestId, host: hostNameOf(header('host')), ...splitTarget(request.target), clientAddress, header }
}

async function answer(deps: SignInDeps, visit: Visit): Promise<HttpResponse> {
  const { host, pathname, request } = visit
  if (pathname === PROBLEM_TYPES || pathname.startsWith(`${PROBLEM_TYPES}/`)) {
    checkMethod(request, ['GET', 'HEAD'])
    const code = pathname === PROBLEM_TYPES ? null : pathname.slice(PROBLEM_TYPES.length + 1)
    const told = answerProblemTypes({ code, accept: visit.header('accept'), types: PROBLEM_TYPES })
    if (told === null) throw problemTypeNotFound(PROBLEM_TYPES)
    return told
  }
  if (host === signInHost(deps.address)) {
    if (pathname !== '/') throw notFound()
    if (isRead(request)) return showForm(deps, visit)
    checkMethod(request, ['GET', 'HEAD', 'POST'])
    return takeForm(deps, visit)
  }
  if (host !== null && pathname === SESSION_PATH) {
    checkMethod(request, ['GET'])
    return beginSession(deps, visit, host)
  }
  if (host !== null && pathname === SIGN_OUT_PATH) {
    checkMethod(request, ['GET', 'POST'])
    return endSession(deps, visit)
  }
  throw notFound()
}

async function showForm({ address, hosts }: SignInDeps, { query }: Visit): Promise<HttpResponse> {
  if (!query.has('host')) {
    const text = 'Open the address of a box: whoever needs to sign in is led here by it.'
    return { status: 200, headers: pageHeaders(), body: messagePage('Sign in', { text }) }
  }
  const form = formOf(query, address)
  await findPlace({ address, hosts }, form.host)
  return formPage(200, { ...form, fault: null }, address)
}

async function takeForm(deps: SignInDeps, visit: Visit): Promise<HttpResponse> {
  const { address, access, codes, logger } = deps
  if (isForeign(visit)) throw new ServiceError('permission_denied', 'The form was sent by another page.')
  if (!/^application\/x-www-form-urlencoded *(;|$)/i.test(visit.header('content-type') ?? ''))
    throw new ServiceError('unsupported_media_type', 'The body must be application/x-www-form-urlencoded.')
  const fields = new URLSearchParams(Buffer.from(await visit.request.readBody(FORM_BYTES)).toString('utf8'))
  const form = formOf(fields, address)
  const { clientAddress, requestId } = visit
  const line = {
    audit: true,
    operation: 'edge.sign_in',
    host: form.host,
    client_address: clientAddress,
    request_id: requestId,
  }
  try {
    const { project, isKnown } = await findPlace(deps, form.host)
    const token = fields.get('token')?.trim() ?? ''
    const shown = await access.showToken(token, { project, clientAddress })
    if (!isKnown || project === null) throw new ServiceError('box_not_found', 'No box has this address.')
    const { tokenId, expiresAt, name } = shown
    logger.info('audit', { ...line, actor: tokenId, actor_name: name, status: 303 })
    const code = codes.issue({ tokenId, expiresAt, project, ...form })
    const location = `${urlOf(form.host, address).slice(0, -1)}${SESSION_PATH}?code=${code}`
    return { ...leadTo(location), status: 303 }
  } catch (error) {
    const { status, code, message } = asServiceError(error)
    if (status !== 401 && status !== 403) throw error
    logger.info('audit', { ...line, actor: null, status, code })
    return formPage(status, { ...form, fault: message }, address)
  }
}

async function beginSession(deps: SignInDeps, visit: Visit, host: string): Promise<HttpResponse> {
  const { codes, failedAuth, grants, clock } = deps
  const { clientAddress } = visit
  failedAuth.check(clientAddress)
  const signedIn = codes.take(visit.query.get('code') ?? '')
  const nonce = nonceOf(visit.header('cookie'))
  if (signedIn === null) failedAuth.note(clientAddress)
  const isBound = nonce !== undefined && signedIn?.nonceDigest === digestOf(nonce)
  if (signedIn === null || signedIn.host !== host || !isBound) {
    const text = nonce === undefined ? NO_COOKIE : 'This sign-in is over, or was begun elsewhere.'
    const body = messagePage('Not signed in', { text, link: { href: '/', label: 'Try again' } })
    return { status: 401, headers: pageHeaders(), body }
  }
  const { value, expiresAt } = await grants.beginSession(host, signedIn)
  const seconds = (expiresAt - clock.now()) / 1000
  const cookies = [sessionCookie(value, seconds), nonceCookie('', 0)]
  // A redirect would still be one of the form: browsers would hold the box's own redirects against the form's page, and keep
  // the box's stricter cookies back.
  const headers = { ...pageHeaders(), 'set-cookie': cookies }
  return { status: 200, headers, body: onwardPage(signedIn.target) }
}

async function endSession({ grants }: SignInDeps, visit: Visit): Promise<HttpResponse> {
  const { request } = visit
  if (isForeign(visit)) {
    if (!isRead(request)) throw new ServiceError('permission_denied', 'The form was sent by another page.')
    return { status: 200, headers: pageHeaders(["'self'"]), body: signOutPage() }
  }
  const session = sessionOf(visit.header('cookie'))
  if (session !== undefined) await grants.endSession(session)
  const link = { href: '/', label: 'Sign in again' }
  const body = messagePage('Signed out', { text: 'Your session at this address is over.', link })
  return { status: 200, headers: { ...pageHeaders(), 'set-cookie': sessionCookie('', 0) }, body }
}

/** Whose token a host wants; of names below our domain nothing is told of whether a box has them. */
async function findPlace(
  { hosts, address }: Pick<SignInDeps, 'hosts' | 'address'>,
  host: string,
): Promise<{ project: string | null; isKnown: boolean }> {
  const target = await hosts.lookup(host)
  if (target !== null) return { project: target.box.project, isKnown: true }
  if (isOwnHost(host, address)) return { project: projectOfHost(host, address), isKnown: false }
  throw new ServiceError('box_not_found', 'No box has this address.')
}

/** What the form is about, from whoever led the browser here, or wrote that address himself. */
function formOf(fields: URLSearchParams, address: EdgeAddress): Omit<SignInForm, 'fault'> {
  const host = hostNameOf(fields.get('host'))
  const nonceDigest = fields.get('nonce') ?? ''
  // A name without a dot might be that of a project.
  if (host === null || !host.includes('.') || host === signInHost(address) || !/^[0-9a-f]{64}$/.test(nonceDigest))
    throw new ServiceError('invalid_request', 'This address is not complete: open that of the box again.')
  return { host, target: safeTarget(fields.get('target')), nonceDigest }
}

function formPage(status: number, form: SignInForm, address: EdgeAddress): HttpResponse {
  // Browsers hold the address that a form leads on to against this list as well.
  const formsTo = ["'self'", urlOf(form.host, address).slice(0, -1)]
  return { status, headers: pageHeaders(formsTo), body: signInPage(form) }
}

/** Whether another site's page, or another box's, is behind a request; browsers say so themselves. */
function isForeign({ header }: Visit): boolean {
  const site = header('sec-fetch-site') ?? 'same-origin'
  return site !== 'same-origin' && site !== 'none'
}

function isRead({ method }: HttpRequest): boolean {
  return method === 'GET' || method === 'HEAD'
}

function checkMethod({ method }: HttpRequest, allowed: readonly string[]): void {
  if (allowed.includes(method)) return
  const headers = { Allow: allowed.join(', ') }
  throw new ServiceError('method_not_allowed', `This takes ${headers.Allow}.`, { headers })
}

function notFound(): ServiceError {
  return new ServiceError('route_not_found', 'There is no such page.')
}

const SESSION_PATH = `${OWN_PATHS}session`
const SIGN_OUT_PATH = `${OWN_PATHS}sign-out`
const PROBLEM_TYPES = `${OWN_PATHS}problems` as const
const NONCE_BYTES = 32
/** So long a page that asks for a token may be left open. */
const NONCE_SECONDS = 3_600
/** A token takes up to 24 KiB. */
const FORM_BYTES = 64 * 1024
const NO_COOKIE =
  'The browser brought no cookie of this address: cookies must be allowed, and an address other than localhost needs HTTPS.'
