import { describe, expect, test } from '@jest/globals'
import { auditMutation, refusalOf } from '../../../agent/server/audit.ts'
import { newFacts, type RequestFacts } from '../../../agent/server/request-facts.ts'
import { auditRefusedRequest } from '../../../functions/reception.ts'
import type { TokenClaims } from '../../../shared/auth/tokens.ts'
import { ServiceError } from '../../../shared/errors.ts'
import { createLineBudget } from '../../../shared/log-budget.ts'
import { operations } from '../../../shared/routes.ts'
import { CALLER } from '../../helpers/caller.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'

let now = 0
const fail = (): never => {
  throw new Error('not called')
}
const clock = { now: () => now, sleep: () => Promise.resolve() }
type Entry = Parameters<Parameters<typeof refusalOf>[2]['audit']['add']>[0]

function recorder() {
  const [lines, entries]: [Record<string, unknown>[], Entry[]] = [[], []]
  const logger = { ...silentLogger, info: (_message: string, fields = {}) => void lines.push(fields) }
  const audit = { add: (entry: Entry) => void entries.push(entry) }
  return { lines, entries, deps: { logger, clock, audit, lines: createLineBudget({ now: () => now }) } }
}

function factsOf(changes: Partial<RequestFacts> = {}, target = '/v1/projects/demo/boxes'): RequestFacts {
  const head = { method: 'POST', target, headers: {} }
  return { ...newFacts(head, now), operation: operations.createBox, project: 'demo', caller: CALLER, ...changes }
}

describe('the audit log', () => {
  test('has at most 512 bytes of a target', () => {
    const { lines, entries, deps } = recorder()
    for (const target of [`/v1/${'x'.repeat(16_000)}`, `/v1/${'é'.repeat(8_000)}`]) {
      auditMutation(factsOf({}, target), 201, deps)
    }
    for (const { target } of [...entries, ...lines] as { target: string }[]) {
      expect(Buffer.byteLength(target)).toBeLessThanOrEqual(512)
      expect(Buffer.byteLength(target)).toBeGreaterThan(500)
      expect(target).toMatch(/^\/v1\/(x+|é+)…$/)
    }
    expect(entries).toHaveLength(2)
  })

  test('of a project has no refusal of who may not enter it', () => {
    const { entries, deps } = recorder()
    const denied = new ServiceError('permission_denied', 'No.')
    const foreign = { ...CALLER, projects: ['other'], accounts: ['project other'] }
    refusalOf(denied, factsOf({ caller: foreign }), deps)
    refusalOf(new ServiceError('token_invalid', 'No.'), factsOf({ caller: null }), deps)
    refusalOf(denied, factsOf(), deps)
    refusalOf(denied, factsOf({ caller: { ...CALLER, projects: '*' } }), deps)
    expect(entries.map(({ project }) => project)).toEqual([null, null, 'demo', 'demo'])
  })

  test('has nothing of requests that came too often', () => {
    const { entries, lines, deps } = recorder()
    expect(refusalOf(new ServiceError('rate_limited', 'No.'), factsOf(), deps).status).toBe(429)
    expect([entries, lines]).toEqual([[], []])
  })

  test('is shared by the chain of a token; of an operator by the projects it acts in', () => {
    const { entries, deps } = recorder()
    const operator = { ...CALLER, root: 'tok_op', projects: '*' as const, permissions: ['admin'] as const }
    for (const project of ['a', 'b']) auditMutation(factsOf({ caller: operator, project }), 201, deps)
    for (const tokenId of ['tok_1', 'tok_2']) auditMutation(factsOf({ caller: { ...CALLER, tokenId } }), 201, deps)
    refusalOf(new ServiceError('token_invalid', 'No.'), factsOf({ caller: null }), deps)
    const chain = `token ${CALLER.root}`
    expect(entries.map(({ account }) => account)).toEqual([
      ...['token tok_op project a', 'token tok_op project b', chain, chain, 'strangers'],
    ])
  })
})

describe('the lines of one caller in the log', () => {
  test('are 500 at once and one a second, which tells how many were left out; others write on', () => {
    now = 0
    const { lines, entries, deps } = recorder()
    for (let i = 0; i < 700; i++) auditMutation(factsOf({ caller: { ...CALLER, tokenId: `tok_${i}` } }), 201, deps)
    expect([lines.length, entries.length]).toEqual([500, 700])
    const other = { ...CALLER, root: 'tok_other' }
    auditMutation(factsOf({ caller: other }), 201, deps)
    expect(lines).toHaveLength(501)
    now = 1_000
    for (let i = 0; i < 10; i++) auditMutation(factsOf(), 201, deps)
    expect(lines).toHaveLength(502)
    expect(lines.at(-1)).toMatchObject({ left_out: 200 })
    for (let i = 0; i < 10; i++) refusalOf(new Error('a fault'), factsOf(), deps)
    now = 600_000
    for (let i = 0; i < 700; i++) auditMutation(factsOf(), 201, deps)
    expect(lines).toHaveLength(1_002)
    expect(lines.at(-500)).toMatchObject({ left_out: 19 })
    expect(lines.at(-1)).not.toHaveProperty('left_out')
  })

  test('that tell of faults are bounded, too', () => {
    now = 0
    const { deps } = recorder()
    let faults = 0
    const logger = { ...silentLogger, error: () => void faults++ }
    for (let i = 0; i < 600; i++) refusalOf(new Error('a fault'), factsOf(), { ...deps, logger })
    expect(faults).toBe(500)
  })

  test('are bounded in the front, too: those without a good token share one account', () => {
    now = 0
    const { deps } = recorder()
    let written = 0
    const logger = { ...silentLogger, info: () => void written++ }
    const refuse = (clientAddress: string, claims: TokenClaims | null): void => {
      const request = { method: 'GET', target: '/v1/me', headers: {}, clientAddress, signal: AbortSignal.any([]) }
      const progress = { startedAt: 0, operation: operations.getMe, claims }
      const reception = { logger, audit: logger, lines: deps.lines, authenticate: async () => fail(), now: () => now }
      auditRefusedRequest(new ServiceError('token_invalid', 'No.'), request, { ...reception, requestId: 'r', progress })
    }
    for (let i = 0; i < 600; i++) refuse(`192.0.2.${i % 250}`, null)
    expect(written).toBe(2 * 500)
    const claims = { jti: 'tok_1', sub: 'ci', projects: '*', permissions: [], iat: 0, exp: null } as const
    refuse('192.0.2.1', claims)
    expect(written).toBe(2 * 501)
  })

  test('are remembered of 10,000 callers', () => {
    const budget = createLineBudget({ now: () => 0 })
    for (let i = 0; i < 500; i++) budget.take('first')
    expect(budget.take('first')).toBeNull()
    for (let i = 0; i < 9_999; i++) budget.take(`other ${i}`)
    expect(budget.take('first')).toBeNull()
    for (let i = 0; i < 10_000; i++) budget.take(`another ${i}`)
    expect(budget.take('first')).toBe(0)
  })
})
