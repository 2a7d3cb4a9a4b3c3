import { timestamp } from '../../../shared/time.ts'
import { invalidRequest } from '../../../shared/validate.ts'
import type { Tickets } from '../../core/access/tickets.ts'
import type { Boxes } from '../../core/boxes/boxes.ts'
import { type EdgeAddress, hostNameOf, urlOf } from '../../core/common/urls.ts'
import type { EdgeRoutes } from '../../core/edge/routes.ts'
import { visitOf } from '../../core/edge/sign-in.ts'
import type { Handlers } from '../common/call.ts'
import { safeTarget } from './request.ts'
import { SESSION_PATH } from './sign-in.ts'

export interface UrlTicketDeps {
  boxes: Pick<Boxes, 'get'>
  routes: Pick<EdgeRoutes, 'lookup'>
  address: EdgeAddress
  tickets: Pick<Tickets, 'issue'>
}

/** Handles tickets for the URLs of a box. The edge redeems them (sign-in.ts). */
export function createUrlTicketHandlers(deps: UrlTicketDeps): Pick<Handlers, 'createUrlTicket'> {
  const { boxes, routes, address, tickets } = deps
  return {
    createUrlTicket: async ({ params, body, caller }) => {
      const box = await boxes.get(params)
      const { host, target } = addressIn(body.url)
      const known = host === null ? null : await routes.lookup(host)
      if (host === null || known?.box.id !== box.id) throw invalidUrl(`is not a URL of ${box.project}/${box.name}`)
      const { ticket, expiresAt } = tickets.issue({ ...visitOf(host, target), boxId: box.id, caller, kind: 'visit' })
      const query = new URLSearchParams({ ticket, target })
      const published = { expires_at: timestamp(expiresAt) }
      const url = `${urlOf(host, address).slice(0, -1)}${SESSION_PATH}?${query.toString()}`
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
