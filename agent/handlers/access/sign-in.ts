import { sessionCookieName, splitToken } from '../../../shared/auth/session.ts'
import { operations } from '../../../shared/routes.ts'
import { timestamp } from '../../../shared/time.ts'
import type { Tickets } from '../../core/access/tickets.ts'
import type { Tokens } from '../../core/access/tokens.ts'
import type { Handlers } from '../common/call.ts'
import { viewMe } from './view.ts'

export interface SessionHandlerDeps {
  tokens: Tokens
  tickets: Tickets
  clock: { now(): number }
  /** Id of this service among others. Read at each sign-in, since a cell that joins a fleet takes over the fleet's id. */
  service(): string
}

/** Handles sessions of the web console. Each is a separate token, created with the token that signs in. */
export function createSignInHandlers(
  deps: SessionHandlerDeps,
): Pick<Handlers, 'signIn' | 'signOut' | 'createSignInLink' | 'getSignInLink'> {
  const { tokens, tickets, clock, service } = deps
  return {
    signIn: async ({ caller }) => {
      const { record, token } = await tokens.beginSession(caller, LIFE_MS)
      const { session, cookie } = splitToken(token, service())
      const expiresAt = record.expiresAt ?? clock.now()
      const seconds = Math.max(0, Math.floor((expiresAt - clock.now()) / 1000))
      const shown = {
        expires_at: timestamp(expiresAt),
        token: viewMe(
          { ...record, tokenId: record.id, tokenName: record.name },
          await tokens.stoodFor({ tokenId: record.id }),
        ),
      }
      return {
        body: { session, ...shown },
        replayBody: shown,
        headers: { 'set-cookie': setCookie(cookie.name, cookie.value, seconds) },
      }
    },
    signOut: async ({ caller }) => {
      await tokens.signOut(caller)
      return { body: null, headers: { 'set-cookie': setCookie(sessionCookieName(service()), '', 0) } }
    },
    createSignInLink: async ({ caller }) => {
      const { id: operationId, path: target } = operations.signIn
      const { ticket, expiresAt } = tickets.issue({ operationId, target, boxId: null, caller, kind: 'link' })
      const published = { expires_at: timestamp(expiresAt) }
      return { body: { ticket, ...published }, replayBody: published }
    },
    getSignInLink: async ({ caller }) => {
      const expiresAt = Math.min(clock.now() + LIFE_MS, caller.expiresAt ?? Number.POSITIVE_INFINITY)
      const token = viewMe(caller, await tokens.stoodFor(caller))
      return { body: { expires_at: timestamp(expiresAt), token } }
    },
  }
}

/** The front adds `Secure` for pages that came by HTTPS. */
function setCookie(name: string, value: string, seconds: number): string {
  return `${name}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict`
}

const LIFE_MS = 7 * 24 * 3_600_000
