import type { TokenKeySet } from '../../../shared/auth/keys.ts'
import { isOperator, mintToken, type TokenClaims, whatIsBeyond } from '../../../shared/auth/tokens.ts'
import { ServiceError } from '../../../shared/errors.ts'
import { newId } from '../../../shared/ids.ts'
import { permissionDenied, quotaExceeded } from '../../../shared/refusals.ts'
import type { CreateTokenBody, Permission } from '../../../shared/schemas/access.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { Store } from '../../ports/store/store.ts'
import type { TokenRecord, TokenRoom } from '../../ports/store/tokens.ts'
import type { Caller } from '../common/caller.ts'
import { decodeCursor, encodeCursor } from '../common/paging.ts'
import { type Minter, minterOf, sessionName, stoodFor } from './minters.ts'
import type { TokenRecords } from './token-records.ts'
import { eachUnexpired } from './token-repair.ts'

export interface TokensDeps {
  store: Pick<Store, 'tokens'>
  records: TokenRecords
  clock: Pick<Clock, 'now'>
  /** Returns the private keys. The first one signs. Reads them for each new token, so a rotation takes effect at once. */
  signingKeys(): TokenKeySet
}

export interface NewToken {
  name: string
  projects: '*' | readonly string[]
  permissions: readonly Permission[]
  expiresAt: number | null
  createdBy: string | null
  /** The account that it shares. Absent for its own account. */
  root?: string
  /** True for a session of the web console. */
  isSession?: true
  /** The session that creates it. Absent for none. */
  session?: string
}

/** The tokens of the API. */
export interface Tokens {
  /** Creates a token without checks, for the operator of the host. */
  issue(request: NewToken): Promise<{ record: TokenRecord; token: string }>
  /** Signs a token again with the current key, under the same id. Returns null if the token is not live. */
  signAnew(id: string): Promise<string | null>
  /** Changes the expiry of a token, and signs it under the same id. Returns null if the token was revoked or is unknown. */
  renew(id: string, expiresAt: number): Promise<string | null>
  /** Lists the live tokens that would end if all keys but the signing one were dropped, oldest first. */
  endingWithOldKeys(): Promise<TokenRecord[]>
  /**
   * Creates a token in the account of the caller. A token that an operator creates gets its own account, because operators
   * create tokens for others. In a session of the console, the token behind the session creates it, so it survives the session.
   * @throws ServiceError `permission_denied` for more projects, permissions or time than the caller has, `quota_exceeded` if
   * `TOKEN_LIMITS` live tokens exist
   */
  create(caller: Caller, body: CreateTokenBody): Promise<{ record: TokenRecord; token: string }>
  /**
   * Begins a session of the console, of at most `lifeMs`. A session is a token with the permissions of the caller, and acts for it.
   * @throws ServiceError `quota_exceeded`
   */
  beginSession(caller: Caller, lifeMs: number): Promise<{ record: TokenRecord; token: string }>
  /** Ends the session of the caller, but no token that it created. @throws ServiceError `permission_denied` if it is not a session */
  signOut(caller: Caller): Promise<void>
  /** Finds the token behind a session. Null if the caller is not a session. */
  stoodFor(caller: Pick<Caller, 'tokenId'>): Promise<TokenRecord | null>
  /** Lists all tokens for a caller with `admin` on all projects, else the tokens that the caller created, also in sessions. */
  list(
    caller: Caller,
    page: { max_results: number; continuation_token?: string | undefined },
  ): Promise<{ records: TokenRecord[]; next: string | null }>
  /**
   * Revokes a token, and all tokens that it or its session created.
   * @throws ServiceError `token_not_found` if the caller cannot see it
   */
  revoke(caller: Caller, id: string): Promise<void>
  /** Revokes a token without checks, for the operator of the host. Ignores an unknown token. */
  revokeOwn(id: string): Promise<void>
  /** @throws ServiceError `token_revoked`, `token_expired`, or `token_invalid` for one without a record here */
  checkAlive(id: string): Promise<void>
  /** Calls `listener` after each revocation, and waits for it before `revoke` resolves. */
  onRevoke(listener: () => Promise<void>): void
}

/**
 * Creates, lists and revokes tokens, in the same way at each cell of a fleet. A change fails with `runtime_unavailable` while the fleet
 * cannot be reached. A revocation applies from the next request. It includes every token that the revoked token or session created,
 * since a thief may have created some.
 */
export function createTokens(deps: TokensDeps): Tokens {
  const { store, records, clock } = deps
  return {
    issue: (request) => issueWithin(deps, request),
    signAnew: (id) => signAnew(deps, id),
    renew: (id, expiresAt) => signAnew(deps, id, expiresAt),
    endingWithOldKeys: () => endingWithOldKeys(deps),
    create: async (caller, body) => {
      const minter = await minterOf(deps, caller)
      const { name, projects, permissions } = body
      return mintFor(
        deps,
        { caller, minter },
        { name, projects, permissions, expiresAt: expiryOf(body, minter, clock.now()) },
      )
    },
    beginSession: async (caller, lifeMs) => {
      const minter = await minterOf(deps, caller)
      const { projects, permissions } = caller
      const expiresAt = Math.min(secondsOf(clock.now() + lifeMs), minter.expiresAt ?? Number.POSITIVE_INFINITY)
      return mintFor(
        deps,
        { caller, minter },
        {
          name: sessionName(minter.name),
          projects,
          permissions,
          expiresAt,
          isSession: true,
        },
      )
    },
    signOut: async ({ tokenId }) => {
      const record = await records.find(tokenId)
      if (record?.isSession !== true) throw noSession()
      await records.signOut(record)
    },
    stoodFor: (caller) => stoodFor(deps, caller),
    list: async (caller, page) => {
      const after = decodeCursor(page.continuation_token, 1)?.[0] ?? null
      const createdBy = isOperator(caller) ? null : (await minterOf(deps, caller)).tokenId
      const { records: found, hasMore } = await store.tokens.list({ createdBy, after, limit: page.max_results })
      const last = found.at(-1)
      return { records: found, next: hasMore && last ? encodeCursor([last.id]) : null }
    },
    revoke: async (caller, id) => {
      const record = await records.find(id)
      const minter = await minterOf(deps, caller)
      const isOwn = record?.createdBy === minter.tokenId || id === minter.tokenId || id === caller.tokenId
      if (!record || !(isOwn || isOperator(caller))) throw new ServiceError('token_not_found', `No token "${id}".`)
      await records.revoke(id)
    },
    revokeOwn: async (id) => {
      if ((await records.find(id)) !== null) await records.revoke(id)
    },
    checkAlive: async (id) => {
      const record = (await store.tokens.get(id)) ?? (await records.find(id))
      if (record === null && records.isRevoked(id)) throw tokenRevoked()
      checkAlive(record, clock.now())
    },
    onRevoke: (listener) => records.onRevoke(listener),
  }
}

type MintRequest = Omit<NewToken, 'createdBy' | 'root' | 'session'>

interface Minted {
  record: TokenRecord
  token: string
}

/** A caller, and the token that creates tokens for it. */
interface Minting {
  caller: Caller
  minter: Minter
}

async function issueWithin(deps: TokensDeps, request: NewToken, room?: TokenRoom): Promise<Minted> {
  const { records, clock, signingKeys } = deps
  const now = clock.now()
  const keys = signingKeys()
  const id = newId('tok', now)
  const record: TokenRecord = {
    id,
    keyId: keys.keys[0]?.kid ?? null,
    name: request.name,
    projects: request.projects === '*' ? '*' : [...new Set(request.projects)],
    permissions: [...new Set(request.permissions)],
    expiresAt: request.expiresAt,
    createdAt: now,
    createdBy: request.createdBy,
    root: request.root ?? id,
    revokedAt: null,
    ...(request.isSession === undefined ? {} : { isSession: request.isSession }),
    ...(request.session === undefined ? {} : { session: request.session }),
    ...(records.cell === null ? {} : { cell: records.cell }),
  }
  const token = await mintToken(keys, claimsOf(record))
  if (await records.insert(record, room)) return { record, token }
  throw tooManyTokens(room)
}

async function mintFor(deps: TokensDeps, { caller, minter }: Minting, request: MintRequest): Promise<Minted> {
  const { records, clock } = deps
  const { expiresAt } = request
  const beyond = whatIsBeyond({ ...request, exp: expiresAt }, { ...caller, exp: minter.expiresAt }, clock.now())
  if (beyond !== null) throw permissionDenied(beyond, 'Ask for less, or create it with a token that has more.')
  const isForOthers = isOperator(caller)
  const root = isForOthers ? {} : { root: caller.root }
  const session = minter.session === null ? {} : { session: minter.session }
  const room = { ...roomOf(caller.root, minter, { isForOthers }), now: clock.now() }
  const minted = await issueWithin(deps, { ...request, createdBy: minter.tokenId, ...root, ...session }, room)
  // A revocation of its creator at the same time has not seen the new record.
  for (const id of new Set([minter.tokenId, caller.tokenId])) {
    if (((await records.find(id))?.revokedAt ?? null) === null) continue
    await records.revoke(minted.record.id)
    throw tokenRevoked()
  }
  return minted
}

function roomOf(root: string, { tokenId }: Minter, { isForOthers }: { isForOthers: boolean }): Omit<TokenRoom, 'now'> {
  if (isForOthers) return { of: { createdBy: tokenId }, most: TOKEN_LIMITS.perOperator }
  return { of: { root }, most: TOKEN_LIMITS.perRoot }
}

function tooManyTokens(room: TokenRoom | undefined): ServiceError {
  const whose = room && 'root' in room.of ? 'This token and the tokens that it created have' : 'This token created'
  return quotaExceeded(`${whose} ${room?.most} live tokens, the most allowed.`, 'Revoke one that is not needed.')
}

async function signAnew(deps: TokensDeps, id: string, expiresAt?: number): Promise<string | null> {
  const { records, clock, signingKeys } = deps
  const found = await records.find(id)
  const record = found === null || expiresAt === undefined ? found : { ...found, expiresAt }
  if (!record || !isLive(record, clock.now())) return null
  const keys = signingKeys()
  const keyId = keys.keys[0]?.kid ?? null
  await records.change(record, { keyId, ...(expiresAt === undefined ? {} : { expiresAt }) })
  return mintToken(keys, claimsOf(record))
}

async function endingWithOldKeys({ store, clock, signingKeys }: TokensDeps): Promise<TokenRecord[]> {
  const { keys } = signingKeys()
  if (keys.length === 1) return []
  const ending: TokenRecord[] = []
  for await (const record of eachUnexpired(store, clock.now()))
    if (record.revokedAt === null && record.keyId !== keys[0]?.kid) ending.push(record)
  return ending
}

function checkAlive(record: TokenRecord | null, now: number): void {
  if (!record) throw new ServiceError('token_invalid', 'This deployment has no record of the token.')
  if (record.revokedAt !== null) throw tokenRevoked()
  // A token may have been given an end after it was signed.
  if (!isLive(record, now)) throw new ServiceError('token_expired', 'The token has expired.')
}

function tokenRevoked(): ServiceError {
  return new ServiceError('token_revoked', 'The token was revoked.')
}

function isLive({ revokedAt, expiresAt }: TokenRecord, now: number): boolean {
  return revokedAt === null && (expiresAt === null || expiresAt > now)
}

function claimsOf({ id, name, root, projects, permissions, createdAt, expiresAt }: TokenRecord): TokenClaims {
  const exp = expiresAt === null ? null : expiresAt / 1000
  return {
    jti: id,
    sub: name,
    ...(root === id ? {} : { root }),
    projects,
    permissions,
    iat: Math.floor(createdAt / 1000),
    exp,
  }
}

// Defaults to the expiry of the creating token.
function expiryOf(body: CreateTokenBody, minter: Pick<Minter, 'expiresAt'>, now: number): number | null {
  const seconds = body.expires_in_seconds ?? null
  return seconds === null ? minter.expiresAt : secondsOf(now + seconds * 1000)
}

/** Rounds to whole seconds, as tokens carry them. */
function secondsOf(time: number): number {
  return Math.floor(time / 1000) * 1000
}

function noSession(): ServiceError {
  const wayOut = 'Revoke another token by `DELETE /v1/tokens/{token}`.'
  return permissionDenied('This ends sessions of the console only, and the token is none.', wayOut)
}

/** Most live tokens of one account, and most that one operator's token created. */
export const TOKEN_LIMITS = { perRoot: 1_000, perOperator: 10_000 }
