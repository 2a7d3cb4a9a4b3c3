import { createHash, randomBytes } from 'node:crypto'
import { ServiceError } from '../../../shared/errors.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { Caller } from '../common/caller.ts'

/** The single request that a ticket allows: this operation with exactly this target, on behalf of `caller`. */
export interface TicketGrant {
  operationId: string
  /** Path and query, without the ticket. */
  target: string
  /** The box that had the name at issue, so that a later box of the same name is not reached; null: not a request of a box. */
  boxId: string | null
  caller: Caller
}

/** The grant of a valid ticket. */
export type Redeemed = Pick<TicketGrant, 'boxId' | 'caller'>

/** One-time tickets, in memory only: a restart of the agent invalidates them. */
export interface Tickets {
  /**
   * Issues a ticket for 60 s, at most until the caller's token expires. Throws `rate_limited` while 10,000 are open, or 1,000 of
   * one token.
   */
  issue(grant: TicketGrant): { ticket: string; expiresAt: number }
  /**
   * Returns the grant of a ticket without using it up. A ticket that is presented for another request is invalidated.
   * @throws ServiceError `token_invalid` for one that is unknown, used or for another request, `token_expired`
   */
  check(ticket: string, request: { operationId: string; target: string }): Redeemed
  /**
   * Uses a ticket up, so that of concurrent requests only one gets in. The returned function restores it, with its old expiry, for
   * a request that was turned away.
   * @throws ServiceError `token_invalid` for one that is used
   */
  take(ticket: string): () => void
}

/** Creates an empty set of tickets. */
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
  // Iterates in order of issue, which is nearly the order of expiry.
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
        throw invalidTicket()
      }
      if (grant.endsAt <= clock.now()) throw new ServiceError('token_expired', 'The ticket has expired.')
      const { boxId, caller, endsAt } = grant
      return { boxId, caller: { ...caller, expiresAt: endsAt } }
    },
    take: (ticket) => {
      const key = keyOf(ticket)
      const taken = open.get(key)
      if (taken === undefined) throw invalidTicket()
      drop(key)
      return () => add(key, taken)
    },
  }
}

type Open = Redeemed & { request: string; endsAt: number }

// Keeps a digest, as targets may be long and are only compared.
function requestOf({ operationId, target }: Pick<TicketGrant, 'operationId' | 'target'>): string {
  return createHash('sha256').update(`${operationId}\n${target}`).digest('base64url')
}

// Looks up by digest: comparing the ticket itself would leak matching prefixes by timing.
function keyOf(ticket: string): string {
  return createHash('sha256').update(ticket).digest('base64url')
}

function invalidTicket(): ServiceError {
  return new ServiceError('token_invalid', 'The ticket is not one of this request, or was used before.')
}

function tooMany(): ServiceError {
  return new ServiceError('rate_limited', 'Too many tickets are open.', { headers: { 'Retry-After': '5' } })
}

/** Lifetime of a ticket. */
export const TICKET_LIFE_MS = 60_000
// How long an expired ticket is answered with `token_expired`, not `token_invalid`.
const KEPT_MS = 60_000
const OPEN_MAX = 10_000
const OPEN_OF_TOKEN_MAX = 1_000
const TICKET_BYTES = 32
