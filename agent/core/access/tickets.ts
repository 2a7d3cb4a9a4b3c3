import { createHash, randomBytes } from 'node:crypto'
import { ServiceError } from '../../../shared/errors.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { Caller } from '../common/caller.ts'

/** What a ticket is good for: one request of this operation with exactly this target, in the name of `caller`. */
export interface TicketGrant {
  operationId: string
  /** Path and query, without the ticket. */
  target: string
  /** The box that had the name then: another of the same name is not meant; null: it is of none. */
  boxId: string | null
  caller: Caller
}

/** Whom a ticket stands for, no longer than it would have been good. */
export type Redeemed = Pick<TicketGrant, 'boxId' | 'caller'>

/** One-use tickets, in memory alone: after a restart of the agent none is good. */
export interface Tickets {
  /**
   * A ticket for 60 s, or as long as the caller's token is good. Throws `rate_limited` where 10,000 are open, or 1,000 of one
   * token.
   */
  issue(grant: TicketGrant): { ticket: string; expiresAt: number }
  /**
   * What a ticket was issued for; it stays good, unless it is shown for another request.
   * @throws ServiceError `token_invalid` for one that is unknown, used or for another request, `token_expired`
   */
  check(ticket: string, request: { operationId: string; target: string }): Redeemed
  /**
   * Uses a ticket up: of those who checked it, the first alone is let in. Returns what makes it good again, for as long as it
   * would have been, where its request was turned away.
   * @throws ServiceError `token_invalid` for one that is used
   */
  take(ticket: string): () => void
}

/** No ticket issued yet. */
export function createTickets({ clock }: { clock: Clock }): Tickets {
  const open = new Map<string, Open>()
  const openOf = new Map<string, number>()
  const add = (key: string, ticket: Open): void => {
    const { tokenId } = ticket.caller
    open.set(key, ticket)
    openOf.set(tokenId, (openOf.get(tokenId) ?? 0) + 1)
  }
  const drop = (key: string): void => {
    const tokenId = open.get(key)?.caller.tokenId
    if (tokenId === undefined) return
    open.delete(key)
    const left = (openOf.get(tokenId) ?? 1) - 1
    if (left > 0) openOf.set(tokenId, left)
    else openOf.delete(tokenId)
  }
  // In the order in which they came, which is about that in which they expire.
  const dropExpired = (now: number): void => {
    for (const [key, { endsAt }] of open) {
      if (endsAt > now) return
      drop(key)
    }
  }
  return {
    issue: (grant) => {
      const now = clock.now()
      dropExpired(now - KEPT_MS)
      const { tokenId, expiresAt: tokenEnd } = grant.caller
      const ofToken = openOf.get(tokenId) ?? 0
      if (open.size >= OPEN_MAX || ofToken >= OPEN_OF_TOKEN_MAX) throw tooMany()
      const ticket = randomBytes(TICKET_BYTES).toString('base64url')
      const expiresAt = Math.min(now + TICKET_LIFE_MS, tokenEnd ?? Number.POSITIVE_INFINITY)
      const { boxId, caller } = grant
      add(keyOf(ticket), { boxId, caller, request: requestOf(grant), endsAt: expiresAt })
      return { ticket, expiresAt }
    },
    check: (ticket, request) => {
      const key = keyOf(ticket)
      const grant = open.get(key)
      if (grant?.request !== requestOf(request)) {
        drop(key)
        throw notGood()
      }
      if (grant.endsAt <= clock.now()) throw new ServiceError('token_expired', 'The ticket has expired.')
      const { boxId, caller, endsAt } = grant
      return { boxId, caller: { ...caller, expiresAt: endsAt } }
    },
    take: (ticket) => {
      const key = keyOf(ticket)
      const taken = open.get(key)
      if (taken === undefined) throw notGood()
      drop(key)
      return () => add(key, taken)
    },
  }
}

type Open = Redeemed & { request: string; endsAt: number }

// A target may be long, and is not needed but to be compared.
function requestOf({ operationId, target }: Pick<TicketGrant, 'operationId' | 'target'>): string {
  return createHash('sha256').update(`${operationId}\n${target}`).digest('base64url')
}

// What is in memory opens nothing: a lookup by the ticket itself would tell by its time how much of it is right.
function keyOf(ticket: string): string {
  return createHash('sha256').update(ticket).digest('base64url')
}

function notGood(): ServiceError {
  return new ServiceError('token_invalid', 'The ticket is not one of this request, or was used before.')
}

function tooMany(): ServiceError {
  return new ServiceError('rate_limited', 'Too many tickets are open.', { headers: { 'Retry-After': '5' } })
}

/** How long a ticket is good. */
export const TICKET_LIFE_MS = 60_000
// For so long it is told that a ticket has expired, and not that there was none.
const KEPT_MS = 60_000
const OPEN_MAX = 10_000
const OPEN_OF_TOKEN_MAX = 1_000
const TICKET_BYTES = 32
