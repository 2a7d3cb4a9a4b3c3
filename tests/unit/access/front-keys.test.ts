import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { createAuthenticator } from '../../../functions/auth.ts'
import { createKeyring } from '../../../functions/keyring.ts'
import { createChannelKeys, createTokenKeys, publicTokenKeys } from '../../../shared/auth/keys.ts'
import { mintToken, type TokenClaims } from '../../../shared/auth/tokens.ts'
import { startFakeAgent } from '../../helpers/front/fake-agent.ts'
import { jsonOf, makeDeployment, makeFront, makeRecorder, makeRequest } from '../../helpers/front/test-front.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'

const deployment = makeDeployment()
const BOX = '/v1/projects/demo/boxes/web'
let token = ''

beforeAll(async () => {
  token = await deployment.mint()
})

const bearer = () => ({ authorization: `Bearer ${token}` })

describe('changed keys', () => {
  let directory: string
  let closers: { close(): Promise<void> }[]

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'front-keys-'))
    closers = []
  })

  afterEach(async () => {
    for (const part of closers) await part.close()
    rmSync(directory, { recursive: true })
  })

  test("are read again when the agent refuses the front's, and the request is sent once more", async () => {
    const next = createChannelKeys()
    const agent = await startFakeAgent(() => next)
    closers.push(agent)
    let channel = deployment.channelKeys
    const keyring = {
      channel: () => channel,
      tokens: () => deployment.keyring.tokens(),
      refresh: () => {
        channel = next
      },
    }
    const { app, transport } = makeFront({ agentUrl: agent.url, keyring })
    closers.unshift(transport)
    const body = '{"name":"web"}'
    const answer = await app(makeRequest('POST', '/v1/projects/demo/boxes', { headers: bearer(), body }))
    expect(answer.status).toBe(200)
    expect(agent.refusals).toMatchObject([{ reason: 'unknown_key' }])
    expect(agent.seen.map((seen) => seen.body.toString())).toEqual([body])
  })

  test('let every request in flight pass with a single read', async () => {
    const next = createChannelKeys()
    const agent = await startFakeAgent(() => next)
    closers.push(agent)
    const file = join(directory, 'channel.json')
    writeFileSync(file, JSON.stringify(deployment.channelKeys))
    const tokenKeys = { text: JSON.stringify(deployment.keyring.tokens()) }
    const keyring = createKeyring({ channelKeys: { file }, tokenKeys, logger: silentLogger, now: () => 0 })
    const { app, transport } = makeFront({ agentUrl: agent.url, keyring })
    closers.unshift(transport)
    const send = () => app(makeRequest('POST', `${BOX}/stop`, { headers: bearer() }))
    writeFileSync(file, JSON.stringify(next))
    const answers = await Promise.all(Array.from({ length: 20 }, send))
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200))
    expect(agent.refusals).toHaveLength(20)
  })

  test('let concurrent tokens of a new key pass', async () => {
    const next = createTokenKeys()
    const file = join(directory, 'token-public.json')
    writeFileSync(file, JSON.stringify(deployment.keyring.tokens()))
    const channelKeys = { text: JSON.stringify(deployment.channelKeys) }
    const keyring = createKeyring({ channelKeys, tokenKeys: { file }, logger: silentLogger, now: () => 0 })
    const authenticate = createAuthenticator({ keyring, now: Date.now })
    const claims: TokenClaims = { jti: 't', sub: 't', projects: '*', permissions: ['read'], iat: 1, exp: null }
    const fresh = await mintToken(next, claims)
    writeFileSync(file, JSON.stringify(publicTokenKeys(next)))
    const send = () => authenticate({ authorization: `Bearer ${fresh}` })
    expect(await Promise.all(Array.from({ length: 20 }, send))).toEqual(Array(20).fill(claims))
  })

  test('cause a refusal without its reason if they are in fact the same', async () => {
    const agent = await startFakeAgent(() => createChannelKeys())
    closers.push(agent)
    const recorder = makeRecorder()
    const keyring = createKeyring({
      channelKeys: { text: JSON.stringify(deployment.channelKeys) },
      tokenKeys: { text: JSON.stringify(deployment.keyring.tokens()) },
      logger: silentLogger,
      now: Date.now,
    })
    const { app, transport } = makeFront({ agentUrl: agent.url, keyring, logger: recorder.logger })
    closers.unshift(transport)
    const answer = await app(makeRequest('GET', BOX, { headers: bearer() }))
    expect(answer.status).toBe(502)
    expect(jsonOf(answer)).toMatchObject({ code: 'agent_protocol' })
    expect(JSON.stringify(answer.headers)).not.toContain('refusal')
    expect(recorder.lines).toContainEqual(
      expect.objectContaining({ level: 'warn', fields: expect.objectContaining({ reason: 'unknown_key' }) }),
    )
  })
})
