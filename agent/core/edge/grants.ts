import { randomBytes } from 'node:crypto'
import { ServiceError } from '../../../shared/errors.ts'
import { createLimiter } from '../../../shared/locks.ts'
import type { Edge, EdgeGrant } from '../../ports/edge/edge.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { EdgeGrantRecord, EdgeGrantStore } from '../../ports/store/edge-grants.ts'
import { digestOf } from '../common/digest.ts'

export interface EdgeGrantsDeps {
  grants: EdgeGrantStore
  edge: Pick<Edge, 'grant' | 'revoke'>
  clock: Clock
}

/** The token that somebody has shown, verified: `expiresAt` in ms since the epoch, null: never. */
export interface ShownToken {
  tokenId: string
  expiresAt: number | null
}

/** What passes at the edge without being asked about: bearer tokens in a project, and sessions at a host. */
export interface EdgeGrants {
  /** All that pass now, for the edge to be opened with. */
  live(): Promise<EdgeGrant[]>
  /** Lets a verified token pass in a project. @throws ServiceError `token_revoked` if it was revoked meanwhile */
  allowToken(token: string, shown: ShownToken & { project: string }): Promise<void>
  /**
   * Begins a session at a host, for 7 days or as long as the token is good: the value of its cookie.
   * @throws ServiceError `token_revoked` if the token was revoked meanwhile
   */
  beginSession(host: string, shown: ShownToken & { project: string }): Promise<{ value: string; expiresAt: number }>
  /** Lets a session pass that the edge does not know; false if there is none at that host, or for another project. */
  allowSession(value: string, at: { host: string; project: string | null }): Promise<boolean>
  endSession(value: string): Promise<void>
  /**
   * Ends what is over: by its time, with its token, or because its domain went to another project. Nothing of that passes once
   * it resolves.
   */
  endOver(): Promise<void>
}

/** Grants one after another, in the store before they are at the edge: a revocation between the two finds them. */
export function createEdgeGrants({ grants, edge, clock }: EdgeGrantsDeps): EdgeGrants {
  const turns = createLimiter(1)
  const underWay = new Map<string, Promise<unknown>>()
  // Of many requests with one credential the first asks for all.
  const once = <T>(key: string, work: () => Promise<T>): Promise<T> => {
    const running = (underWay.get(key) as Promise<T> | undefined) ?? turns.run(work).finally(() => underWay.delete(key))
    underWay.set(key, running)
    return running
  }
  // At the edge first: what is in the store still is tried again.
  const end = async (credentials: readonly string[]): Promise<void> => {
    if (credentials.length === 0) return
    await edge.revoke(credentials)
    await grants.remove(credentials)
  }
  const allow = async (record: EdgeGrantRecord): Promise<void> => {
    const tooMany = await grants.put(record, BOUNDS)
    if (tooMany === null) throw new ServiceError('token_revoked', 'The token was revoked.')
    await edge.grant([grantOf(record)])
    await end(tooMany)
  }
  return {
    live: async () => (await grants.live(clock.now())).map(grantOf),
    allowToken: (token, { tokenId, expiresAt, project }) => {
      const key = keyOf(token, project)
      return once(`token ${key.credential} ${project}`, async () => {
        const now = clock.now()
        const endsAt = Math.min(expiresAt ?? Number.POSITIVE_INFINITY, now + TOKEN_MS)
        await allow({ ...key, tokenId, project, createdAt: now, expiresAt: endsAt })
      })
    },
    beginSession: (host, { tokenId, expiresAt, project }) =>
      turns.run(async () => {
        const now = clock.now()
        const value = randomBytes(SESSION_BYTES).toString('base64url')
        const endsAt = Math.min(expiresAt ?? Number.POSITIVE_INFINITY, now + SESSION_MS)
        await allow({ ...keyOf(value, host), tokenId, project, createdAt: now, expiresAt: endsAt })
        return { value, expiresAt: endsAt }
      }),
    allowSession: (value, { host, project }) => {
      const key = keyOf(value, host)
      return once(`session ${key.credential} ${host} ${project}`, async () => {
        const found = await grants.find(key, clock.now())
        if (found === null || (project !== null && found.project !== project)) return false
        await edge.grant([grantOf(found)])
        return true
      })
    },
    endSession: (value) => turns.run(() => end([digestOf(value)])),
    endOver: () => turns.run(async () => end(await grants.ended(clock.now()))),
  }
}

function keyOf(secret: string, scope: string): Pick<EdgeGrant, 'credential' | 'scope'> {
  return { credential: digestOf(secret), scope }
}

function grantOf({ credential, scope, expiresAt }: EdgeGrantRecord): EdgeGrant {
  return { credential, scope, expiresAt }
}

const SESSION_BYTES = 32
const SESSION_MS = 7 * 86_400_000
/** So long a token is not asked about again, unless it is revoked. */
const TOKEN_MS = 86_400_000
const BOUNDS = { ofToken: 1_000, inAll: 20_000 }
