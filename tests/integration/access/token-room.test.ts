import { expect, test } from '@jest/globals'
import { TOKEN_LIMITS } from '../../../agent/core/access/tokens.ts'
import type { Store } from '../../../agent/ports/store/store.ts'
import { createTokenKeys } from '../../../shared/auth/keys.ts'
import { createOwnTokens } from '../../helpers/access/tokens.ts'
import { CALLER } from '../../helpers/caller.ts'
import { useTemporaryStore } from '../../helpers/store/temporary-store.ts'

let store: Store

useTemporaryStore((opened) => {
  store = opened
})

test('who mints many tokens at once gets no more than there is room for', async () => {
  const keys = createTokenKeys()
  const clock = { now: () => 0, sleep: () => new Promise<void>(() => undefined) }
  const tokens = createOwnTokens({ store, clock, signingKeys: () => keys })
  const left = 5
  for (let i = 0; i < TOKEN_LIMITS.perRoot - left; i++) {
    const scope = { name: 'n', projects: ['demo'], permissions: ['read' as const], keyId: null, createdBy: null }
    const record = { ...scope, root: CALLER.root, id: `tok_${i}`, createdAt: 0, expiresAt: null, revokedAt: null }
    await store.tokens.insert(record)
  }
  const mint = () => tokens.create(CALLER, { name: 'n', projects: ['demo'], permissions: ['read'] })
  const outcomes = await Promise.allSettled(Array.from({ length: 4 * left }, mint))
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(left)
  const refused = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : []))
  for (const error of refused) expect(error).toMatchObject({ code: 'quota_exceeded' })
})
