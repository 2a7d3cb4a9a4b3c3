import { randomBytes } from 'node:crypto'
import { asServiceError, problemTypeNotFound, ServiceError } from '../../../shared/errors.ts'
import { givenRequestId, type HttpHandler, type HttpResponse, parseQuery } from '../../../shared/http/messages.ts'
import { pageHeaders } from '../../../shared/http/page.ts'
import { newId } from '../../../shared/ids.ts'
import type { Logger } from '../../../shared/log.ts'
import { answerProblemTypes } from '../../../shared/problem-types.ts'
import { permissionDenied } from '../../../shared/refusals.ts'
import { digestOf } from '../../core/common/digest.ts'
import { type EdgeAddress, edgeOriginOf, hostNameOf, signInHost, urlOf } from '../../core/common/urls.ts'
import { isAccessFault } from '../../core/edge/access.ts'
import type { EdgeGrants } from '../../core/edge/grants.ts'
import type { SignIn } from '../../core/edge/sign-in.ts'
import type { EdgeRequest } from '../../ports/edge/edge.ts'
import type { Clock } from '../../ports/host/clock.ts'
import {
  type EdgeAnswer,
  edgeAnswerOf,
  messagePage,
  onwardPage,
  redirectTo,
  type SignInForm,
  signInPage,
  signOutPage,
  withoutSession,
} from './answers.ts'
import { checkMethod, isForeign, isRead, type PageRequest, pageRequestOf } from './page-request.ts'
import { nonceCookie, nonceOf, OWN_PATHS, safeTarget, sessionCookie, sessionOf, ticketCookie } from './request.ts'
import { codeByTicket, takeTicket } from './url-tickets.ts'

export interface SignInPagesDeps {
  signIn: SignIn
  grants: Pick<EdgeGrants, 'endSession'>
  address: EdgeAddress
  clock: Clock
  logger: Logger
}

/** Leads browsers to sessions at the hosts of boxes. Users enter the token only at the sign-in host, which no box controls. */
export interface SignInPages {
  /** Redirects a browser to the sign-in, which a nonce cookie binds to that browser. */
  redirect(request: Pick<EdgeRequest, 'host' | 'target' | 'headers'>): EdgeAnswer
  /**
   * Serves the sign-in host, and `/.boxyard/` of all hosts. `Host` is as the client sent it, `clientAddress` the client's own.
   */
  handle: HttpHandler
}

/** Creates the pages of the sign-in. */
export function createSignInPages(deps: SignInPagesDeps): SignInPages {
  return {
    redirect: ({ host, target, headers }) => {
      const known = nonceOf(headers.cookie)
      const nonce = known ?? randomBytes(NONCE_BYTES).toString('base64url')
      const query = new URLSearchParams({ host, target: safeTarget(target), nonce: digestOf(nonce) })
      const cookie = known === undefined ? { 'set-cookie': nonceCookie(nonce, NONCE_SECONDS) } : {}
      return redirectTo(`${urlOf(signInHost(deps.address), deps.address)}?${query.toString()}`, cookie)
    },
    handle: async (request) => {
      const requestId = givenRequestId(request.headers) ?? newId('req', deps.clock.now())
      const page = pageRequestOf(request, requestId)
      try {
        return await answer(deps, page)
      } catch (error) {
        const known = asServiceError(error)
        if (known.status >= 500) deps.logger.error('page of the edge failed', { request_id: requestId, error })
        return edgeAnswerOf(known, { method: request.method, accept: page.header('accept'), requestId })
      }
    },
  }
}

async function answer(deps: SignInPagesDeps, page: PageRequest): Promise<HttpResponse> {
  const { host, pathname, request } = page
  if (pathname === PROBLEM_TYPES || pathname.startsWith(`${PROBLEM_TYPES}/`)) {
    checkMethod(request, ['GET', 'HEAD'])
    const code = pathname === PROBLEM_TYPES ? null : pathname.slice(PROBLEM_TYPES.length + 1)
    const types = answerProblemTypes({ code, accept: page.header('accept'), types: PROBLEM_TYPES })
    if (types === null) throw problemTypeNotFound(PROBLEM_TYPES)
    return types
  }
  if (host === signInHost(deps.address)) {
    if (pathname !== '/') throw notFound()
    if (isRead(request)) return showForm(deps, page)
    checkMethod(request, ['GET', 'HEAD', 'POST'])
    return takeForm(deps, page)
  }
  if (host !== null && pathname === SESSION_PATH) {
    checkMethod(request, ['GET'])
    return beginSession(deps, page, host)
  }
  if (host !== null && pathname === SIGN_OUT_PATH) {
    checkMethod(request, ['GET', 'POST'])
    return endSession(deps, page)
  }
  throw notFound()
}

async function showForm(deps: SignInPagesDeps, page: PageRequest): Promise<HttpResponse> {
  const { address, signIn } = deps
  const query = parseQuery(page.search)
  if (!query.has('host')) {
    const text = 'Open the address of a box: it leads here if a sign-in is needed.'
    return { status: 200, headers: pageHeaders(), body: messagePage('Sign in', { text }) }
  }
  if (query.has('ticket')) return takeTicket(deps, page, query)
  const form = formOf(query, address)
  const code = await codeByTicket(deps, page, form)
  if (code !== null)
    return { ...redirectTo(sessionUrl(form.host, code, address), { 'set-cookie': ticketCookie(null, 0) }), status: 303 }
  await signIn.checkHost(form.host)
  return formPage(200, { ...form, fault: null }, address)
}

function sessionUrl(host: string, code: string, address: EdgeAddress): string {
  return `${edgeOriginOf(host, address)}${SESSION_PATH}?code=${code}`
}

async function takeForm({ address, signIn, logger }: SignInPagesDeps, page: PageRequest): Promise<HttpResponse> {
  if (isForeign(page)) throw foreignForm()
  if (!/^application\/x-www-form-urlencoded *(;|$)/i.test(page.header('content-type') ?? ''))
    throw new ServiceError('unsupported_media_type', 'The body must be application/x-www-form-urlencoded.')
  const fields = new URLSearchParams(Buffer.from(await page.request.readBody(FORM_BYTES)).toString('utf8'))
  const form = formOf(fields, address)
  const { clientAddress, requestId } = page
  const line = {
    audit: true,
    operation: 'edge.sign_in',
    host: form.host,
    client_address: clientAddress,
    request_id: requestId,
  }
  try {
    const token = fields.get('token')?.trim() ?? ''
    const { code, tokenId, name } = await signIn.begin(token, { ...form, clientAddress })
    logger.info('audit', { ...line, actor: tokenId, actor_name: name, status: 303 })
    return { ...redirectTo(sessionUrl(form.host, code, address)), status: 303 }
  } catch (error) {
    const fault = asServiceError(error)
    if (!isAccessFault(fault)) throw error
    const { status, code, message } = fault
    logger.info('audit', { ...line, actor: null, status, code })
    return formPage(status, { ...form, fault: message }, address)
  }
}

async function beginSession(
  { signIn, clock }: SignInPagesDeps,
  page: PageRequest,
  host: string,
): Promise<HttpResponse> {
  const { search, clientAddress } = page
  const nonce = nonceOf(page.header('cookie'))
  const nonceDigest = nonce === undefined ? null : digestOf(nonce)
  const session = await signIn.redeem(parseQuery(search).get('code') ?? '', { host, nonceDigest, clientAddress })
  if (session === null) {
    const text = nonce === undefined ? NO_COOKIE : 'This sign-in has expired, or started in another browser.'
    const body = messagePage('Not signed in', { text, link: { href: '/', label: 'Try again' } })
    return { status: 401, headers: pageHeaders(), body }
  }
  const { value, expiresAt, target } = session
  const seconds = (expiresAt - clock.now()) / 1000
  const cookies = [sessionCookie(value, seconds), nonceCookie('', 0)]
  // A page, not a redirect: within a redirect chain of the form, browsers would apply the form's CSP to the box's redirects and
  // withhold the box's SameSite=Strict cookies.
  const headers = { ...pageHeaders(), 'set-cookie': cookies }
  return { status: 200, headers, body: onwardPage(target) }
}

function foreignForm(): ServiceError {
  return permissionDenied('Another page sent the form.', 'Open the page at this address, and submit its form.')
}

async function endSession({ grants }: SignInPagesDeps, page: PageRequest): Promise<HttpResponse> {
  const { request } = page
  if (isForeign(page)) {
    if (!isRead(request)) throw foreignForm()
    return { status: 200, headers: pageHeaders(["'self'"]), body: signOutPage() }
  }
  const session = sessionOf(page.header('cookie'))
  if (session !== undefined) await grants.endSession(session)
  const link = { href: '/', label: 'Sign in again' }
  const body = messagePage('Signed out', { text: 'Your session at this address has ended.', link })
  return withoutSession({ status: 200, headers: pageHeaders(), body })
}

/** Validates the form's fields, which anyone may have written into the address. */
function formOf(fields: URLSearchParams, address: EdgeAddress): Omit<SignInForm, 'fault'> {
  const host = hostNameOf(fields.get('host'))
  const nonceDigest = fields.get('nonce') ?? ''
  // A name without a dot could be a project's name, and so a grant's other scope.
  if (host === null || !host.includes('.') || host === signInHost(address) || !/^[0-9a-f]{64}$/.test(nonceDigest))
    throw new ServiceError('invalid_request', 'This address is incomplete. Open the address of the box again.')
  return { host, target: safeTarget(fields.get('target')), nonceDigest }
}

function formPage(status: number, form: SignInForm, address: EdgeAddress): HttpResponse {
  // Browsers check the redirect that answers a form against this list as well.
  const formsTo = ["'self'", edgeOriginOf(form.host, address)]
  return { status, headers: pageHeaders(formsTo), body: signInPage(form) }
}

function notFound(): ServiceError {
  return new ServiceError('route_not_found', 'There is no such page.')
}

const SESSION_PATH = `${OWN_PATHS}session`
const SIGN_OUT_PATH = `${OWN_PATHS}sign-out`
const PROBLEM_TYPES = `${OWN_PATHS}problems` as const
const NONCE_BYTES = 32
/** How long the form may be left open. */
const NONCE_SECONDS = 3_600
/** Enough for a token of 24 KiB. */
const FORM_BYTES = 64 * 1024
const NO_COOKIE =
  'The browser sent no cookie for this address. Allow cookies, and use HTTPS for an address other than localhost.'
