import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { keepAdminToken, renewAdminToken, replaceAdminToken } from '../../../agent/compose/admin-token.ts'
import { createClosers } from '../../../agent/compose/shutdown.ts'
import type { Tokens } from '../../../agent/core/access/tokens.ts'
import { openSqliteStore } from '../../../agent/drivers/store/store.ts'
import { changeKeys, type KeyFiles, openKeyFiles } from '../../../agent/lib/disk/key-files.ts'
import type { Store } from '../../../agent/ports/store/store.ts'
import { createTokenVerifier, type TokenClaims, tokenKeyId } from '../../../shared/auth/tokens.ts'
import { ServiceError } from '../../../shared/errors.ts'
import { createOwnTokens } from '../../helpers/access/tokens.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'

const DAY_MS = 86_400_000
let dataDir: string
let store: Store
let keys: KeyFiles
let tokens: Tokens
let now: number
const clock = { now: () => now, sleep: async () => undefined }

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'boxyard-admin-token-'))
  now = Date.now()
  store = openSqliteStore(join(dataDir, 'boxyard.db'))
  keys = openKeyFiles(dataDir, { now: () => 0, isExclusive: true })
  tokens = createOwnTokens({ store, clock, signingKeys: () => keys.tokens() })
})

afterEach(async () => {
  await store.close()
  rmSync(dataDir, { recursive: true, force: true })
})

const path = () => join(dataDir, 'admin.token')
const inFile = () => readFileSync(path(), 'utf8').trim()
const renew = () => renewAdminToken({ dataDir, keys, tokens, clock })

/** Checks a token as the request dispatch does. */
async function use(token: string): Promise<TokenClaims> {
  const claims = await createTokenVerifier({ keys: () => keys.tokens(), now: () => now })(token)
  await tokens.checkAlive(claims.jti)
  return claims
}

async function daysLeft(): Promise<number> {
  const { exp } = await use(inFile())
  return ((exp ?? Number.POSITIVE_INFINITY) * 1000 - now) / DAY_MS
}

test('the first one administers everything, ends in 30 days, and is for root alone', async () => {
  const closers = createClosers(silentLogger)
  await keepAdminToken({
    dataDir,
    keys,
    tokens,
    clock,
    closers,
    logger: silentLogger,
    followKeys: async () => undefined,
  })
  expect(await use(inFile())).toMatchObject({ projects: '*', permissions: ['read', 'write', 'exec', 'ports', 'admin'] })
  expect(await daysLeft()).toBeCloseTo(30, 3)
  expect(statSync(path()).mode & 0o777).toBe(0o600)
  await closers.run(1_000)
})

test('it is renewed once a day under its id, and a copy works until its own end', async () => {
  await renew()
  const first = inFile()
  now += DAY_MS - 60_000
  await renew()
  expect(inFile()).toBe(first)
  now += 120_000
  await renew()
  expect(inFile()).not.toBe(first)
  expect(await daysLeft()).toBeCloseTo(30, 3)
  expect((await use(inFile())).jti).toBe((await use(first)).jti)
  now += 29 * DAY_MS
  await renew()
  await expect(use(first)).rejects.toMatchObject({ code: 'token_expired' })
  expect(await daysLeft()).toBeCloseTo(30, 3)
})

test('an agent that was stopped until it had ended renews it, so that nobody is locked out', async () => {
  await renew()
  now += 400 * DAY_MS
  await expect(use(inFile())).rejects.toMatchObject({ code: 'token_expired' })
  await renew()
  expect(await daysLeft()).toBeCloseTo(30, 3)
})

test('what an operator revoked, removed or wrote stays so, or is made anew', async () => {
  await renew()
  const { jti } = await use(inFile())
  const revoked = inFile()
  await tokens.revokeOwn(jti)
  now += 2 * DAY_MS
  await renew()
  expect(inFile()).toBe(revoked)
  await expect(use(revoked)).rejects.toMatchObject({ code: 'token_revoked' })
  rmSync(path())
  await renew()
  expect((await use(inFile())).jti).not.toBe(jti)
  writeFileSync(path(), 'no token\n')
  await renew()
  expect(inFile()).toBe('no token')
})

test('one without an end, of an earlier version, is replaced and ends in 30 days', async () => {
  const request = { name: 'admin', projects: '*', permissions: ['admin'], expiresAt: null, createdBy: null } as const
  const { token: everlasting } = await tokens.issue(request)
  writeFileSync(path(), `${everlasting}\n`)
  await renew()
  const replaced = inFile()
  expect((await use(replaced)).jti).not.toBe((await use(everlasting)).jti)
  for (let day = 0; day < 31; day++) {
    now += DAY_MS
    await renew()
  }
  await expect(use(everlasting)).rejects.toMatchObject({ code: 'token_expired' })
  expect((await use(inFile())).jti).toBe(
    (await createTokenVerifier({ keys: () => keys.tokens(), now: () => 0 })(replaced)).jti,
  )
})

test.each([true, false])(
  'an operator replaces it, and the old one ends at once only if that is asked for (%s)',
  async (revokes) => {
    await renew()
    const old = inFile()
    const endsAt = await replaceAdminToken({ dataDir, keys, tokens, clock }, { revokes })
    expect(inFile()).not.toBe(old)
    expect((await use(inFile())).exp).toBe(endsAt / 1000)
    if (revokes) await expect(use(old)).rejects.toMatchObject({ code: 'token_revoked' })
    else expect((await use(old)).sub).toBe('admin')
  },
)

test('a renewal at the same time never puts a token back that an operator revoked', async () => {
  await renew()
  now += 2 * DAY_MS
  for (let i = 0; i < 20; i++) {
    now += 2 * DAY_MS
    const deps = { dataDir, keys, tokens, clock }
    await Promise.all([renew(), replaceAdminToken(deps, { revokes: true }), renew(), renewAdminToken(deps)])
    expect((await use(inFile())).sub).toBe('admin')
  }
})

test('of two operators at once each revokes what was there, and the file holds what is live', async () => {
  await renew()
  const deps = { dataDir, keys, tokens, clock }
  await Promise.all([1, 2, 3].map(() => replaceAdminToken(deps, { revokes: true })))
  expect((await use(inFile())).sub).toBe('admin')
  const live = (await store.tokens.list({ createdBy: null, after: null, limit: 100 })).records
  expect(live.filter(({ revokedAt }) => revokedAt === null)).toHaveLength(1)
})

test('a revocation that was cut off is done by the next try', async () => {
  await renew()
  const leaked = inFile()
  const failing: Tokens = { ...tokens, revokeOwn: () => Promise.reject(new Error('killed')) }
  await expect(replaceAdminToken({ dataDir, keys, tokens: failing, clock }, { revokes: true })).rejects.toThrow(
    'killed',
  )
  await replaceAdminToken({ dataDir, keys, tokens, clock }, { revokes: true })
  await expect(use(leaked)).rejects.toMatchObject({ code: 'token_revoked' })
  expect((await use(inFile())).sub).toBe('admin')
})

test('one that lacks a permission of this version is replaced, and a copy works until its own end', async () => {
  const request = { name: 'admin', projects: '*' as const, createdBy: null, expiresAt: now + 30 * DAY_MS }
  const { token } = await tokens.issue({ ...request, permissions: ['read', 'write', 'exec', 'admin'] })
  writeFileSync(path(), `${token}\n`)
  await renew()
  expect((await use(inFile())).permissions).toContain('ports')
  expect((await use(token)).permissions).not.toContain('ports')
})

test('a cell whose fleet cannot be told of a token starts without a new one, and signs what it has anew with taken keys', async () => {
  const closers = createClosers(silentLogger)
  const away = { ...tokens, issue: () => Promise.reject(new ServiceError('runtime_unavailable', 'away')) }
  const broken = { ...tokens, issue: () => Promise.reject(new Error('broken')) }
  let onTaken = async (): Promise<void> => undefined
  const followKeys = async (listener: () => Promise<void>): Promise<void> => {
    onTaken = listener
  }
  const given = { dataDir, keys, clock, closers, logger: silentLogger, followKeys }
  await expect(keepAdminToken({ ...given, tokens: broken })).rejects.toThrow('broken')
  await keepAdminToken({ ...given, tokens: away })
  expect(existsSync(path())).toBe(false)
  await renew()
  const before = inFile()
  const { keys: old } = keys.tokens()
  changeKeys(dataDir, 'token', 'rotate')
  keys.reload()
  await onTaken()
  await onTaken()
  expect(tokenKeyId(before)).toBe(old[0]?.kid)
  expect(tokenKeyId(inFile())).toBe(keys.tokens().keys[0]?.kid)
  expect((await use(inFile())).jti).toBe((await use(before)).jti)
  await closers.run(1_000)
})
