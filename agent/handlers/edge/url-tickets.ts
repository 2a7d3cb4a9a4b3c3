import type { HttpResponse } from '../../../shared/http/messages.ts'
import { pageHeaders } from '../../../shared/http/page.ts'
import type { Logger } from '../../../shared/log.ts'
import { permissionDenied } from '../../../shared/refusals.ts'
import { timestamp } from '../../../shared/time.ts'
import { invalidRequest } from '../../../shared/validate.ts'
import { TICKET_LIFE_MS, type Tickets } from '../../core/access/tickets.ts'
import type { Boxes } from '../../core/boxes/boxes.ts'
import { type EdgeAddress, edgeOriginOf, hostNameOf, signInHost, urlOf } from '../../core/common/urls.ts'
import type { EdgeRoutes } from '../../core/edge/routes.ts'
import { type SignIn, type SignInRequest, visitOf } from '../../core/edge/sign-in.ts'
import type { Handlers } from '../common/call.ts'
import { messagePage, redirectTo } from './answers.ts'
import { checkMethod, type PageRequest } from './page-request.ts'
import { safeTarget, ticketCookie, ticketOf } from './request.ts'

export interface UrlTicketDeps {
  boxes: Pick<Boxes, 'get'>
  routes: Pick<EdgeRoutes, 'lookup'>
  address: EdgeAddress
  tickets: Pick<Tickets, 'issue'>
}

/** Handles tickets for the URLs of a box. `takeTicket` and `codeByTicket` redeem them at the edge. */
export function createUrlTicketHandlers(deps: UrlTicketDeps): Pick<Handlers, 'createUrlTicket'> {
  const { boxes, routes, address, tickets } = deps
  return {
    createUrlTicket: async ({ params, body, caller }) => {
      const box = await boxes.get(params)
      const { host, target } = addressIn(body.url)
      const known = host === null ? null : await routes.lookup(host)
      if (host === null || known?.box.id !== box.id) throw invalidUrl(`is not a URL of ${box.project}/${box.name}`)
      const { ticket, expiresAt } = tickets.issue({ ...visitOf(host, target), boxId: box.id, caller, kind: 'visit' })
      const query = new URLSearchParams({ host, ticket, target })
      const published = { expires_at: timestamp(expiresAt) }
      const url = `${urlOf(signInHost(address), address)}?${query.toString()}`
      return { body: { url, ...published }, replayBody: published }
    },
  }
}

/** Splits a URL into its host name, and the path with query and fragment that a browser opens there. */
function addressIn(given: string): { host: string | null; target: string } {
  const url = URL.canParse(given) ? new URL(given) : null
  if (url === null || !/^https?:$/.test(url.protocol)) throw invalidUrl('must be an http or https URL')
  const target = `${url.pathname}${url.search}${url.hash}`
  if (safeTarget(target) !== target)
    throw invalidUrl('must have a path that a box serves, of at most 2,048 characters with query and fragment')
  return { host: hostNameOf(url.host), target }
}

function invalidUrl(detail: string): Error {
  return invalidRequest([{ pointer: '/url', detail }])
}

/** Parts of the sign-in that redeem tickets. */
export interface TicketPagesDeps {
  signIn: Pick<SignIn, 'mayVisit' | 'visit'>
  address: EdgeAddress
  logger: Logger
}

/**
 * Keeps a ticket for a URL in a cookie of this host, and leads to that URL. If the browser has no session there, the edge leads it back to the
 * form, where `codeByTicket` redeems the ticket. So no page of the box, nor its service worker, sees the ticket.
 */
export function takeTicket(
  { address, signIn }: TicketPagesDeps,
  { request, clientAddress, header }: PageRequest,
  query: URLSearchParams,
): HttpResponse {
  checkMethod(request, ['GET'])
  const mode = header('sec-fetch-mode') ?? 'navigate'
  if (mode !== 'navigate' || (header('sec-fetch-dest') ?? 'document') !== 'document')
    throw permissionDenied('Another page loaded the link.', 'Open it in a tab.')
  const [host, target] = [hostNameOf(query.get('host')) ?? '', safeTarget(query.get('target'))]
  const ticket = query.get('ticket') ?? ''
  if (!signIn.mayVisit(ticket, { host, target, clientAddress })) {
    const text = 'This link was already used, or has expired. Open the address of the box again.'
    return { status: 401, headers: pageHeaders(), body: messagePage('Not signed in', { text }) }
  }
  const cookie = ticketCookie({ ticket, host, target }, TICKET_SECONDS)
  return redirectTo(`${edgeOriginOf(host, address)}${target}`, { 'set-cookie': cookie })
}

/** Redeems the ticket in the cookie of this host for a code, if it is for the requested page. Null: the form asks for a token. */
export async function codeByTicket(
  { signIn, logger }: TicketPagesDeps,
  { request, requestId, clientAddress, header }: PageRequest,
  { host, target, nonceDigest }: Pick<SignInRequest, 'host' | 'target' | 'nonceDigest'>,
): Promise<string | null> {
  const kept = ticketOf(header('cookie'))
  // The fragment of the page does not come in requests.
  if (request.method !== 'GET' || kept?.host !== host || kept.target.replace(/#.*/, '') !== target) return null
  const line = { audit: true, operation: 'edge.visit', host, client_address: clientAddress, request_id: requestId }
  const found = await signIn.visit(kept.ticket, { host, nonceDigest, target: kept.target, clientAddress })
  if (found === null) {
    logger.info('audit', { ...line, actor: null, status: 401, code: 'token_invalid' })
    return null
  }
  const { code, tokenId, name } = found
  logger.info('audit', { ...line, actor: tokenId, actor_name: name, status: 303 })
  return code
}

/** As long as a ticket lasts. */
const TICKET_SECONDS = TICKET_LIFE_MS / 1_000
