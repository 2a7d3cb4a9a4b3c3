import { sessionCookieName, splitToken } from '../../../shared/auth/session.ts'
import { ServiceError } from '../../../shared/errors.ts'
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
  /** Id of this service among others; read at each sign-in, since a cell that joins a fleet takes over that of the fleet. */
  service(): string
}

/** Handles sessions of the web console: each is a token of its own, minted with that of whoever signs in. */
export function createSignInHandlers(
  deps: SessionHandlerDeps,
): Pick<Handlers, 'signIn' | 'signOut' | 'createSignInLink'> {
  const { tokens, tickets, clock, service } = deps
  return {
    signIn: async ({ caller }) => {
      const { projects, permissions } = caller
      const left = caller.expiresAt === null ? Number.POSITIVE_INFINITY : caller.expiresAt - clock.now()
      const body = {
        name: CONSOLE,
        projects: projects === '*' ? projects : [...projects],
        permissions: [...permissions],
        expires_in_seconds: left > LIFE_SECONDS * 1000 ? LIFE_SECONDS : null,
      }
      const { record, token } = await tokens.create(caller, body)
      const { session, cookie } = splitToken(token, service())
      const expiresAt = record.expiresAt ?? clock.now()
      const seconds = Math.max(0, Math.floor((expiresAt - clock.now()) / 1000))
      const shown = {
        expires_at: timestamp(expiresAt),
        token: viewMe({ ...record, tokenId: record.id, tokenName: record.name }),
      }
      return {
        body: { session, ...shown },
        replayBody: shown,
        headers: { 'set-cookie': setCookie(cookie.name, cookie.value, seconds) },
      }
    },
    signOut: async ({ caller }) => {
      if (caller.tokenName !== CONSOLE) throw noSession()
      await tokens.revoke(caller, caller.tokenId)
      return { body: null, headers: { 'set-cookie': setCookie(sessionCookieName(service()), '', 0) } }
    },
    createSignInLink: async ({ caller }) => {
      const { id: operationId, path: target } = operations.signIn
      const { ticket, expiresAt } = tickets.issue({ operationId, target, boxId: null, caller, isLink: true })
      const published = { expires_at: timestamp(expiresAt) }
      return { body: { ticket, ...published }, replayBody: published }
    },
  }
}

/** The front adds `Secure` for pages that came by HTTPS. */
function setCookie(name: string, value: string, seconds: number): string {
  return `${name}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict`
}

function noSession(): ServiceError {
  const detail = 'This ends sessions of the console alone; `DELETE /v1/tokens/{token}` revokes another token.'
  return new ServiceError('permission_denied', detail)
}

/** Name of the tokens of sessions. */
const CONSOLE = 'console'
const LIFE_SECONDS = 7 * 24 * 3600
