import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { publicTokenKeys } from '../../shared/auth/keys.ts'
import { defineFrontContract } from '../contract/front/front-suite.ts'
import { defineTicketsSuite } from '../e2e/access/tickets-suite.ts'
import { defineSpecificationSuite } from '../e2e/specification-suite.ts'
import { eventually } from '../helpers/eventually.ts'
import { createClient } from '../helpers/front/client.ts'
import { type FakeAgent, startFakeAgent } from '../helpers/front/fake-agent.ts'
import { makeDeployment, mintForContract } from '../helpers/front/test-front.ts'
import { type Gateway, openGateway } from '../helpers/lambda/gateway.ts'
import { lambdaRuntime, type Packed, packFunction } from '../helpers/lambda/packed.ts'
import { functionVariables } from '../helpers/lambda/variables.ts'
import { startService, type TestService } from '../helpers/service.ts'

// Runs the deployable package under AWS's own client of the Lambda Runtime API, in front of a real agent. Helpers implement the
// API's four calls and the HTTP API in front, because AWS publishes no servers for them.
const directory = mkdtempSync(join(tmpdir(), 'boxyard-lambda-'))
let service: TestService
let packed: Packed
let gateway: Gateway
const client = createClient(
  () => gateway.url,
  () => service.adminToken,
)

beforeAll(async () => {
  const [started, made] = await Promise.all([startService({ front: false }), packFunction(directory, 'test')])
  service = started
  packed = { ...made, runtime: lambdaRuntime() }
  gateway = await openGateway(packed, functionVariables(service))
})

afterAll(async () => {
  await gateway?.close()
  await service?.close()
  rmSync(directory, { recursive: true, force: true })
})

describe("through AWS's runtime", () => {
  defineSpecificationSuite(client)
  defineTicketsSuite(client, {
    url: () => service.dataUrl,
    token: () => service.adminToken,
    logs: () => [...service.logs, ...gateway.said],
  })

  test('requests at once are handled by as many instances, which serve later ones, too', async () => {
    await Promise.all(Array.from({ length: 3 }, () => client.get('/v1/me')))
    const started = gateway.started()
    for (let i = 0; i < 5; i++) expect((await client.get('/v1/me')).status).toBe(200)
    expect(gateway.started()).toBe(started)
  })

  test('a session of the console begins, and is refused to pages of other origins', async () => {
    const origin = gateway.url
    const begun = await client.post('/v1/session', undefined, { headers: { origin: origin.replace('http', 'https') } })
    const cookie = String(begun.headers['set-cookie'])
    expect([begun.status, cookie]).toEqual([201, expect.stringMatching(/^__Host-.*; SameSite=Strict; Secure$/)])
    const headers = { 'x-boxyard-session': begun.body.session, cookie: `a=1; ${cookie.split(';')[0]}` }
    const ask = (more: Record<string, string>) =>
      client.get('/v1/me', { token: null, headers: { ...headers, ...more } })
    expect((await ask({ origin })).body).toEqual(begun.body.token)
    expect((await ask({ origin: 'http://evil.example' })).body).toMatchObject({ code: 'permission_denied' })
    expect((await ask({ cookie: 'a=1' })).body).toMatchObject({ code: 'token_invalid' })
  })

  test('a function without good keys says so in its log, and never what they are', async () => {
    const broken = await openGateway(packed, {
      ...functionVariables(service),
      BOXYARD_CHANNEL_KEYS: '{"agent_id":"a","keys":["s3cret"]}',
    })
    try {
      const answer = await fetch(`${broken.url}/v1/me`)
      expect([answer.status, await answer.text()]).toEqual([500, '{"message":"Internal Server Error"}'])
      await eventually(() => broken.said.join('\n').includes('has a key that is not well-formed, at index 0'))
      expect(broken.said.join('\n')).not.toContain('s3cret')
    } finally {
      await broken.close()
    }
  })
})

describe("the functions under AWS's runtime", () => {
  const deployment = makeDeployment()
  let agent: FakeAgent
  let front: Gateway
  let token = ''

  beforeAll(async () => {
    token = await mintForContract(deployment)
    agent = await startFakeAgent(() => deployment.channelKeys)
    front = await openGateway(packed, {
      BOXYARD_AGENT_URL: agent.url,
      BOXYARD_CHANNEL_KEYS: JSON.stringify(deployment.channelKeys),
      BOXYARD_TOKEN_KEYS: JSON.stringify(publicTokenKeys(deployment.tokenKeys)),
    })
  })

  afterAll(async () => {
    await front?.close()
    await agent?.close()
  })

  defineFrontContract({ url: () => front.url, token: () => token, agent: () => agent })
})
