import { createHash, randomBytes } from 'node:crypto'
import { markLink } from '../../../shared/auth/ticket-target.ts'
import { ServiceError } from '../../../shared/errors.ts'
import { createFairShares } from '../../../shared/fair-shares.ts'
import { newId } from '../../../shared/ids.ts'
import { refusal } from '../../../shared/refusals.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { Caller } from '../common/caller.ts'

/** The single request that a ticket allows: this operation with exactly this target, on behalf of `caller`. */
export interface TicketGrant {
  operationId: string
  /** Path and query, without the ticket. */
  target: string
  /** The box that had the name at issue, so that a later box of the same name is not reached. Null for a request without a box. */
  boxId: string | null
  caller: Caller
  kind?: TicketKind
}

/**
 * The use of a ticket. A `request`, the default, ends with the ticket. A `link` begins a session of the console, and lasts ten minutes. A
 * `visit` begins a session at a URL of a box. Sessions may last until the caller's own expiry.
 */
export type TicketKind = 'request' | 'link' | 'visit'

/** The grant of a valid ticket. */
export interface Redeemed extends Pick<TicketGrant, 'boxId' | 'caller'> {
  /** Id of the command that the request starts, known at issue. Null if it starts none. */
  execId: string | null
}

/** One-time tickets. They are in memory only, so a restart of the agent invalidates them. */
export interface Tickets {
  /**
   * Issues a ticket for 60 s, or for ten minutes for a link. It ends when the caller's token expires.
   * @throws ServiceError `rate_limited` if an account of the caller would have more of the 10,000 tickets than it leaves free
   */
  issue(grant: TicketGrant): { ticket: string; expiresAt: number; execId: string | null }
  /**
   * Returns the grant of a ticket without using it up. A ticket that is presented for another request is invalidated.
   * @throws ServiceError `token_invalid` if it is unknown, used or for another request, `token_expired`
   */
  check(ticket: string, request: { operationId: string; target: string }): Redeemed
  /**
   * Uses a ticket up, so that only one of several concurrent requests succeeds. The returned function restores it with its old expiry,
   * for a request that was rejected.
   * @throws ServiceError `token_invalid` if it is used
   */
  take(ticket: string): () => void
}

/** Creates an empty set of tickets. Tickets of links contain the `cell` of a fleet. */
export function createTickets({ clock, cell = null }: { clock: Clock; cell?: string | null }): Tickets {
  const tickets = new Map<string, Open>()
  const links = new Map<string, Open>()
  const setOf = ({ kind }: Pick<Open, 'kind'>): Map<string, Open> => (kind === 'link' ? links : tickets)
  const find = (key: string): Open | undefined => tickets.get(key) ?? links.get(key)
  const shares = createFairShares(TICKETS_AT_ONCE)
  const drop = (key: string): void => {
    find(key)?.leave()
    tickets.delete(key)
    links.delete(key)
  }
  // Iterates in order of issue, which is nearly the order of expiry in each set.
  const dropExpired = (set: Map<string, Open>, now: number): void => {
    for (const [key, { endsAt }] of set) {
      if (endsAt > now) return
      drop(key)
    }
  }
  return {
    issue: (grant) => {
      const now = clock.now()
      for (const set of [tickets, links]) dropExpired(set, now - KEPT_MS)
      const { boxId, caller, kind = 'request' } = grant
      const isLink = kind === 'link'
      const leave = shares.take(caller.accounts)
      if (leave === null) throw tooMany()
      const secret = randomBytes(TICKET_BYTES).toString('base64url')
      const ticket = isLink && cell !== null ? markLink(secret, cell) : secret
      const expiresAt = Math.min(
        now + (isLink ? LINK_LIFE_MS : TICKET_LIFE_MS),
        caller.expiresAt ?? Number.POSITIVE_INFINITY,
      )
      // Browsers cannot read it from the answer to a WebSocket.
      const execId = grant.operationId === 'streamExec' ? newId('exe', now) : null
      const opened = { boxId, caller, execId, kind, request: requestOf(grant), endsAt: expiresAt, leave }
      setOf(opened).set(keyOf(ticket), opened)
      return { ticket, expiresAt, execId }
    },
    check: (ticket, request) => {
      const key = keyOf(ticket)
      const grant = find(key)
      if (grant?.request !== requestOf(request)) {
        drop(key)
        throw invalidTicket()
      }
      if (grant.endsAt <= clock.now()) throw new ServiceError('token_expired', 'The ticket has expired.')
      const { boxId, caller, execId, kind, endsAt } = grant
      return { boxId, execId, caller: kind === 'request' ? { ...caller, expiresAt: endsAt } : caller }
    },
    take: (ticket) => {
      const key = keyOf(ticket)
      const taken = find(key)
      if (taken === undefined) throw invalidTicket()
      drop(key)
      // It counts again even if others have taken its place.
      return () => void setOf(taken).set(key, { ...taken, leave: shares.add(taken.caller.accounts) })
    },
  }
}

type Open = Redeemed & { kind: TicketKind; request: string; endsAt: number; leave(): void }

// Keeps a digest, as targets may be long and are only compared.
function requestOf({ operationId, target }: Pick<TicketGrant, 'operationId' | 'target'>): string {
  return createHash('sha256').update(`${operationId}\n${target}`).digest('base64url')
}

// Looks up by digest, because comparing the ticket itself would leak matching prefixes by timing.
function keyOf(ticket: string): string {
  return createHash('sha256').update(ticket).digest('base64url')
}

function invalidTicket(): ServiceError {
  return new ServiceError(
    'token_invalid',
    'The ticket does not match this request at this address, or was already used.',
  )
}

function tooMany(): ServiceError {
  return refusal(
    'rate_limited',
    [
      `\`tickets\`: of the ${TICKETS_AT_ONCE} that may be open, no more are left for this project or token.`,
      'Use those that are open, or try again when they have expired, after a minute.',
    ],
    { headers: { 'Retry-After': '5' } },
  )
}

/** Most tickets that are open, or have expired less than a minute ago. */
export const TICKETS_AT_ONCE = 10_000
/** Lifetime of a ticket. */
export const TICKET_LIFE_MS = 60_000
/** Lifetime of a sign-in link. */
export const LINK_LIFE_MS = 600_000
// How long an expired ticket is answered with `token_expired`, not `token_invalid`.
const KEPT_MS = 60_000
const TICKET_BYTES = 32
