import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { FleetRevocation, FleetToken, FleetTokens, FleetView } from '../../../agent/ports/fleet/tokens.ts'
import { newId } from '../../../shared/ids.ts'
import { eventually } from '../../helpers/eventually.ts'

/** The tokens of two cells under test. */
export interface TokensLab {
  aa: FleetTokens
  bb: FleetTokens
  close(): Promise<void>
}

/** Defines the contract tests of the tokens in every fleet. */
export function defineFleetTokensSuite(kind: string, open: () => Promise<TokensLab>): void {
  let lab: TokensLab

  describe(`${kind} tokens`, () => {
    beforeAll(async () => {
      lab = await open()
    })
    afterAll(() => lab?.close())

    test('have the number of their cell', () => {
      expect([lab.aa.cell, lab.bb.cell]).toEqual(['aa', 'bb'])
    })

    test.each<[string, Partial<FleetToken>]>([
      ['with all that it may have', { createdBy: newId('tok', 1), root: newId('tok', 1), expiresAt: END, cell: 'aa' }],
      [
        'of a session, begun in another and signed out',
        {
          createdBy: newId('tok', 1),
          isSession: true,
          session: newId('tok', 1),
          signedOutAt: END - 1000,
          expiresAt: END,
        },
      ],
      ['of all projects, which never expires', { projects: '*', keyId: null }],
    ])('a record %s is read as it was published', async (_, changes) => {
      const token = tokenOf(changes)
      await lab.aa.publish(token)
      expect(await lab.bb.read(token.id)).toEqual({ token, revocation: null })
    })

    test('a record is published once', async () => {
      const token = tokenOf()
      await lab.aa.publish(token)
      await lab.bb.publish({ ...token, name: 'other' })
      expect((await lab.aa.read(token.id))?.token).toEqual(token)
      expect(await lab.aa.read(newId('tok', 1))).toBeNull()
    })

    test('end and key are moved, and nothing else', async () => {
      const token = tokenOf({ expiresAt: END })
      await lab.aa.publish(token)
      const changed = { ...token, expiresAt: END + 5_000, keyId: 'next' }
      await lab.bb.change({ ...changed, name: 'other', permissions: ['admin'] })
      expect((await lab.aa.read(token.id))?.token).toEqual(changed)
    })

    test('a sign-out is noted, and stays', async () => {
      const session = tokenOf({ expiresAt: END, isSession: true })
      await lab.aa.publish(session)
      await lab.bb.change({ ...session, signedOutAt: END - 1000 })
      await lab.aa.change({ ...session, keyId: 'next' })
      const kept = { ...session, keyId: 'next', signedOutAt: END - 1000 }
      expect((await lab.aa.read(session.id))?.token).toEqual(kept)
    })

    test('a change of one that is gone publishes it', async () => {
      const token = tokenOf({ expiresAt: END })
      await lab.aa.change(token)
      expect((await lab.bb.read(token.id))?.token).toEqual(token)
    })

    test('the first revocation of a token stays', async () => {
      const token = tokenOf()
      await lab.aa.publish(token)
      const revocation = { token: token.id, revokedAt: END, until: END + 1, cell: 'bb' }
      await lab.bb.revoke(revocation)
      await lab.aa.revoke({ ...revocation, revokedAt: END + 7, until: null })
      expect(await lab.aa.read(token.id)).toEqual({ token, revocation })
      await lab.aa.removeRevocation(token.id)
      await lab.aa.removeRevocation(token.id)
      expect(await lab.bb.read(token.id)).toEqual({ token, revocation: null })
    })

    test('a token is removed, on demand only if it has expired', async () => {
      const [token, lasting] = [tokenOf({ expiresAt: END }), tokenOf()]
      for (const each of [token, lasting]) await lab.aa.publish(each)
      await lab.bb.removeToken(token.id, { expiredBefore: END })
      await lab.bb.removeToken(lasting.id, { expiredBefore: END + 1 })
      expect([(await lab.aa.read(token.id))?.token, (await lab.aa.read(lasting.id))?.token]).toEqual([token, lasting])
      await lab.bb.removeToken(token.id, { expiredBefore: END + 1 })
      await lab.bb.removeToken(lasting.id, { expiredBefore: null })
      await lab.bb.removeToken(lasting.id, { expiredBefore: null })
      expect([await lab.aa.read(token.id), await lab.aa.read(lasting.id)]).toEqual([null, null])
    })

    test('are followed: what is there first, then every change of any cell', async () => {
      const [before, after] = [tokenOf({ expiresAt: END }), tokenOf()]
      const revocation = { token: before.id, revokedAt: END, until: null, cell: 'aa' }
      await lab.aa.publish(before)
      const seen = collectViews()
      await lab.bb.follow(seen)
      expect([seen.tokens.known.get(before.id), seen.revocations.known.size]).toEqual([before, 0])
      await lab.aa.publish(after)
      await lab.aa.change({ ...before, keyId: 'next' })
      await lab.aa.revoke(revocation)
      await eventually(() => seen.revocations.known.has(before.id) && seen.tokens.known.has(after.id), 5)
      await eventually(() => seen.tokens.known.get(before.id)?.keyId === 'next', 5)
      expect(seen.revocations.known.get(before.id)).toEqual(revocation)
      await lab.bb.removeToken(after.id, { expiredBefore: null })
      await lab.aa.removeRevocation(before.id)
      await eventually(() => !seen.revocations.known.has(before.id) && !seen.tokens.known.has(after.id), 5)
    })
  })
}

/** A view that keeps its values. */
interface Collected<T> extends FleetView<T> {
  known: Map<string, T>
}

/** Makes views of both kinds. */
export function collectViews(): { tokens: Collected<FleetToken>; revocations: Collected<FleetRevocation> } {
  return { tokens: collectBy(({ id }) => id), revocations: collectBy(({ token }) => token) }
}

function collectBy<T>(idOf: (item: T) => string): Collected<T> {
  const known = new Map<string, T>()
  return {
    known,
    replaceAll: async (pages) => {
      const listed: T[] = []
      for await (const page of pages) listed.push(...page)
      known.clear()
      for (const item of listed) known.set(idOf(item), item)
    },
    put: (item) => void known.set(idOf(item), item),
    drop: (id) => void known.delete(id),
  }
}

/** Returns a record that the API server accepts. */
export function tokenOf(changes: Partial<FleetToken> = {}): FleetToken {
  const id = newId('tok', 1)
  return {
    ...{ id, keyId: 'k', name: 'ci', projects: ['demo', 'staging'], permissions: ['read', 'exec'] },
    ...{ expiresAt: null, createdAt: Date.parse('2026-11-26T02:50:00.713Z'), createdBy: null, root: id },
    ...changes,
  }
}

const END = Date.parse('2027-11-26T02:50:00Z')
