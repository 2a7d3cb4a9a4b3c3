import { closeSync, existsSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { createTokenVerifier, type TokenClaims, tokenKeyId } from '../../shared/auth/tokens.ts'
import { ServiceError } from '../../shared/errors.ts'
import type { Logger } from '../../shared/log.ts'
import { repeat } from '../../shared/repeat.ts'
import { PERMISSIONS } from '../../shared/schemas/access.ts'
import type { Tokens } from '../core/access/tokens.ts'
import { writeDurably } from '../lib/disk/durable-file.ts'
import type { KeyFiles } from '../lib/disk/key-files.ts'
import { lockFile } from '../lib/syscalls/descriptors.ts'
import type { Clock } from '../ports/host/clock.ts'
import type { Closers } from './shutdown.ts'

export interface AdminTokenDeps {
  dataDir: string
  keys: KeyFiles
  tokens: Tokens
  clock: Pick<Clock, 'now'>
}

interface KeptTokenDeps extends AdminTokenDeps {
  closers: Closers
  logger: Logger
  /** As `Fleet.followKeys`, which takes over keys from other cells. */
  followKeys(onTaken: () => Promise<void>): Promise<void>
}

/**
 * Writes an administrator's token that ends in 30 days to `<data dir>/admin.token` (0600) if there is none. Renews it, now and every
 * hour, once a day of that has passed. The id stays, so that a copy of it works until its own end. A token that was revoked, or that no
 * key verifies, stays. If the fleet cannot receive one, it retries. After the fleet's keys have changed, it re-signs the token. A token
 * of an earlier version, which has no end or lacks a permission, is replaced, and ends in 30 days.
 */
export async function keepAdminToken(deps: KeptTokenDeps): Promise<void> {
  const onError = (error: unknown): void => deps.logger.error('failed to renew admin.token', { error })
  const isDone = await renewAdminToken(deps).then(
    () => true,
    (error: unknown) => {
      // While the fleet cannot receive a token, the agent serves with the existing ones.
      if (!(error instanceof ServiceError && error.code === 'runtime_unavailable')) throw error
      onError(error)
      return false
    },
  )
  const everyMs = isDone ? HOUR_MS : RETRY_MS
  deps.closers.add(
    'renewal of admin.token',
    repeat(() => renewAdminToken(deps), { everyMs, onError }),
  )
  await deps.followKeys(() => signAdminTokenAnew(deps))
}

/** Renews the token as `keepAdminToken`, once. @throws Error if another process changes it for more than 10 s */
export function renewAdminToken(deps: AdminTokenDeps): Promise<void> {
  return withLock(deps, () => renewOnce(deps))
}

async function renewOnce(deps: AdminTokenDeps): Promise<void> {
  const { dataDir, tokens, clock } = deps
  if (!existsSync(pathIn(dataDir))) return void (await writeNew(deps))
  const claims = await readClaims(deps)
  if (claims === null) return
  const isWhole = PERMISSIONS.every((each) => claims.permissions.includes(each))
  if (isWhole && claims.exp !== null && claims.exp * 1000 - clock.now() > LIFE_MS - DAY_MS) return
  const token = await tokens.renew(claims.jti, endOf(clock))
  if (token === null) return
  // All copies of a token without an end have its id. So that token ends, and the file gets one of another id.
  if (claims.exp === null || !isWhole) await writeNew(deps)
  else writeDurably(pathIn(dataDir), `${token}\n`)
}

/**
 * Writes a new administrator's token in place of the one in `admin.token`, and returns the time of its end in ms. `revokes` ends the old
 * one, with every token that was created with it. If it fails before that, the file still names the old one, which the next try ends.
 * @throws Error if another process changes the token for more than 10 s
 */
export function replaceAdminToken(deps: AdminTokenDeps, options: { revokes: boolean }): Promise<number> {
  return withLock(deps, async () => {
    const { dataDir, tokens } = deps
    const claims = options.revokes && existsSync(pathIn(dataDir)) ? await readClaims(deps) : null
    const { token, expiresAt } = await issueNew(deps)
    const write = (): void => writeDurably(pathIn(dataDir), `${token}\n`)
    if (claims !== null) {
      await tokens.revokeOwn(claims.jti).catch(async (error: unknown) => {
        // The token is revoked even if only the edge did not answer.
        const isAlive = await tokens.checkAlive(claims.jti).then(
          () => true,
          () => false,
        )
        if (!isAlive) write()
        throw error
      })
    }
    write()
    return expiresAt
  })
}

/**
 * Signs the token in `admin.token` again if its key is not the one that signs now, under the same id, so that the old keys can be
 * dropped. A token that no key verifies is replaced. A token that was removed or revoked stays so.
 */
export function signAdminTokenAnew(deps: AdminTokenDeps): Promise<void> {
  return withLock(deps, () => signOnce(deps))
}

async function signOnce(deps: AdminTokenDeps): Promise<void> {
  const { dataDir, keys, tokens } = deps
  if (!existsSync(pathIn(dataDir))) return
  const old = readFileSync(pathIn(dataDir), 'utf8').trim()
  if (tokenKeyId(old) === keys.tokens().keys[0]?.kid) return
  const claims = await readClaims(deps)
  if (claims === null) return void (await writeNew(deps))
  const token = await tokens.signAnew(claims.jti)
  if (token !== null) writeDurably(pathIn(dataDir), `${token}\n`)
}

// Also of a token that has ended. Null if no key verifies it.
function readClaims({ dataDir, keys }: AdminTokenDeps): Promise<TokenClaims | null> {
  const current = keys.tokens()
  const verify = createTokenVerifier({ keys: () => current, now: () => 0 })
  return verify(readFileSync(pathIn(dataDir), 'utf8').trim()).catch(() => null)
}

async function writeNew(deps: AdminTokenDeps): Promise<void> {
  writeDurably(pathIn(deps.dataDir), `${(await issueNew(deps)).token}\n`)
}

async function issueNew({ tokens, clock }: AdminTokenDeps): Promise<{ token: string; expiresAt: number }> {
  const expiresAt = endOf(clock)
  const { token } = await tokens.issue({
    name: 'admin',
    projects: '*',
    permissions: PERMISSIONS,
    expiresAt,
    createdBy: null,
  })
  return { token, expiresAt }
}

/** Runs `change` while no other, of this process or another, changes the token. The kernel drops the lock with its process. */
async function withLock<T>({ dataDir }: AdminTokenDeps, change: () => Promise<T>): Promise<T> {
  const fd = openSync(join(dataDir, 'keys'), 'r')
  try {
    for (let tries = 0; !lockFile(fd, 'exclusive'); tries++) {
      if (tries * LOCK_POLL_MS > LOCK_WAIT_MS)
        throw new Error(`${pathIn(dataDir)}: another process is changing it. Try again.`)
      await pause(LOCK_POLL_MS)
    }
    return await change()
  } finally {
    closeSync(fd)
  }
}

// Tokens carry whole seconds.
function endOf(clock: Pick<Clock, 'now'>): number {
  return Math.floor((clock.now() + LIFE_MS) / 1000) * 1000
}

function pathIn(dataDir: string): string {
  return join(dataDir, 'admin.token')
}

const LOCK_POLL_MS = 20
const LOCK_WAIT_MS = 10_000
const HOUR_MS = 3_600_000
const RETRY_MS = 5_000
const DAY_MS = 24 * HOUR_MS
const LIFE_MS = 30 * DAY_MS
