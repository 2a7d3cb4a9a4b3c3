import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { newId } from '../../../shared/ids.ts'
import {
  createTokenLab,
  eventsOf,
  fleetToken,
  issueAt,
  listedAt,
  outcomeAt,
  settled,
  type TokenCell,
  type TokenLab,
} from '../../helpers/access/token-cells.ts'

let lab: TokenLab

beforeEach(() => {
  lab = createTokenLab()
})

afterEach(() => lab.close())

describe('a cell that was killed', () => {
  test('after it published a token and before it wrote it down has it from its start on', async () => {
    const bb = await lab.open('bb')
    const aa = await lab.open('aa')
    const insert = aa.store.tokens.insert
    aa.store.tokens.insert = () => Promise.reject(new Error('killed'))
    await expect(issueAt(aa)).rejects.toThrow('killed')
    aa.store.tokens.insert = insert
    lab.kill(aa)
    const [id] = [...lab.table.tokens.keys()]
    if (id === undefined) throw new Error('Nothing was published.')
    const next = await lab.open('aa')
    expect([await outcomeAt(next, id), await outcomeAt(bb, id)]).toEqual(['alive', 'alive'])
    await next.fleet.relist()
    expect([await eventsOf(next), await eventsOf(bb)]).toEqual([[`token.created ${id}`], []])
  })

  test('before it published a token has none', async () => {
    const aa = await lab.open('aa')
    lab.table.fault = 'away'
    await expect(issueAt(aa)).rejects.toMatchObject({ code: 'runtime_unavailable' })
    lab.table.fault = null
    lab.kill(aa)
    expect(await listedAt(await lab.open('aa'))).toEqual([])
  })

  test('after it published a revocation and before it wrote it down applies it before it answers', async () => {
    const [aa, bb] = [await lab.open('aa'), await lab.open('bb')]
    const id = await issueAt(aa)
    await settled()
    aa.store.tokens.revoke = () => Promise.reject(new Error('killed'))
    await expect(aa.tokens.revokeOwn(id)).rejects.toThrow('killed')
    lab.kill(aa)
    const next = await lab.open('aa')
    expect([await outcomeAt(next, id), await outcomeAt(bb, id)]).toEqual(['token_revoked', 'token_revoked'])
    expect(await eventsOf(next)).toEqual([`token.created ${id}`, `token.revoked ${id}`])
    expect(await eventsOf(bb)).toEqual([])
  })

  test('while it renewed a token has the end that the fleet has', async () => {
    const aa = await lab.open('aa')
    const id = await issueAt(aa, null, lab.now + 1_000)
    aa.store.tokens.setEnd = () => Promise.reject(new Error('killed'))
    await expect(aa.tokens.renew(id, lab.now + 9_000)).rejects.toThrow('killed')
    lab.kill(aa)
    const next = await lab.open('aa')
    expect((await next.store.tokens.get(id))?.expiresAt).toBe(lab.now + 9_000)
  })

  test('applies what it missed before it answers', async () => {
    const [aa, bb] = [await lab.open('aa'), await lab.open('bb')]
    const [id, kept] = [await issueAt(bb), await issueAt(bb)]
    await settled()
    lab.kill(aa)
    await bb.tokens.revokeOwn(id)
    const later = await issueAt(bb)
    const next = await lab.open('aa')
    lab.table.fault = 'away'
    const outcomes = await Promise.all([id, kept, later].map((each) => outcomeAt(next, each)))
    expect(outcomes).toEqual(['token_revoked', 'alive', 'alive'])
  })
})

describe('while the fleet is away', () => {
  test('what is known works on, and nothing is minted, renewed or revoked', async () => {
    const [aa, bb] = [await lab.open('aa'), await lab.open('bb')]
    const id = await issueAt(aa, null, lab.now + 10_000)
    await settled()
    const unheard = newId('tok', lab.now)
    lab.table.fault = 'away'
    expect(await outcomeAt(bb, id)).toBe('alive')
    expect(await outcomeAt(bb, unheard)).toBe('runtime_unavailable')
    const away = { code: 'runtime_unavailable', status: 503 }
    await expect(issueAt(bb)).rejects.toMatchObject(away)
    await expect(bb.tokens.revokeOwn(id)).rejects.toMatchObject(away)
    await expect(bb.tokens.renew(id, lab.now + 20_000)).rejects.toMatchObject(away)
    expect(await bb.store.tokens.get(id)).toMatchObject({ expiresAt: lab.now + 10_000, revokedAt: null })
    lab.kill(bb)
    const next = await lab.open('bb')
    expect(await outcomeAt(next, id)).toBe('alive')
    lab.table.fault = null
    await next.fleet.relist()
    expect(await outcomeAt(next, unheard)).toBe('token_invalid')
  })

  test('a revocation whose answer is lost holds at every cell, this one too', async () => {
    const [aa, bb] = [await lab.open('aa'), await lab.open('bb')]
    const id = await issueAt(aa)
    await settled()
    lab.table.fault = 'answers lost'
    await expect(aa.tokens.revokeOwn(id)).rejects.toMatchObject({ code: 'runtime_unavailable' })
    lab.table.fault = null
    await settled()
    expect([await outcomeAt(aa, id), await outcomeAt(bb, id)]).toEqual(['token_revoked', 'token_revoked'])
    expect(aa.revocations).toBe(1)
  })

  test('ids that nobody minted are asked for once in a while, and many at once are turned away', async () => {
    const aa = await lab.open('aa')
    const ids = Array.from({ length: 80 }, () => newId('tok', lab.now))
    const outcomes = await Promise.all(ids.map((id) => outcomeAt(aa, id)))
    expect(outcomes.filter((outcome) => outcome === 'token_invalid')).toHaveLength(64)
    expect(outcomes.filter((outcome) => outcome === 'runtime_unavailable')).toHaveLength(16)
    const [first = ''] = ids
    expect(await outcomeAt(aa, first)).toBe('token_invalid')
    expect(lab.table.reads).toBe(64)
    lab.now += 60_000
    expect(await outcomeAt(aa, first)).toBe('token_invalid')
    expect(lab.table.reads).toBe(65)
  })

  test('a token holds that cannot be kept, as on a full disk', async () => {
    const [aa, bb] = [await lab.open('aa'), await lab.open('bb')]
    bb.store.tokens.mirror = () => Promise.reject(new Error('full'))
    const [id, dead] = [await issueAt(aa), await issueAt(aa)]
    await aa.tokens.revokeOwn(dead)
    await settled()
    expect([await outcomeAt(bb, id), await outcomeAt(bb, dead)]).toEqual(['alive', 'token_revoked'])
  })
})

describe('what the fleet lacks', () => {
  test('of tokens before this cell joined it is told, as tokens of this cell', async () => {
    const alone = await lab.open('aa', { isFollowing: false })
    const ids = { live: newId('tok', 1), ended: newId('tok', 2), dead: newId('tok', 3), child: newId('tok', 4) }
    const { cell: _, ...before } = fleetToken(ids.live)
    const insert = (id: string, changes: object = {}) =>
      alone.store.tokens.insert({ ...before, id, root: id, revokedAt: null, ...changes })
    await insert(ids.live)
    await insert(ids.ended, { expiresAt: lab.now - 1 })
    await insert(ids.dead)
    await insert(ids.child, { createdBy: ids.dead, expiresAt: lab.now + 5_000 })
    await alone.store.tokens.revoke(ids.dead, lab.now)
    lab.kill(alone)
    await lab.open('aa')
    await settled()
    expect([...lab.table.tokens.values()].map(({ id, cell }) => [id, cell])).toEqual([[ids.live, 'aa']])
    expect([...lab.table.revocations.values()]).toEqual([
      { token: ids.dead, revokedAt: lab.now, until: null, cell: 'aa' },
    ])
  })

  test('after an etcd was put back to the past is told again: own tokens at once, those of cells that are gone later', async () => {
    const [aa, bb] = [await lab.open('aa'), await lab.open('bb')]
    const [own, theirs, dead] = [await issueAt(aa), await issueAt(bb), await issueAt(aa)]
    await aa.tokens.revokeOwn(dead)
    await settled()
    lab.kill(bb)
    lab.table.tokens.clear()
    lab.table.revocations.clear()
    await aa.fleet.relist()
    await settled()
    expect([[...lab.table.tokens.keys()], [...lab.table.revocations.keys()]]).toEqual([[own], [dead]])
    expect(await outcomeAt(aa, dead)).toBe('token_revoked')
    await aa.records.tend({ endedBefore: lab.now })
    expect([...lab.table.tokens.keys()].sort()).toEqual([own, theirs].sort())
  })
})

describe('what has ended', () => {
  const DAY = 86_400_000
  test('is removed by the cell that minted it, or a day later by any', async () => {
    const [aa, bb] = [await lab.open('aa'), await lab.open('bb')]
    const expiring = await issueAt(aa, null, lab.now + 1_000)
    const [lasting, dead] = [await issueAt(aa), await issueAt(aa)]
    await aa.tokens.revokeOwn(dead)
    const [start] = [lab.now]
    lab.now += 2_000
    const kept = async (cell: TokenCell, endedBefore: number): Promise<string[]> => {
      await cell.records.tend({ endedBefore })
      return [...lab.table.tokens.keys()]
    }
    expect(await kept(aa, start)).toEqual([expiring, lasting, dead])
    expect(await kept(bb, lab.now)).toEqual([expiring, lasting, dead])
    expect(await kept(aa, lab.now)).toEqual([lasting])
    // The token never expires, so even a cell that returns after years must learn of its revocation.
    expect([...lab.table.revocations.keys()]).toEqual([dead])
    const theirs = await issueAt(bb, null, lab.now + 1_000)
    expect(await kept(aa, lab.now + DAY)).toEqual([lasting, theirs])
    expect(await kept(aa, lab.now + DAY + 2_000)).toEqual([lasting])
  })

  test('of revocations those whose tokens have all expired go', async () => {
    const aa = await lab.open('aa')
    const parent = await issueAt(aa, null, lab.now + 1_000)
    const child = await issueAt(aa, parent, lab.now + 500)
    await aa.tokens.revokeOwn(parent)
    expect(lab.table.revocations.get(parent)?.until).toBe(lab.now + 1_000)
    expect(await outcomeAt(aa, child)).toBe('token_revoked')
    await aa.records.tend({ endedBefore: lab.now + 900 })
    expect(lab.table.revocations.size).toBe(1)
    await aa.records.tend({ endedBefore: lab.now + 1_100 })
    await aa.records.tend({ endedBefore: lab.now + 1_100 })
    expect([lab.table.revocations.size, lab.table.tokens.size]).toEqual([0, 0])
  })

  test('is refused as revoked when only the revocation is left', async () => {
    const aa = await lab.open('aa')
    const dead = await issueAt(aa)
    await aa.tokens.revokeOwn(dead)
    lab.now += 10
    await aa.store.tokens.prune(lab.now)
    await aa.records.tend({ endedBefore: lab.now })
    expect([lab.table.tokens.size, await outcomeAt(aa, dead), lab.table.reads]).toEqual([0, 'token_revoked', 0])
  })
})
