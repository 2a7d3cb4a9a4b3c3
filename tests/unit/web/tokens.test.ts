import { describe, expect, test } from '@jest/globals'
import { livesWithin } from '../../../web/src/pages/tokens/life.ts'
import { mintedWith, selectTokens, tokenState } from '../../../web/src/pages/tokens/token-list.ts'

type Listed = Parameters<typeof selectTokens>[0][number]

const NOW = Date.parse('2026-11-26T12:00:00.000Z')
const admin = token('admin', { projects: '*', permissions: ['read', 'admin'], expires_at: null })
const ci = token('ci', { created_by: admin.id, created_at: '2026-11-02T00:00:00.000Z' })
const child = token('child', { created_by: ci.id, created_at: '2026-11-03T00:00:00.000Z' })
const old = token('old', { expires_at: '2026-11-26T12:00:00.000Z' })

describe('tokens', () => {
  test('are live until they expire or are revoked', () => {
    expect(tokenState(ci, NOW)).toBe('live')
    expect(tokenState(old, NOW)).toBe('expired')
    expect(tokenState({ ...old, revoked_at: '2026-11-20T00:00:00.000Z' }, NOW)).toBe('revoked')
  })

  test('are found by words and states, in order', () => {
    const named = (filter: Partial<Parameters<typeof selectTokens>[1]>) =>
      selectTokens([child, old, admin, ci], { text: '', state: 'all', sort: 'name', ...filter }, NOW).map(
        (one) => one.name,
      )
    expect(named({})).toEqual(['admin', 'child', 'ci', 'old'])
    expect(named({ state: 'live' })).toEqual(['admin', 'child', 'ci'])
    expect(named({ state: 'ended' })).toEqual(['old'])
    expect(named({ text: 'all admin' })).toEqual(['admin'])
    expect(named({ sort: 'expires' }).at(-1)).toBe('admin')
    expect(named({ sort: '-created' })[0]).toBe('child')
  })

  test('end with the one that they were minted with, at any remove', () => {
    expect(mintedWith([child, old, admin, ci], admin.id)).toEqual([ci, child])
    expect(mintedWith([child, old, admin, ci], ci.id)).toEqual([child])
    expect(mintedWith([child, old, admin, ci], old.id)).toEqual([])
    const session = token('session', { created_by: admin.id, is_session: true, created_at: '2026-11-01T01:00:00.000Z' })
    const inIt = { ...ci, session: session.id }
    expect(mintedWith([child, session, admin, inIt], session.id)).toEqual([inIt, child])
  })
})

describe('the life of a token', () => {
  test('is no longer than that of its minter', () => {
    const words = (ends: string | null) => livesWithin(ends, NOW).map((life) => life.words)
    expect(words(null).at(-1)).toBe('1 year')
    expect(words('2026-11-28T12:00:00.000Z')).toEqual(['1 hour', '1 day'])
    expect(words('2026-11-26T12:30:00.000Z')).toEqual([])
  })
})

function token(name: string, more: Partial<Listed>): Listed {
  return {
    id: `tok_${name}`,
    name,
    projects: ['demo'],
    permissions: ['read'],
    expires_at: '2026-12-26T12:00:00.000Z',
    created_at: '2026-11-01T00:00:00.000Z',
    created_by: null,
    is_session: false,
    session: null,
    revoked_at: null,
    ...more,
  }
}
