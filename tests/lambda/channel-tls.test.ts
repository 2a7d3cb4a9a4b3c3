import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { checkSize, readAgentKeys, readTls } from '../../infra/aws/agent-keys.ts'
import { makeCertificates } from '../helpers/aws/certificates.ts'
import { createClient } from '../helpers/front/client.ts'
import { type Gateway, openGateway } from '../helpers/lambda/gateway.ts'
import { lambdaRuntime, type Packed, packFunction } from '../helpers/lambda/packed.ts'
import { startService, type TestService } from '../helpers/service.ts'

// Follows docs/aws.md over a public address, with certificates made by its commands.
const directory = mkdtempSync(join(tmpdir(), 'boxyard-function-tls-'))
const file = (name: string): string => join(directory, name)
let service: TestService
let packed: Packed

beforeAll(async () => {
  makeCertificates(directory, 'IP:127.0.0.1')
  const settings = {
    BOXYARD_CHANNEL_CA: file('ca.pem'),
    BOXYARD_CHANNEL_CERT: file('agent.pem'),
    BOXYARD_CHANNEL_KEY: file('agent-key.pem'),
  }
  const [started, made] = await Promise.all([
    startService({ front: false, settings }),
    packFunction(file('package'), 'test'),
  ])
  service = started
  packed = { ...made, runtime: lambdaRuntime() }
})

afterAll(async () => {
  await service?.close()
  rmSync(directory, { recursive: true, force: true })
})

test('a function with its certificate reaches the agent by mutual TLS, and one of another authority does not', async () => {
  const keys = readAgentKeys(join(service.dataDir, 'keys'))
  const own = readTls({ ca: file('ca.pem'), cert: file('function.pem'), key: file('function-key.pem') })
  checkSize({ ...keys, ...own })
  const variables = (tls: typeof own) => ({
    BOXYARD_AGENT_URL: service.agentUrl.replace('http:', 'https:'),
    BOXYARD_CHANNEL_KEYS: keys.channel_keys,
    BOXYARD_TOKEN_KEYS: keys.token_keys,
    BOXYARD_CHANNEL_CA: tls.channel_ca,
    BOXYARD_CHANNEL_CERT: tls.channel_cert,
    BOXYARD_CHANNEL_KEY: tls.channel_key,
  })
  const gateway: Gateway = await openGateway(packed, variables(own))
  try {
    const client = createClient(
      () => gateway.url,
      () => service.adminToken,
    )
    expect((await client.get('/v1/me')).status).toBe(200)
    const other = join(directory, 'other')
    makeCertificates(other)
    const foreign = readTls({
      ca: file('ca.pem'),
      cert: join(other, 'function.pem'),
      key: join(other, 'function-key.pem'),
    })
    await gateway.deploy(variables(foreign))
    const refused = await client.get('/v1/me')
    expect([refused.status, refused.body.code]).toEqual([503, 'agent_unavailable'])
  } finally {
    await gateway.close()
  }
})
