import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createTokenVerifier, tokenKeyId } from '../../shared/auth/tokens.ts'
import type { Tokens } from '../core/access/tokens.ts'
import { writeDurably } from '../lib/disk/durable-file.ts'
import type { KeyFiles } from '../lib/disk/key-files.ts'

/** Writes the first admin token, without expiry, to `<data dir>/admin.token` (0600), unless there is one. */
export async function ensureAdminToken(dataDir: string, tokens: Tokens): Promise<void> {
  if (!existsSync(pathIn(dataDir))) await writeNew(dataDir, tokens)
}

/**
 * Signs the token in `admin.token` again if its key is not the one that signs now, under the same id, so that the old keys can be
 * dropped. One that no key verifies is replaced by a new token; one that was removed or revoked stays so.
 */
export async function signAdminTokenAnew(
  dataDir: string,
  { keys, tokens }: { keys: KeyFiles; tokens: Tokens },
): Promise<void> {
  if (!existsSync(pathIn(dataDir))) return
  const old = readFileSync(pathIn(dataDir), 'utf8').trim()
  const current = keys.tokens()
  if (tokenKeyId(old) === current.keys[0]?.kid) return
  const verify = createTokenVerifier({ keys: () => current, now: () => 0 })
  const claims = await verify(old).catch(() => null)
  if (claims === null) return writeNew(dataDir, tokens)
  const token = await tokens.signAnew(claims.jti)
  if (token !== null) writeDurably(pathIn(dataDir), `${token}\n`)
}

async function writeNew(dataDir: string, tokens: Tokens): Promise<void> {
  const { token } = await tokens.issue({
    name: 'admin',
    projects: '*',
    permissions: ['read', 'write', 'exec', 'admin'],
    expiresAt: null,
    createdBy: null,
  })
  writeDurably(pathIn(dataDir), `${token}\n`)
}

function pathIn(dataDir: string): string {
  return join(dataDir, 'admin.token')
}
