import { afterEach, beforeEach, expect, test } from '@jest/globals'
import type { AgentTransport } from '../../../functions/transport.ts'
import type { HttpHandler } from '../../../shared/http/messages.ts'
import { jsonOf, makeDeployment, makeFront, makeRequest } from '../../helpers/front/test-front.ts'

const deployment = makeDeployment()
const LONG = JSON.stringify(Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [index.toString(36), 0])))
const FLOOD = 24
let app: HttpHandler
let transport: AgentTransport
let tokens: Record<string, string>

beforeEach(async () => {
  ;({ app, transport } = makeFront({ agentUrl: 'http://127.0.0.1:1', keyring: deployment.keyring }))
  tokens = { loud: await deployment.mint({ projects: ['loud'] }), calm: await deployment.mint({ projects: ['calm'] }) }
  // After these requests, the front knows that the tokens are good.
  for (const project of ['loud', 'calm']) await ask(project, '{"x":0}')
})

afterEach(() => transport.close())

async function ask(project: string, body: string): Promise<Record<string, unknown>> {
  const headers = { authorization: `Bearer ${tokens[project]}` }
  const response = await app(makeRequest('POST', `/v1/projects/${project}/boxes`, { headers, body }))
  expect(response.status).toBe(400)
  return jsonOf(response)
}

test.each([
  ['short', '{"x":0}', 3],
  ['long', LONG, 6],
])('a %s body is answered before all the long ones that another project has sent', async (_kind, body, before) => {
  const answered: string[] = []
  const flood = Array.from({ length: FLOOD }, () => ask('loud', LONG).then(() => answered.push('loud')))
  await ask('calm', body).then(() => answered.push('calm'))
  await Promise.all(flood)
  expect(answered).toHaveLength(FLOOD + 1)
  expect(answered.indexOf('calm')).toBeLessThan(before)
})

test('of many unknown fields the first are told', async () => {
  expect((await ask('loud', LONG))['errors']).toHaveLength(50)
})
