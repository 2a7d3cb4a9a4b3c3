import type { JWK } from 'jose'
import { CompactSign } from 'jose/jws/compact/sign'
import { compactVerify } from 'jose/jws/compact/verify'
import { importJWK } from 'jose/key/import'
import { ServiceError } from '../errors.ts'
import type { Operation } from '../operation.ts'
import { permissionDenied, someOf } from '../refusals.ts'
import { PERMISSIONS, type Permission } from '../schemas/access.ts'
import { timestamp } from '../time.ts'
import type { TokenKeySet } from './keys.ts'

/** The claims of a token. `iat` and `exp` are seconds since the epoch, and `exp` null means never. */
export interface TokenClaims {
  jti: string
  sub: string
  /** The token at the beginning of its chain, whose account it shares. Absent if it is that token. */
  root?: string
  projects: '*' | readonly string[]
  permissions: readonly Permission[]
  iat: number
  exp: number | null
}

/** The scope that a token can pass on to another. */
export type TokenScope = Pick<TokenClaims, 'projects' | 'permissions' | 'exp'>

export interface TokenVerifierOptions {
  /** Public keys. Called for each token. A new object empties the cache. */
  keys(): TokenKeySet
  /** Milliseconds since the epoch. */
  now(): number
  /** Number of tokens whose signature is remembered. Default: 1,000. Expiry is checked each time. */
  cacheSize?: number
}

/**
 * Returns the claims of a token with a valid signature that has not expired. The agent checks revocation.
 * @throws ServiceError `token_missing` if undefined, `token_invalid`, `token_expired`
 */
export type TokenVerifier = (token: string | undefined) => Promise<TokenClaims>

/** The start of every token, which is the base64url of `{"alg":"EdDSA","kid":"`. */
export const TOKEN_PREFIX = 'eyJhbGciOiJFZERTQSIsImtpZCI6I'

/** Signs a token with the first key of a private set (docs/api.md#authentication). */
export async function mintToken(keys: TokenKeySet, claims: TokenClaims): Promise<string> {
  const jwk = keys.keys[0]
  if (jwk?.d === undefined) throw new Error('the set has no private key to sign tokens with')
  const { exp, ...rest } = claims
  const payload = JSON.stringify(exp === null ? rest : { ...rest, exp })
  return new CompactSign(new TextEncoder().encode(payload))
    .setProtectedHeader({ alg: ALGORITHM, kid: String(jwk.kid), typ: 'JWT' })
    .sign(await importJWK(jwk as JWK, ALGORITHM))
}

/** Creates a verifier with a bounded cache of verified signatures. */
export function createTokenVerifier(options: TokenVerifierOptions): TokenVerifier {
  const { cacheSize = CACHE_SIZE } = options
  const verified = new Map<string, TokenClaims>()
  let keysOfCache: TokenKeySet | undefined
  return async (token) => {
    if (token === undefined) throw new ServiceError('token_missing', 'Send `Authorization: Bearer <token>`.')
    const keys = options.keys()
    if (keys !== keysOfCache) verified.clear()
    keysOfCache = keys
    let claims = verified.get(token)
    if (!claims) {
      claims = await verifySignature(token, keys)
      if (keys === keysOfCache) keep(verified, { token, claims, cacheSize })
    }
    if (claims.exp !== null && options.now() >= claims.exp * 1000) {
      throw new ServiceError('token_expired', 'The token has expired.')
    }
    return claims
  }
}

/** Returns the key id in a token's header, valid or not, or undefined if there is none. */
export function tokenKeyId(token: string): string | undefined {
  try {
    const header: unknown = JSON.parse(Buffer.from(token.split('.', 1)[0] ?? '', 'base64url').toString('utf8'))
    const kid = typeof header === 'object' && header !== null && 'kid' in header ? header.kid : undefined
    return typeof kid === 'string' ? kid : undefined
  } catch {
    return undefined
  }
}

/** Returns the claims of a token that another process has verified, or null if it has none. */
export function unverifiedClaims(token: string | undefined): TokenClaims | null {
  return parseClaims(Buffer.from(token?.split('.', 2)[1] ?? '', 'base64url')) ?? null
}

/**
 * Checks that a token has the operation's permission in its project. Project `-` passes here. It means every project that the token can
 * read, and the handler lists only those.
 * @throws ServiceError `permission_denied`
 */
export function authorize(
  operation: Pick<Operation, 'permission'> & Partial<Pick<Operation, 'ofAllProjects'>>,
  params: Readonly<Record<string, string>>,
  claims: Pick<TokenClaims, 'projects' | 'permissions'>,
): void {
  const { permission } = operation
  if (permission === null) return
  if (permission !== 'any' && !claims.permissions.includes(permission)) {
    const why = `\`permissions\`: the token lacks "${permission}" and has ${someOf(claims.permissions)}.`
    throw permissionDenied(why, 'Ask for a token with that permission. A token that has it can create one.')
  }
  if (operation.ofAllProjects === true && claims.projects !== '*') {
    const why = `\`projects\`: this needs a token of all projects ("*"), the token is for ${someOf(claims.projects)}.`
    throw permissionDenied(why, 'Use the token of an operator.')
  }
  const { project } = params
  if (project !== undefined && project !== '-' && !mayEnter(claims, project)) {
    throw notForProject(claims.projects)
  }
}

/** Returns true for an operator, who is an administrator of all projects. */
export function isOperator({ projects, permissions }: Pick<TokenScope, 'projects' | 'permissions'>): boolean {
  return projects === '*' && permissions.includes('admin')
}

/** Returns true if the token's scope includes the project. */
export function mayEnter(scope: Pick<TokenScope, 'projects'>, project: string): boolean {
  return scope.projects === '*' || scope.projects.includes(project)
}

/** Rejects a token of other projects. */
export function notForProject(projects: TokenScope['projects']): ServiceError {
  const own = projects === '*' ? 'all projects' : someOf(projects)
  const why = `\`projects\`: the token is not for this project, it is for ${own}.`
  return permissionDenied(why, 'Use a token of this project; one that has it can create such a token.')
}

/** Returns true if a token of scope `parent` can create one of scope `child`: never more projects, permissions or life. */
export function isSubset(child: TokenScope, parent: TokenScope): boolean {
  const isWithinProjects =
    parent.projects === '*' || (child.projects !== '*' && child.projects.every((name) => mayEnter(parent, name)))
  const isWithinPermissions = child.permissions.every((one) => parent.permissions.includes(one))
  const isWithinLife = parent.exp === null || (child.exp !== null && child.exp <= parent.exp)
  return isWithinProjects && isWithinPermissions && isWithinLife
}

/** Returns which field of a token asks for more than the token that creates it has, or null. Pure. */
export function whatIsBeyond(child: TokenScope, parent: TokenScope, now: number): string | null {
  if (isSubset(child, parent)) return null
  if (!isSubset({ ...child, projects: [], exp: parent.exp }, parent))
    return `\`permissions\`: at most ${someOf(parent.permissions)}, as of the token that you use.`
  if (!isSubset({ ...child, exp: parent.exp }, parent))
    return `\`projects\`: at most ${someOf(parent.projects === '*' ? ['*'] : parent.projects)}, as of the token that you use.`
  const ends = parent.exp ?? now
  const seconds = Math.max(0, Math.floor((ends - now) / 1000))
  return `\`expires_in_seconds\`: at most ${seconds}, because the token that you use expires on ${timestamp(ends)}.`
}

async function verifySignature(token: string, keys: TokenKeySet): Promise<TokenClaims> {
  const kid = token.length <= MAX_TOKEN && isCanonical(token) ? tokenKeyId(token) : undefined
  const jwk = keys.keys.find((key) => key.kid === kid)
  if (kid === undefined || !jwk)
    throw new ServiceError('token_invalid', 'The token does not belong to this deployment.')
  const { d: _private, ...publicJwk } = jwk
  let payload: Uint8Array
  try {
    const key = await importJWK(publicJwk as JWK, ALGORITHM)
    payload = (await compactVerify(token, key, { algorithms: [ALGORITHM] })).payload
  } catch (cause) {
    throw new ServiceError('token_invalid', 'The token does not belong to this deployment.', { cause })
  }
  const claims = parseClaims(payload)
  if (!claims) throw new ServiceError('token_invalid', 'The token lacks a required claim.')
  return claims
}

// Decoders accept padding, other alphabets and stray bits, which would give one token many spellings.
function isCanonical(token: string): boolean {
  return token.split('.').every((part) => Buffer.from(part, 'base64url').toString('base64url') === part)
}

function parseClaims(payload: Uint8Array): TokenClaims | undefined {
  let value: unknown
  try {
    value = JSON.parse(Buffer.from(payload).toString('utf8'))
  } catch {
    return undefined
  }
  if (typeof value !== 'object' || value === null) return undefined
  const {
    jti,
    sub,
    root,
    projects,
    permissions,
    iat,
    exp = null,
  } = value as Partial<Record<keyof TokenClaims, unknown>>
  if (typeof jti !== 'string' || typeof sub !== 'string' || typeof iat !== 'number') return undefined
  if (projects !== '*' && !isStrings(projects)) return undefined
  if (!isStrings(permissions) || (exp !== null && !Number.isFinite(exp))) return undefined
  const chain = typeof root === 'string' ? { root } : {}
  return { jti, sub, ...chain, projects, permissions: permissions.filter(isPermission), iat, exp: exp as number | null }
}

function isStrings(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}

function isPermission(name: string): name is Permission {
  return KNOWN_PERMISSIONS.has(name)
}

/** Evicts the oldest token at `cacheSize`. */
function keep(
  cache: Map<string, TokenClaims>,
  { token, claims, cacheSize }: { token: string; claims: TokenClaims; cacheSize: number },
): void {
  const oldest = cache.size >= cacheSize ? cache.keys().next().value : undefined
  if (oldest !== undefined) cache.delete(oldest)
  if (cacheSize > 0) cache.set(token, claims)
}

const ALGORITHM = 'EdDSA'
const CACHE_SIZE = 1_000
const MAX_TOKEN = 24_576
const KNOWN_PERMISSIONS: ReadonlySet<string> = new Set(PERMISSIONS)
