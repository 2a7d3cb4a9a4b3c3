import { addTicket } from '../../../shared/auth/ticket-target.ts'
import { authorize } from '../../../shared/auth/tokens.ts'
import type { Operation } from '../../../shared/operation.ts'
import { operations } from '../../../shared/routes.ts'
import type { BoxTicketBody, TicketBody } from '../../../shared/schemas/access.ts'
import { timestamp } from '../../../shared/time.ts'
import { invalidRequest, validateRequest } from '../../../shared/validate.ts'
import type { Tickets } from '../../core/access/tickets.ts'
import type { Boxes } from '../../core/boxes/boxes.ts'
import type { Caller } from '../../core/common/caller.ts'
import type { Handlers, Reply } from '../common/call.ts'

export interface TicketHandlerDeps {
  boxes: Boxes
  tickets: Tickets
  /** Origin at which tickets are redeemed. */
  dataUrl: string
}

/** Handles tickets. The request that a ticket is for is validated and authorized at issue. */
export function createTicketHandlers(deps: TicketHandlerDeps): Pick<Handlers, 'createTicket' | 'createProjectTicket'> {
  const { boxes, tickets, dataUrl } = deps
  const reply = (request: TicketRequest, boxId: string | null): Reply => {
    const { operation, params, body, caller } = request
    const query = queryOf(body)
    validateRequest(operation, { params, query, body: undefined, isBytes: true })
    const target = targetOf(operation, params, query)
    if (target.length > TARGET_MAX) throw invalidRequest([{ pointer: '/query', detail: TOO_LONG }])
    const { ticket, expiresAt, execId } = tickets.issue({ operationId: operation.id, target, boxId, caller })
    const origin = operation.transport === 'websocket' ? dataUrl.replace(/^http/, 'ws') : dataUrl
    const published = { method: operation.method, expires_at: timestamp(expiresAt) }
    const secret = { url: origin + addTicket(target, ticket), ...(execId === null ? {} : { exec_id: execId }) }
    return { body: { ...secret, ...published }, replayBody: published }
  }
  return {
    createTicket: async ({ params, body, caller }) => {
      const operation: Operation = operations[body.operation]
      authorize(operation, params, caller)
      const box = await boxes.get(params)
      return reply({ operation, params: pathOf(params, body), body, caller }, box.id)
    },
    createProjectTicket: async ({ params, body, caller }) => {
      const operation: Operation = operations[body.operation]
      authorize(operation, params, caller)
      return reply({ operation, params, body, caller }, null)
    },
  }
}

interface TicketRequest {
  operation: Operation
  params: Record<string, string>
  body: TicketBody
  caller: Caller
}

/** Returns the path of the request, with the service or port that it is of. */
function pathOf(params: Record<string, string>, { operation, service, port }: BoxTicketBody): Record<string, string> {
  const parts = [
    { field: 'service', value: service, isNeeded: operation === 'getServiceLogs', whose: 'logs of services' },
    { field: 'port', value: port, isNeeded: operation === 'openPort', whose: 'ports' },
  ]
  for (const { field, value, isNeeded, whose } of parts) {
    if (isNeeded === (value !== undefined)) continue
    throw invalidRequest([{ pointer: `/${field}`, detail: isNeeded ? 'is required' : `is only for ${whose}` }])
  }
  const given = parts.flatMap(({ field, value }) => (value === undefined ? [] : [[field, String(value)] as const]))
  return { ...params, ...Object.fromEntries(given) }
}

function queryOf({ query = {} }: TicketBody): URLSearchParams {
  const pairs = Object.entries(query).flatMap(([name, values]) =>
    (typeof values === 'string' ? [values] : values).map((value): [string, string] => [name, value]),
  )
  return new URLSearchParams(pairs)
}

function targetOf({ path }: Operation, params: Record<string, string>, query: URLSearchParams): string {
  const pathname = path.replace(/\{(\w+)\}/g, (_whole, name: string) => encodeURIComponent(params[name] ?? ''))
  // Encoded as clients do.
  return query.size === 0 ? pathname : `${pathname}?${query.toString().replaceAll('%7E', '~')}`
}

// The target with its ticket must fit into the head of a request.
const TARGET_MAX = 16_384
const TOO_LONG = `makes a URL of more than ${TARGET_MAX} characters`
