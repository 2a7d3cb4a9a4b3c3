import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { digestOf } from '../../../agent/core/common/digest.ts'
import { createEdgeGrants } from '../../../agent/core/edge/grants.ts'
import type { EdgeGrant } from '../../../agent/ports/edge/edge.ts'
import { type BackendLab, BOX_HOST, openBackendLab, START } from '../../helpers/edge/backend.ts'

let lab: BackendLab
let shown: { tokenId: string; expiresAt: null; project: string }
/** Runs before the edge applies a grant or revocation. */
let atEdge: () => void | Promise<void>
let passing: Set<string>
/** Credentials of open requests. */
let used: Set<string>

beforeEach(async () => {
  lab = await openBackendLab()
  shown = { tokenId: (await lab.mint()).id, expiresAt: null, project: 'demo' }
  atEdge = () => undefined
  passing = new Set()
  used = new Set()
})

afterEach(() => lab.close())

const clock = { now: () => START, sleep: () => Promise.resolve() }
const edge = {
  credentials: async () => used,
  grant: async (grants: readonly EdgeGrant[]) => {
    await atEdge()
    for (const { credential } of grants) passing.add(credential)
  },
  revoke: async (credentials: readonly string[]) => {
    await atEdge()
    for (const credential of credentials) passing.delete(credential)
  },
}
const open = () => createEdgeGrants({ grants: lab.store.edgeGrants, edge, clock })

describe('grants', () => {
  test('do not outlast a revocation of their token while they are made', async () => {
    const grants = open()
    const { promise, resolve } = Promise.withResolvers<void>()
    const reached = Promise.withResolvers<void>()
    atEdge = () => {
      reached.resolve()
      return promise
    }
    const allowing = grants.allowToken('a', shown)
    await reached.promise
    await lab.store.tokens.revoke(shown.tokenId, START)
    const ending = grants.revokeEnded()
    resolve()
    await Promise.all([allowing, ending])
    expect(passing.size).toBe(0)
    expect(await grants.live()).toEqual([])
    await expect(grants.allowToken('a', shown)).rejects.toMatchObject({ code: 'token_revoked' })
    await expect(grants.beginSession(BOX_HOST, shown)).rejects.toMatchObject({ code: 'token_revoked' })
    expect(passing.size).toBe(0)
  })

  test('that the edge failed to remove are revoked by a retry', async () => {
    const grants = open()
    await grants.allowToken('a', shown)
    await lab.store.tokens.revoke(shown.tokenId, START)
    atEdge = () => Promise.reject(new Error('the edge is away'))
    await expect(grants.revokeEnded()).rejects.toThrow('the edge is away')
    expect(await grants.live()).toEqual([])
    expect(passing.size).toBe(1)
    atEdge = () => undefined
    await grants.revokeEnded()
    expect(passing.size).toBe(0)
    expect(await lab.store.edgeGrants.ended(START)).toEqual([])
  })

  test('of one token are bounded: its oldest are dropped, and none of other tokens', async () => {
    const { edgeGrants } = lab.store
    const put = (credential: string, createdAt: number, tokenId = shown.tokenId) =>
      edgeGrants.put(
        { credential, scope: BOX_HOST, tokenId, project: 'demo', createdAt, expiresAt: START + 1_000 },
        { ofToken: 2, inAll: 4 },
      )
    const other = (await lab.mint()).id
    expect(await put('other', 0, other)).toEqual([])
    expect(await put('a', 1)).toEqual([])
    expect(await put('b', 2)).toEqual([])
    expect(await put('c', 3)).toEqual(['a'])
    await edgeGrants.remove(['a'])
    // A repeated grant becomes the newest.
    expect(await put('b', 4)).toEqual([])
    expect(await put('d', 5)).toEqual(['c'])
    await edgeGrants.remove(['c'])
    const third = (await lab.mint()).id
    expect(await put('e', 6, third)).toEqual([])
    // Each chain of tokens keeps as many grants as the smallest chain.
    expect((await put('f', 7, third))?.toSorted()).toEqual(['b', 'e'])
  })

  test('end at their expiry, and with a token that is deleted', async () => {
    const { edgeGrants, tokens } = lab.store
    const ending = { ...shown, expiresAt: START + 1_000 }
    const grants = open()
    await grants.allowToken('a', ending)
    expect(await edgeGrants.ended(START + 999)).toEqual([])
    expect(await edgeGrants.ended(START + 1_000)).toHaveLength(1)
    expect(await edgeGrants.live(START + 1_000)).toEqual([])
    const short = await lab.mint({ expiresAt: START })
    await edgeGrants.put(
      {
        credential: 'b',
        scope: BOX_HOST,
        tokenId: short.id,
        project: 'demo',
        createdAt: START,
        expiresAt: START + 9_000,
      },
      { ofToken: 10, inAll: 10 },
    )
    await tokens.prune(START + 1)
    expect(await edgeGrants.ended(START)).toEqual(['b'])
    expect(await edgeGrants.find({ credential: 'b', scope: BOX_HOST }, START)).toBeNull()
    await edgeGrants.prune(START + 1_000)
    expect(await edgeGrants.ended(START + 1_000)).toHaveLength(2)
    await edgeGrants.prune(START + 9_001)
    expect(await edgeGrants.ended(START + 9_001)).toEqual([])
  })

  test('that open requests were admitted by are renewed up to the end of their token; others lapse', async () => {
    const DAY_MS = 86_400_000
    const grants = open()
    const [endless, ending] = [shown, { tokenId: (await lab.mint()).id, expiresAt: null, project: 'demo' }]
    await grants.allowToken('used', endless)
    await grants.allowToken('unused', ending)
    const session = await grants.beginSession(BOX_HOST, { ...endless, expiresAt: START + DAY_MS })
    used = new Set(['used', session.value].map(digestOf))
    const later = createEdgeGrants({
      ...{ grants: lab.store.edgeGrants, edge },
      clock: { ...clock, now: () => START + DAY_MS - 3_600_000 },
    })
    await later.renewUsed()
    const live = await lab.store.edgeGrants.live(START + DAY_MS)
    expect(live.map(({ credential, expiresAt }) => [credential, expiresAt])).toEqual([
      [digestOf('used'), START + 2 * DAY_MS - 3_600_000],
    ])
  })
})
