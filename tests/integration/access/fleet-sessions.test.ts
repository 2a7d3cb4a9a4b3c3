import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import type { Caller } from '../../../agent/core/common/caller.ts'
import type { FleetToken } from '../../../agent/ports/fleet/tokens.ts'
import type { TokenRecord } from '../../../agent/ports/store/tokens.ts'
import { newId } from '../../../shared/ids.ts'
import {
  createTokenLab,
  eventsOf,
  fleetToken,
  issueAt,
  outcomeAt,
  settled,
  type TokenCell,
  type TokenLab,
} from '../../helpers/access/token-cells.ts'
import { CALLER } from '../../helpers/caller.ts'
import type { TableTokens } from '../../helpers/fleet/table-tokens.ts'
import { permutationsOf } from '../../helpers/permutations.ts'

// Sessions of the web console. Each is a token that acts for the token that it was created with.
let lab: TokenLab

beforeEach(() => {
  lab = createTokenLab()
})

afterEach(() => lab.close())

const BODY = { name: 'n', projects: ['demo'], permissions: ['read' as const] }
const HOUR_MS = 3_600_000

async function callerOf({ store }: TokenCell, id: string): Promise<Caller> {
  const { name, projects, permissions, expiresAt, root } = (await store.tokens.get(id)) as TokenRecord
  return { ...CALLER, tokenId: id, tokenName: name, root, projects, permissions, expiresAt }
}

const outcomesAt = (cell: TokenCell, ids: readonly string[]) => Promise.all(ids.map((id) => outcomeAt(cell, id)))

/** Begins a session at one cell, and creates a token in it at another. */
async function begin(aa: TokenCell, bb: TokenCell) {
  const parent = await issueAt(aa)
  const session = (await aa.tokens.beginSession(await callerOf(aa, parent), HOUR_MS)).record.id
  await settled()
  const created = (await bb.tokens.create(await callerOf(bb, session), BODY)).record.id
  await settled()
  return { parent, session, created }
}

describe('a session', () => {
  test('that is signed out at one cell ends at all, and what was created in it at another lives on', async () => {
    const [aa, bb, cc] = [await lab.open('aa'), await lab.open('bb'), await lab.open('cc')]
    const { parent, session, created } = await begin(aa, bb)
    expect(await cc.store.tokens.get(created)).toMatchObject({ createdBy: parent, session })
    await cc.tokens.signOut(await callerOf(cc, session))
    await settled()
    const dd = await lab.open('dd')
    for (const cell of [aa, bb, cc, dd])
      expect(await outcomesAt(cell, [parent, session, created])).toEqual(['alive', 'token_revoked', 'alive'])
    expect([aa.revocations, bb.revocations, cc.revocations]).toEqual([1, 1, 1])
    expect(await eventsOf(cc)).toEqual([`token.revoked ${session}`])
    for (const cell of [aa, bb]) expect(await eventsOf(cell)).not.toContain(`token.revoked ${session}`)
    expect(lab.table.revocations.size).toBe(0)
  })

  test('that is revoked ends at all cells with what was created in it, also after its sign-out', async () => {
    const [aa, bb] = [await lab.open('aa'), await lab.open('bb')]
    const { parent, session, created } = await begin(aa, bb)
    const child = (await aa.tokens.create(await callerOf(aa, created), BODY)).record.id
    await bb.tokens.signOut(await callerOf(bb, session))
    await settled()
    await aa.tokens.revoke(await callerOf(aa, parent), session)
    await settled()
    for (const cell of [aa, bb])
      expect(await outcomesAt(cell, [parent, session, created, child])).toEqual([
        'alive',
        ...Array<string>(3).fill('token_revoked'),
      ])
  })

  test('is signed out here though the answer of the fleet was lost, and in a fleet that was put back to the past', async () => {
    const [aa, bb] = [await lab.open('aa'), await lab.open('bb')]
    const { session, created } = await begin(aa, bb)
    lab.table.fault = 'answers lost'
    await expect(aa.tokens.signOut(await callerOf(aa, session))).rejects.toMatchObject({ code: 'runtime_unavailable' })
    lab.table.fault = null
    await settled()
    expect(await outcomesAt(aa, [session, created])).toEqual(['alive', 'alive'])
    await aa.fleet.relist()
    expect(await outcomesAt(aa, [session, created])).toEqual(['token_revoked', 'alive'])
    const { signedOutAt, ...before } = lab.table.tokens.get(session) as FleetToken
    lab.table.tokens.set(session, before)
    await aa.fleet.relist()
    await settled()
    expect(lab.table.tokens.get(session)).toEqual({ ...before, signedOutAt })
    expect(lab.table.revocations.size).toBe(0)
  })

  test('changes nothing while the fleet cannot be told', async () => {
    const [aa, bb] = [await lab.open('aa'), await lab.open('bb')]
    const { session } = await begin(aa, bb)
    lab.table.fault = 'away'
    await expect(aa.tokens.signOut(await callerOf(aa, session))).rejects.toMatchObject({ code: 'runtime_unavailable' })
    expect(await outcomesAt(aa, [session])).toEqual(['alive'])
  })
})

test.each(['session', 'parent'])('what is created in a session while its %s is revoked ends with it', async (ended) => {
  const aa = await lab.open('aa')
  const parent = await issueAt(aa)
  const session = (await aa.tokens.beginSession(await callerOf(aa, parent), HOUR_MS)).record.id
  const caller = await callerOf(aa, session)
  const minting = Array.from({ length: 20 }, () => aa.tokens.create(caller, BODY))
  await aa.tokens.revoke(caller, ended === 'session' ? session : parent)
  await Promise.allSettled(minting)
  await settled()
  const { records } = await aa.store.tokens.list({ createdBy: parent, after: null, limit: 100 })
  expect(records.filter(({ revokedAt }) => revokedAt === null)).toEqual([])
})

describe('in whatever order a cell hears of the revocation of a session', () => {
  const names = ['session', 'created', 'last', 'revocation'] as const
  test.each(permutationsOf(names).map((order) => [order.join(', '), order] as const))('%s', async (_, order) => {
    const bb = await lab.open('bb')
    const [ids, parent] = [
      { session: newId('tok', 3), created: newId('tok', 2), last: newId('tok', 1) },
      newId('tok', 4),
    ]
    // Each begins its own account, as tokens that operators create do.
    const tokens: Record<string, FleetToken> = {
      session: fleetToken(ids.session, { createdBy: parent, isSession: true }),
      created: fleetToken(ids.created, { createdBy: parent, session: ids.session, cell: 'cc' }),
      last: fleetToken(ids.last, { createdBy: ids.created, cell: 'dd' }),
    }
    const views = (bb.fleet as unknown as { views: Parameters<TableTokens['follow']>[0] }).views
    for (const name of order) {
      const token = tokens[name]
      if (token === undefined)
        views.revocations.put({ token: ids.session, revokedAt: lab.now, until: null, cell: 'aa' })
      else views.tokens.put(token)
    }
    await settled()
    expect(await outcomesAt(bb, Object.values(ids))).toEqual(['token_revoked', 'token_revoked', 'token_revoked'])
  })
})
