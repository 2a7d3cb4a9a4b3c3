import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { TOKEN_LIMITS } from '../../../agent/core/access/tokens.ts'
import type { FleetToken } from '../../../agent/ports/fleet/tokens.ts'
import { newId } from '../../../shared/ids.ts'
import {
  createTokenLab,
  eventsOf,
  fleetToken,
  issueAt,
  listedAt,
  outcomeAt,
  settled,
  type TokenLab,
} from '../../helpers/access/token-cells.ts'
import { CALLER } from '../../helpers/caller.ts'
import type { TableTokens } from '../../helpers/fleet/table-tokens.ts'
import { permutationsOf } from '../../helpers/permutations.ts'

let lab: TokenLab

beforeEach(() => {
  lab = createTokenLab()
})

afterEach(() => lab.close())

describe('a token', () => {
  test('that one cell mints is known to all, and told of by that one alone', async () => {
    const [aa, bb] = [await lab.open('aa'), await lab.open('bb')]
    const id = await issueAt(aa)
    await settled()
    expect(await outcomeAt(bb, id)).toBe('alive')
    expect([await listedAt(aa), await listedAt(bb)]).toEqual([[id], [id]])
    expect([await eventsOf(aa), await eventsOf(bb)]).toEqual([[`token.created ${id}`], []])
    expect(lab.table.reads).toBe(0)
  })

  test('works at a cell that was not told of it yet, which then keeps it', async () => {
    const [aa, bb] = [await lab.open('aa'), await lab.open('bb')]
    bb.fleet.hold()
    const id = await issueAt(aa)
    expect(await Promise.all([outcomeAt(bb, id), outcomeAt(bb, id)])).toEqual(['alive', 'alive'])
    expect(lab.table.reads).toBe(1)
    lab.table.fault = 'away'
    expect(await outcomeAt(bb, id)).toBe('alive')
  })

  test('is revoked everywhere with all that were minted with it, also elsewhere', async () => {
    const [aa, bb, cc] = [await lab.open('aa'), await lab.open('bb'), await lab.open('cc')]
    const top = await issueAt(aa)
    const child = await issueAt(bb, top)
    const grandchild = await issueAt(cc, child)
    const other = await issueAt(aa)
    await settled()
    await bb.tokens.revokeOwn(top)
    await settled()
    for (const cell of [aa, bb, cc]) {
      const outcomes = await Promise.all([top, child, grandchild, other].map((id) => outcomeAt(cell, id)))
      expect(outcomes).toEqual(['token_revoked', 'token_revoked', 'token_revoked', 'alive'])
      expect(cell.revocations).toBe(1)
    }
    const revoked = [top, child, grandchild].map((id) => `token.revoked ${id}`).sort()
    expect((await eventsOf(bb)).filter((event) => event.startsWith('token.revoked')).sort()).toEqual(revoked)
    expect(await eventsOf(cc)).toEqual([`token.created ${grandchild}`])
  })

  test('is revoked at a cell that was not told of it yet', async () => {
    const [aa, bb] = [await lab.open('aa'), await lab.open('bb')]
    bb.fleet.hold()
    const id = await issueAt(aa)
    await bb.tokens.revoke({ ...CALLER, tokenId: id }, id)
    expect([await outcomeAt(aa, id), await outcomeAt(bb, id)]).toEqual(['token_revoked', 'token_revoked'])
    await expect(bb.tokens.revoke(CALLER, newId('tok', 1))).rejects.toMatchObject({ code: 'token_not_found' })
  })

  test('shares its account with those of other cells', async () => {
    const [aa, bb] = [await lab.open('aa'), await lab.open('bb')]
    const root = await issueAt(aa)
    await settled()
    const caller = { ...CALLER, tokenId: root, root }
    const body = { name: 'n', projects: ['demo'], permissions: ['read' as const] }
    const last = TOKEN_LIMITS.perRoot - 1
    for (let i = 1; i < last; i++)
      await bb.store.tokens.insert({ ...fleetToken(newId('tok', lab.now), { root }), revokedAt: null })
    await aa.tokens.create(caller, body)
    await settled()
    await expect(bb.tokens.create(caller, body)).rejects.toMatchObject({ code: 'quota_exceeded' })
    expect(lab.table.tokens.size).toBe(2)
  })

  test('for which there is no room by the time that it is published ends everywhere', async () => {
    const [aa, bb] = [await lab.open('aa'), await lab.open('bb')]
    const root = await issueAt(aa)
    const caller = { ...CALLER, tokenId: root, root }
    const body = { name: 'n', projects: ['demo'], permissions: ['read' as const] }
    const left = 2
    for (let i = 1; i < TOKEN_LIMITS.perRoot - left; i++)
      await aa.store.tokens.insert({ ...fleetToken(newId('tok', lab.now), { root }), revokedAt: null })
    const outcomes = await Promise.allSettled(Array.from({ length: 5 }, () => aa.tokens.create(caller, body)))
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(left)
    expect(lab.table.revocations.size).toBe(lab.table.tokens.size - 1 - left)
    await settled()
    for (const id of lab.table.revocations.keys()) expect(await outcomeAt(bb, id)).toBe('token_revoked')
  })

  test('that is renewed, or signed anew, is so everywhere; a revoked one is not', async () => {
    const [aa, bb] = [await lab.open('aa'), await lab.open('bb')]
    const [id, dead] = [await issueAt(aa, null, lab.now + 1_000), await issueAt(aa, null, lab.now + 1_000)]
    await aa.tokens.revokeOwn(dead)
    lab.now += 2_000
    await settled()
    expect(await outcomeAt(bb, id)).toBe('token_expired')
    expect(await aa.tokens.renew(id, lab.now + 5_000)).not.toBeNull()
    expect(await aa.tokens.renew(dead, lab.now + 5_000)).toBeNull()
    await settled()
    expect([await outcomeAt(bb, id), await outcomeAt(bb, dead)]).toEqual(['alive', 'token_revoked'])
    expect((await bb.store.tokens.get(id))?.expiresAt).toBe(lab.now + 5_000)
  })
})

describe('in whatever order a cell hears of them', () => {
  // The first token of a chain is revoked while the last one is created.
  const names = ['top', 'middle', 'last', 'revocation'] as const
  test.each(permutationsOf(names).map((order) => [order.join(', '), order] as const))('%s', async (_, order) => {
    const bb = await lab.open('bb')
    const ids = { top: newId('tok', 3), middle: newId('tok', 2), last: newId('tok', 1) }
    const { root } = { root: newId('tok', 4) }
    // Each begins its own account, as tokens that operators create do.
    const tokens: Record<string, FleetToken> = {
      top: fleetToken(ids.top, { root }),
      middle: fleetToken(ids.middle, { createdBy: ids.top, cell: 'cc' }),
      last: fleetToken(ids.last, { createdBy: ids.middle, cell: 'dd' }),
    }
    const views = (bb.fleet as unknown as { views: Parameters<TableTokens['follow']>[0] }).views
    for (const name of order) {
      const token = tokens[name]
      if (token === undefined) views.revocations.put({ token: ids.top, revokedAt: lab.now, until: null, cell: 'aa' })
      else views.tokens.put(token)
    }
    await settled()
    const outcomes = await Promise.all(Object.values(ids).map((id) => outcomeAt(bb, id)))
    expect(outcomes).toEqual(['token_revoked', 'token_revoked', 'token_revoked'])
    expect(await eventsOf(bb)).toEqual([])
  })
})
