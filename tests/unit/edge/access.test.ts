import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import type { EdgeDecision } from '../../../agent/ports/edge/edge.ts'
import {
  answerOf,
  type BackendLab,
  BOX_HOST,
  edgeRequest,
  openBackendLab,
  START,
  targetOf,
} from '../../helpers/edge/backend.ts'

let lab: BackendLab

beforeEach(async () => {
  lab = await openBackendLab()
  lab.hosts.set(BOX_HOST, targetOf({}))
})

afterEach(() => lab.close())

const decide = (changed?: Parameters<typeof edgeRequest>[0]): Promise<EdgeDecision> =>
  lab.backend.gate.decide(edgeRequest(changed))

/** Returns the status and code of a refusal. */
async function refusalOf(changed?: Parameters<typeof edgeRequest>[0]): Promise<string> {
  const { status, body } = answerOf(await decide(changed))
  return `${status} ${(JSON.parse(body) as { code: string }).code}`
}

const WRONG_SESSION = `__Host-boxyard=${'a'.repeat(43)}`

describe('the limit of failures', () => {
  test('refuses networks with too many, and no others', async () => {
    const { token } = await lab.mint()
    for (let guess = 0; guess < 60; guess++) expect(await refusalOf({ token: `x${guess}` })).toBe('401 token_invalid')
    const { status, headers } = answerOf(await decide({ token: 'x' }))
    expect([status, headers['retry-after']]).toEqual([429, '1'])
    expect(await refusalOf({ token })).toBe('429 rate_limited')
    expect(await refusalOf()).toBe('401 token_missing')
    expect(await decide({ token, clientAddress: '192.0.2.2' })).toMatchObject({ kind: 'forward' })
    lab.pass(1_000)
    expect(await decide({ token })).toMatchObject({ kind: 'forward' })
  })

  test.each([
    ['a wrong token', { token: 'x' }, true],
    ['an unknown session', { cookie: WRONG_SESSION }, true],
    ['no credential', {}, false],
    ['a cookie that is no session', { cookie: '__Host-boxyard=x' }, false],
  ])('counts %s: %j: %s', async (_what, changed, counts) => {
    for (let time = 0; time < 60; time++) expect(await refusalOf(changed)).toMatch(/^401 /)
    expect(await refusalOf({ token: 'x' })).toBe(counts ? '429 rate_limited' : '401 token_invalid')
  })

  test.each([
    ['has expired', { expiresAt: START - 1_000 }, '401 token_expired'],
    ['is of another project', { projects: ['other'] }, '403 permission_denied'],
  ])('counts no token that %s, unless a wrong session comes with it', async (_what, wanted, expected) => {
    const { token } = await lab.mint(wanted)
    for (let time = 0; time < 61; time++) expect(await refusalOf({ token })).toBe(expected)
    for (let time = 0; time < 60; time++) expect(await refusalOf({ token, cookie: WRONG_SESSION })).toBe(expected)
    expect(await refusalOf({ token, cookie: WRONG_SESSION })).toBe('429 rate_limited')
  })

  test('counts no session that another page uses', async () => {
    const { id: tokenId } = await lab.mint()
    const { value } = await lab.grants.beginSession(BOX_HOST, { tokenId, expiresAt: null, project: 'demo' })
    const cookie = `__Host-boxyard=${value}`
    for (let time = 0; time < 61; time++)
      expect(await refusalOf({ method: 'POST', cookie })).toBe('403 permission_denied')
    expect(await decide({ cookie })).toMatchObject({ kind: 'forward' })
  })
})
