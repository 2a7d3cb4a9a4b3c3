import { createHash, randomBytes } from 'node:crypto'
import { ServiceError } from '../../../shared/errors.ts'
import { createFairShares } from '../../../shared/fair-shares.ts'
import { newId } from '../../../shared/ids.ts'
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
export interface Redeemed extends Pick<TicketGrant, 'boxId' | 'caller'> {
  /** Id for the command that the request starts, told at issue; null: it starts none. */
  execId: string | null
}

/** One-time tickets, in memory only: a restart of the agent invalidates them. */
export interface Tickets {
  /**
   * Issues a ticket for 60 s, at most until the caller's token expires. Throws `rate_limited` if an account of the caller would
   * have more than it leaves free of 10,000.
   */
  issue(grant: TicketGrant): { ticket: string; expiresAt: number; execId: string | null }
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
  const shares = createFairShares(TICKETS_AT_ONCE)
  const drop = (key: string): void => {
    open.get(key)?.leave()
    open.delete(key)
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
      const { boxId, caller } = grant
      const leave = shares.take(caller.accounts)
      if (leave === null) throw tooMany()
      const ticket = randomBytes(TICKET_BYTES).toString('base64url')
      const expiresAt = Math.min(now + TICKET_LIFE_MS, caller.expiresAt ?? Number.POSITIVE_INFINITY)
      // Browsers cannot read it from the answer to a WebSocket.
      const execId = grant.operationId === 'streamExec' ? newId('exe', now) : null
      open.set(keyOf(ticket), { boxId, caller, execId, request: requestOf(grant), endsAt: expiresAt, leave })
      return { ticket, expiresAt, execId }
    },
    check: (ticket, request) => {
      const key = keyOf(ticket)
      const grant = open.get(key)
      if (grant?.request !== requestOf(request)) {
        drop(key)
        throw invalidTicket()
      }
      if (grant.endsAt <= clock.now()) throw new ServiceError('token_expired', 'The ticket has expired.')
      const { boxId, caller, execId, endsAt } = grant
      return { boxId, execId, caller: { ...caller, expiresAt: endsAt } }
    },
    take: (ticket) => {
      const key = keyOf(ticket)
      const taken = open.get(key)
      if (taken === undefined) throw invalidTicket()
      drop(key)
      // It counts again even if others have taken its place meanwhile.
      return () => void open.set(key, { ...taken, leave: shares.add(taken.caller.accounts) })
    },
  }
}

type Open = Redeemed & { request: string; endsAt: number; leave(): void }

// Keeps a digest, as targets may be long and are only compared.
function requestOf({ operationId, target }: Pick<TicketGrant, 'operationId' | 'target'>): string {
  return createHash('sha256').update(`${operationId}\n${target}`).digest('base64url')
}

// Looks up by digest: comparing the ticket itself would leak matching prefixes by timing.
function keyOf(ticket: string): string {
  return createHash('sha256').update(ticket).digest('base64url')
}

function invalidTicket(): ServiceError {
  return new ServiceError('token_invalid', 'The ticket is not one of this request at this address, or was used before.')
}

function tooMany(): ServiceError {
  return new ServiceError(
    'rate_limited',
    'Of the tickets that may be open, no more are left for this project or token.',
    { headers: { 'Retry-After': '5' } },
  )
}

/** Most tickets that are open, or have expired less than a minute ago. */
export const TICKETS_AT_ONCE = 10_000
/** Lifetime of a ticket. */
export const TICKET_LIFE_MS = 60_000
// How long an expired ticket is answered with `token_expired`, not `token_invalid`.
const KEPT_MS = 60_000
const TICKET_BYTES = 32
