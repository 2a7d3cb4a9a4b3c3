import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals'
import { createStrangerTurns, type StrangerTurns } from '../../../functions/stranger-turns.ts'
import type { ServiceError } from '../../../shared/errors.ts'
import { FRONT_BOUNDS } from '../../../shared/http/bounds.ts'
import type { HttpHandler } from '../../../shared/http/messages.ts'
import { jsonOf, makeDeployment, makeFront, makeRequest } from '../../helpers/front/test-front.ts'

const { refusalsBurst, refusalsPerSecond, refusalsWaiting } = FRONT_BOUNDS
let turns: StrangerTurns

beforeEach(() => {
  jest.useFakeTimers()
  turns = createStrangerTurns({ now: Date.now })
})

afterEach(() => {
  turns.close()
  jest.useRealTimers()
})

function refused(clientAddress: string): Promise<ServiceError | null> {
  return turns.wait({ clientAddress }, { claims: null }, { status: 401 })
}

/** Uses up the burst of refusals of `address`. */
async function exhaust(address: string): Promise<void> {
  for (let count = 0; count < refusalsBurst; count++) expect(await refused(address)).toBe(null)
}

/** Asks `count` times at once. The returned array fills as answers arrive. */
function ask(address: string, count: number): (ServiceError | null)[] {
  const answers: (ServiceError | null)[] = []
  for (let asked = 0; asked < count; asked++) void refused(address).then((answer) => answers.push(answer))
  return answers
}

describe('refusals beyond the burst', () => {
  test('come one after the other, as rate_limited', async () => {
    await exhaust('192.0.2.1')
    const answers = ask('192.0.2.1', 2 * refusalsPerSecond)
    await jest.advanceTimersByTimeAsync(0)
    expect(answers).toHaveLength(0)
    await jest.advanceTimersByTimeAsync(1_000)
    expect(answers).toHaveLength(refusalsPerSecond)
    await jest.advanceTimersByTimeAsync(1_000)
    expect(answers).toHaveLength(2 * refusalsPerSecond)
    expect(answers.at(-1)).toMatchObject({ code: 'rate_limited', headers: { 'Retry-After': '2' } })
  })

  test('are those of one address: an IPv4 address, or the /64 of an IPv6 address', async () => {
    await exhaust('192.0.2.1')
    await exhaust('2001:db8::1')
    const [same, other] = [ask('2001:db8::2', 1), ask('192.0.2.2', 1)]
    await jest.advanceTimersByTimeAsync(0)
    expect(same).toEqual([])
    expect(other).toEqual([null])
  })

  test('close the connection at once where too many wait, and leave room to other addresses', async () => {
    await exhaust('192.0.2.1')
    await exhaust('192.0.2.2')
    const loud = ask('192.0.2.1', refusalsWaiting)
    const calm = ask('192.0.2.2', 1)
    await jest.advanceTimersByTimeAsync(0)
    expect(loud).toHaveLength(refusalsWaiting / 2)
    expect(loud[0]).toMatchObject({ code: 'rate_limited', headers: { Connection: 'close' } })
    await jest.advanceTimersByTimeAsync(1_000 / refusalsPerSecond)
    expect(calm).toMatchObject([{ code: 'rate_limited', headers: { 'Retry-After': '1' } }])
    expect(calm[0]?.headers).not.toHaveProperty('Connection')
  })

  test('come at once again after a while, and when the front closes', async () => {
    await exhaust('192.0.2.1')
    await jest.advanceTimersByTimeAsync((refusalsBurst / refusalsPerSecond) * 1_000)
    await exhaust('192.0.2.1')
    const waiting = ask('192.0.2.1', 5)
    turns.close()
    await jest.advanceTimersByTimeAsync(0)
    expect(waiting).toHaveLength(5)
    expect(await refused('192.0.2.1')).toBe(null)
  })
})

describe('a front', () => {
  const deployment = makeDeployment()
  const PATH = '/v1/projects/demo/boxes'
  let app: HttpHandler
  let token = ''

  beforeEach(async () => {
    token = await deployment.mint()
    ;({ app } = makeFront({ agentUrl: 'http://127.0.0.1:9', keyring: deployment.keyring, strangers: turns }))
  })

  test.each([
    ['no token', PATH, {}, 'token_missing'],
    ['a wrong token', PATH, { authorization: 'Bearer x' }, 'token_invalid'],
    ['no route', '/none', {}, 'route_not_found'],
    ['a bad query beside a ticket', '/v1/projects/demo/events?ticket=none&x', {}, 'invalid_request'],
  ])('has strangers wait for refusals of %s, and answers others at once', async (_what, path, headers, code) => {
    const first = await app(makeRequest('GET', path, { headers }))
    expect(jsonOf(first)).toMatchObject({ code })
    for (let count = 1; count < refusalsBurst; count++) await refused('192.0.2.1')
    let answered: Record<string, unknown> | null = null
    const asked = app(makeRequest('GET', path, { headers })).then((answer) => {
      answered = jsonOf(answer)
      expect(answer.headers['retry-after']).toBe('1')
    })
    const known = await app(makeRequest('GET', `${PATH}?x`, { headers: { authorization: `Bearer ${token}` } }))
    expect(jsonOf(known)).toMatchObject({ code: 'invalid_request' })
    expect(answered).toBe(null)
    await jest.advanceTimersByTimeAsync(1_000)
    await asked
    expect(answered).toMatchObject({ code: 'rate_limited', status: 429 })
  })

  test('closes connections where too many wait', async () => {
    for (let count = 0; count < refusalsBurst + refusalsWaiting / 2; count++) void refused('192.0.2.1')
    const { status, headers } = await app(makeRequest('GET', PATH))
    expect([status, headers['connection']]).toEqual([429, 'close'])
  })
})
