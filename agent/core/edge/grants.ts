import { randomBytes } from 'node:crypto'
import { ServiceError } from '../../../shared/errors.ts'
import { createLimiter } from '../../../shared/locks.ts'
import type { Edge, EdgeGrant } from '../../ports/edge/edge.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { EdgeGrantRecord, EdgeGrantStore } from '../../ports/store/edge-grants.ts'
import { digestOf } from '../common/digest.ts'

export interface EdgeGrantsDeps {
  grants: EdgeGrantStore
  edge: Pick<Edge, 'grant' | 'revoke' | 'credentials'>
  clock: Clock
}

/** The verified token behind a grant. `expiresAt` in ms since the epoch, null: never. */
export interface GrantToken {
  tokenId: string
  expiresAt: number | null
}

/** Credentials that the edge admits without asking: bearer tokens in a project, and sessions at a host. */
export interface EdgeGrants {
  /** Lists all grants in force, to open the edge with. */
  live(): Promise<EdgeGrant[]>
  /** Grants a verified token access to a project. @throws ServiceError `token_revoked` if it was revoked in between */
  allowToken(token: string, shown: GrantToken & { project: string }): Promise<void>
  /**
   * Begins a session at a host, for 7 days or until the token expires, and returns the value of its cookie.
   * @throws ServiceError `token_revoked` if the token was revoked in between
   */
  beginSession(host: string, shown: GrantToken & { project: string }): Promise<{ value: string; expiresAt: number }>
  /** Grants a stored session that the edge does not know. Returns false if there is none for that host and project. */
  allowSession(value: string, at: { host: string; project: string | null }): Promise<boolean>
  endSession(value: string): Promise<void>
  /**
   * Revokes grants that expired, whose token ended, or whose domain went to another project. Once it resolves the edge admits
   * none of them.
   */
  revokeEnded(): Promise<void>
  /**
   * Renews the grants of tokens that lapse within two hours and that open requests were admitted by, which would end with them. Call it
   * more often than that.
   */
  renewUsed(): Promise<void>
}

/** Serializes grants and writes each to the store before the edge, so that a revocation in between finds it. */
export function createEdgeGrants({ grants, edge, clock }: EdgeGrantsDeps): EdgeGrants {
  const turns = createLimiter(1)
  const underWay = new Map<string, Promise<unknown>>()
  // Shares one lookup among concurrent requests with the same credential.
  const once = <T>(key: string, work: () => Promise<T>): Promise<T> => {
    const running = (underWay.get(key) as Promise<T> | undefined) ?? turns.run(work).finally(() => underWay.delete(key))
    underWay.set(key, running)
    return running
  }
  // Revokes at the edge first. Grants that are still in the store are retried.
  const end = async (credentials: readonly string[]): Promise<void> => {
    if (credentials.length === 0) return
    await edge.revoke(credentials)
    await grants.remove(credentials)
  }
  const allow = async (record: EdgeGrantRecord): Promise<void> => {
    const evicted = await grants.put(record, EDGE_GRANT_BOUNDS)
    if (evicted === null) throw new ServiceError('token_revoked', 'The token was revoked.')
    await edge.grant([grantOf(record)])
    await end(evicted)
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
    revokeEnded: () => turns.run(async () => end(await grants.ended(clock.now()))),
    renewUsed: () =>
      turns.run(async () => {
        const now = clock.now()
        const lapsing = await grants.lapsing(now, now + RENEWED_BEFORE_MS)
        if (lapsing.length === 0) return
        const used = await edge.credentials()
        for (const { tokenEndsAt, ...grant } of lapsing) {
          const expiresAt = Math.min(tokenEndsAt ?? Number.POSITIVE_INFINITY, now + TOKEN_MS)
          if (used.has(grant.credential)) await allow({ ...grant, expiresAt })
        }
      }),
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
/** How long the edge admits a token without asking again, unless it is revoked. */
const TOKEN_MS = 86_400_000
const RENEWED_BEFORE_MS = 7_200_000
/** Grants that are kept, of one token and in all. */
export const EDGE_GRANT_BOUNDS = { ofToken: 1_000, inAll: 20_000 }
