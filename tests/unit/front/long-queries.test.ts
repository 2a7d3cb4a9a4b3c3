import { afterEach, beforeEach, expect, jest, test } from '@jest/globals'
import type { AgentTransport } from '../../../functions/transport.ts'
import type { HttpHandler } from '../../../shared/http/messages.ts'
import { jsonOf, makeDeployment, makeFront, makeRequest } from '../../helpers/front/test-front.ts'

const deployment = makeDeployment()
const MANY = names(1_025)
const MOST = names(1_023)
const FLOOD = 24
let app: HttpHandler
let transport: AgentTransport
let token = ''

beforeEach(async () => {
  ;({ app, transport } = makeFront({ agentUrl: 'http://127.0.0.1:1', keyring: deployment.keyring }))
  token = await deployment.mint()
})

afterEach(async () => {
  jest.restoreAllMocks()
  await transport.close()
})

function names(count: number): string {
  return Array.from({ length: count }, (_, index) => index.toString(36)).join('&')
}

async function ask(path: string, headers: Record<string, string> = {}): Promise<Record<string, unknown>> {
  return jsonOf(await app(makeRequest('GET', path, { headers })))
}

test.each([
  ['of no route', `/none?${MANY}`, 'route_not_found'],
  ['without a token', `/v1/projects/demo/boxes?${MANY}`, 'token_missing'],
  ['with more than 1,024 names beside a ticket', `/v1/projects/demo/events?ticket=none&${MANY}`, 'invalid_request'],
])('a query %s is not parsed', async (_what, path, code) => {
  const parsed: unknown[] = []
  const Original = URLSearchParams
  jest.spyOn(globalThis, 'URLSearchParams').mockImplementation((search) => {
    parsed.push(search)
    return new Original(search)
  })
  expect(await ask(path)).toMatchObject({ code })
  expect(parsed).toEqual([])
})

test('the most names are looked at, and the first faults told', async () => {
  const answer = await ask(`/v1/projects/demo/boxes?${MOST}`, { authorization: `Bearer ${token}` })
  expect(answer).toMatchObject({ code: 'invalid_request' })
  expect(answer['errors']).toHaveLength(50)
})

/** Requests that are long and expensive to parse, by the way they are sent for the project `loud`. */
const FLOODS = {
  'queries with tickets from another address': () => ask(`/v1/projects/loud/events?ticket=none&${MOST}`),
  'bodies of another project': async () => {
    const headers = { authorization: `Bearer ${token}` }
    const body = JSON.stringify({ fields: names(1_023).split('&') })
    return jsonOf(await app(makeRequest('POST', '/v1/projects/loud/boxes', { headers, body })))
  },
}

test.each(Object.entries(FLOODS))('a short request is answered before all the long %s', async (_what, flood) => {
  await ask('/v1/projects/calm/boxes?x', { authorization: `Bearer ${token}` })
  const answered: string[] = []
  const loud = Array.from({ length: FLOOD }, () => flood().then(() => answered.push('loud')))
  await ask('/v1/projects/calm/boxes?x', { authorization: `Bearer ${token}` }).then(() => answered.push('calm'))
  await Promise.all(loud)
  expect(answered).toHaveLength(FLOOD + 1)
  expect(answered.indexOf('calm')).toBeLessThan(3)
})
