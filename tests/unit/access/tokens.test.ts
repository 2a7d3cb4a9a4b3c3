import { describe, expect, test } from '@jest/globals'
import { importJWK, type JWK, SignJWT } from 'jose'
import { createTokenKeys, dropOldKeys, publicTokenKeys, rotateTokenKeys } from '../../../shared/auth/keys.ts'
import {
  createTokenVerifier,
  isSubset,
  mintToken,
  TOKEN_PREFIX,
  type TokenClaims,
  tokenKeyId,
} from '../../../shared/auth/tokens.ts'

const NOW = 1_790_000_000_000
const KEYS = createTokenKeys()
const CLAIMS: TokenClaims = {
  jti: 'tok_1',
  sub: 'ci',
  projects: ['demo'],
  permissions: ['read', 'exec'],
  iat: NOW / 1000,
  exp: NOW / 1000 + 60,
}

const PUBLIC_KEYS = publicTokenKeys(KEYS)

function verifierOf(now: () => number = () => NOW) {
  return createTokenVerifier({ keys: () => PUBLIC_KEYS, now })
}

async function signedBy(header: Record<string, unknown>, payload: Record<string, unknown>): Promise<string> {
  const jwk = KEYS.keys[0] as unknown as JWK
  const key = await importJWK(jwk, 'EdDSA')
  return new SignJWT(payload).setProtectedHeader({ alg: 'EdDSA', kid: String(jwk.kid), ...header }).sign(key)
}

describe('a token', () => {
  test('gives back the claims it was minted with', async () => {
    const token = await mintToken(KEYS, CLAIMS)
    expect(token.startsWith(TOKEN_PREFIX)).toBe(true)
    await expect(verifierOf()(token)).resolves.toEqual(CLAIMS)
    expect(tokenKeyId(token)).toBe(KEYS.keys[0]?.kid)
    expect(token.startsWith(TOKEN_PREFIX)).toBe(true)
  })

  test('without expiry and for all projects never expires', async () => {
    const claims: TokenClaims = { ...CLAIMS, projects: '*', exp: null }
    const verify = verifierOf(() => NOW * 10)
    await expect(verify(await mintToken(KEYS, claims))).resolves.toEqual(claims)
  })

  test('is refused from the second it expires, though its signature is remembered', async () => {
    let now = NOW
    const verify = verifierOf(() => now)
    const token = await mintToken(KEYS, CLAIMS)
    await verify(token)
    now = NOW + 59_999
    await expect(verify(token)).resolves.toEqual(CLAIMS)
    now = NOW + 60_000
    await expect(verify(token)).rejects.toMatchObject({ code: 'token_expired', status: 401 })
  })

  test('that is missing is refused as missing', async () => {
    await expect(verifierOf()(undefined)).rejects.toMatchObject({ code: 'token_missing', status: 401 })
  })

  test('of another deployment is refused', async () => {
    const token = await mintToken(createTokenKeys(), CLAIMS)
    await expect(verifierOf()(token)).rejects.toMatchObject({ code: 'token_invalid' })
  })

  test('with any one changed character is refused', async () => {
    const token = await mintToken(KEYS, CLAIMS)
    const verify = verifierOf()
    for (let i = 0; i < token.length - 1; i += 7) {
      const other = token[i] === 'A' ? 'B' : 'A'
      const altered = token.slice(0, i) + other + token.slice(i + 1)
      await expect(verify(altered)).rejects.toMatchObject({ code: 'token_invalid' })
    }
  })

  test('has one spelling alone', async () => {
    const token = await mintToken(KEYS, CLAIMS)
    const [header = '', payload = '', signature = ''] = token.split('.')
    // The last character of a signature of 64 bytes has four bits that decoders ignore.
    const stray = String.fromCharCode(signature.charCodeAt(signature.length - 1) + 1)
    const others = [
      ...[`${token}=`, `${token}==`, `${header}=.${payload}.${signature}`, `${header}.${payload}==.${signature}`],
      `${header}.${payload}.${signature.slice(0, -1)}${stray}`,
    ]
    const verify = verifierOf()
    for (const other of others) await expect(verify(other)).rejects.toMatchObject({ code: 'token_invalid' })
    await expect(verify(token)).resolves.toEqual(CLAIMS)
  })

  test.each(['', 'a', 'a.b', 'a.b.c', '...', 'e30.e30.', 'é.é.é', 'x'.repeat(50_000)])(
    'that is no JWT is refused: %#',
    async (text) => {
      await expect(verifierOf()(text)).rejects.toMatchObject({ code: 'token_invalid' })
    },
  )

  test.each(['none', 'HS256', 'ES256'])('with algorithm %s is refused', async (alg) => {
    const [, payload] = (await mintToken(KEYS, CLAIMS)).split('.')
    const header = Buffer.from(JSON.stringify({ alg, kid: KEYS.keys[0]?.kid })).toString('base64url')
    await expect(verifierOf()(`${header}.${payload}.`)).rejects.toMatchObject({ code: 'token_invalid' })
  })

  test.each([
    ['jti', undefined],
    ['jti', 7],
    ['sub', undefined],
    ['projects', undefined],
    ['projects', 'demo'],
    ['projects', [1]],
    ['permissions', 'read'],
    ['permissions', undefined],
    ['exp', 'soon'],
    ['iat', undefined],
  ])('whose %s is %j is refused despite a valid signature', async (name, value) => {
    const token = await signedBy({}, { ...CLAIMS, [name]: value })
    await expect(verifierOf()(token)).rejects.toMatchObject({ code: 'token_invalid' })
  })

  test('keeps only known permissions', async () => {
    const token = await signedBy({}, { ...CLAIMS, permissions: ['read', 'root', '__proto__', 'toString'] })
    await expect(verifierOf()(token)).resolves.toMatchObject({ permissions: ['read'] })
  })

  test('can be minted only with a private key', async () => {
    await expect(mintToken(publicTokenKeys(KEYS), CLAIMS)).rejects.toThrow('no private key')
  })
})

describe('the memory of verified tokens', () => {
  test('never holds more than it may', async () => {
    const set = publicTokenKeys(KEYS)
    const verify = createTokenVerifier({ keys: () => set, now: () => NOW, cacheSize: 2 })
    const tokens = await Promise.all(['a', 'b', 'c'].map((jti) => mintToken(KEYS, { ...CLAIMS, jti })))
    for (const token of [...tokens, ...tokens]) await verify(token)
    await expect(verify(tokens[0])).resolves.toMatchObject({ jti: 'a' })
  })

  test('is emptied when the keys change', async () => {
    let set = publicTokenKeys(KEYS)
    const verify = createTokenVerifier({ keys: () => set, now: () => NOW })
    const token = await mintToken(KEYS, CLAIMS)
    await verify(token)
    set = publicTokenKeys(createTokenKeys())
    await expect(verify(token)).rejects.toMatchObject({ code: 'token_invalid' })
  })
})

describe('rotation of the signing key', () => {
  test('a new key signs and the old one verifies until it is dropped', async () => {
    const old = await mintToken(KEYS, CLAIMS)
    const rotated = rotateTokenKeys(KEYS)
    const young = await mintToken(rotated, CLAIMS)
    expect(tokenKeyId(young)).not.toBe(tokenKeyId(old))
    const both = createTokenVerifier({ keys: () => publicTokenKeys(rotated), now: () => NOW })
    await expect(Promise.all([both(old), both(young)])).resolves.toEqual([CLAIMS, CLAIMS])
    const dropped = publicTokenKeys(dropOldKeys(rotated))
    const one = createTokenVerifier({ keys: () => dropped, now: () => NOW })
    await expect(one(young)).resolves.toEqual(CLAIMS)
    await expect(one(old)).rejects.toMatchObject({ code: 'token_invalid' })
  })
})

describe('what a token may mint', () => {
  const parent = { projects: ['a', 'b'], permissions: ['read', 'write'], exp: 100 } as const

  test.each([
    [{}, true],
    [{ projects: ['a'] }, true],
    [{ projects: ['a', 'c'] }, false],
    [{ projects: '*' as const }, false],
    [{ permissions: ['read'] as const }, true],
    [{ permissions: ['read', 'exec'] as const }, false],
    [{ permissions: ['admin'] as const }, false],
    [{ exp: 99 }, true],
    [{ exp: 101 }, false],
    [{ exp: null }, false],
  ])('%j: %s', (change, expected) => {
    expect(isSubset({ ...parent, ...change }, parent)).toBe(expected)
  })

  test('a token for all projects that never expires mints any projects and any life', () => {
    const root = { projects: '*', permissions: ['read'], exp: null } as const
    expect(isSubset({ projects: '*', permissions: ['read'], exp: null }, root)).toBe(true)
    expect(isSubset({ projects: ['x'], permissions: ['read'], exp: 1 }, root)).toBe(true)
    expect(isSubset({ projects: ['x'], permissions: ['write'], exp: 1 }, root)).toBe(false)
  })
})
