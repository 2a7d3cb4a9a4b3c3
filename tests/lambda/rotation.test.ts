import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { readAgentKeys } from '../../infra/aws/agent-keys.ts'
import { eventually } from '../helpers/eventually.ts'
import { createClient } from '../helpers/front/client.ts'
import { type Gateway, openGateway } from '../helpers/lambda/gateway.ts'
import { lambdaRuntime, packFunction } from '../helpers/lambda/packed.ts'
import { startService, type TestService } from '../helpers/service.ts'

// Follows the rotation in docs/aws.md while requests run. A deployment gives the function the keys that `npm run deploy` reads from the
// agent.
const directory = mkdtempSync(join(tmpdir(), 'boxyard-rotation-'))
let service: TestService
let gateway: Gateway
const client = createClient(
  () => gateway.url,
  () => service.adminToken,
)
const environmentNow = (): Record<string, string> => {
  const keys = readAgentKeys(join(service.dataDir, 'keys'))
  return {
    BOXYARD_AGENT_URL: service.agentUrl,
    BOXYARD_CHANNEL_KEYS: keys.channel_keys,
    BOXYARD_TOKEN_KEYS: keys.token_keys,
  }
}

beforeAll(async () => {
  const [started, made] = await Promise.all([startService({ front: false }), packFunction(directory, 'test')])
  service = started
  gateway = await openGateway({ ...made, runtime: lambdaRuntime() }, environmentNow())
})

afterAll(async () => {
  await gateway?.close()
  await service?.close()
  rmSync(directory, { recursive: true, force: true })
})

/** Sends three kinds of requests in a loop until `stop`. Returns the outcome of each request. */
function startTraffic() {
  const answers: string[] = []
  let isOver = false
  const repeat = async (send: () => Promise<{ status: number; text: string }>): Promise<void> => {
    while (!isOver) {
      const { status, text } = await send()
      answers.push(status < 300 ? 'good' : `${status} ${text}`)
    }
  }
  const running = [
    repeat(() => client.get('/v1/me')),
    repeat(() =>
      client.post('/v1/projects/rotation/boxes?wait_seconds=0', { name: 'none', base: 'none' }).then(expectRefusal),
    ),
    // Uses each token right after its creation.
    repeat(async () => {
      const { status, text, body } = await client.post('/v1/tokens', {
        name: 'fresh',
        projects: '*',
        permissions: ['read'],
      })
      return status === 201 ? client.get('/v1/me', { token: body.token }) : { status, text }
    }),
  ]
  return {
    answers,
    /** Waits for `count` more answers. */
    more: async (count: number) => {
      const before = answers.length
      await eventually(() => answers.length >= before + count)
    },
    stop: async () => {
      isOver = true
      await Promise.all(running)
    },
  }
}

function expectRefusal({ status, text }: { status: number; text: string }): { status: number; text: string } {
  return text.includes('base_not_found') ? { status: 200, text } : { status, text }
}

test('keys of channel and tokens rotate without a request that fails', async () => {
  const keyIds = (): string[] => Object.values(environmentNow()).slice(1)
  const first = keyIds()
  const traffic = startTraffic()
  await traffic.more(10)
  await service.runAgentMode('keys', 'prepare', 'token')
  await service.runAgentMode('keys', 'rotate', 'channel')
  const rotatedAt = Date.now()
  // A deployment takes longer than the second in which the agent reads its new keys.
  await eventually(() => Date.now() > rotatedAt + 2_000)
  await traffic.more(10)
  await gateway.deploy(environmentNow())
  await traffic.more(10)
  await service.runAgentMode('keys', 'rotate', 'token')
  await traffic.more(10)
  // The agent remembers a use of the old key for an hour. Here, all functions that signed with it are known to be gone.
  await service.runAgentMode('keys', 'drop-old', 'channel', '--force')
  await traffic.more(10)
  await traffic.stop()
  expect(traffic.answers.filter((answer) => answer !== 'good')).toEqual([])
  expect(traffic.answers.length).toBeGreaterThan(50)
  const { keys } = JSON.parse(readFileSync(join(service.dataDir, 'keys/channel.json'), 'utf8'))
  expect(keys).toHaveLength(1)
  expect(keyIds()[0]).not.toBe(first[0])
})

test('a channel key that was dropped serves no function of before', async () => {
  const before = environmentNow()
  await service.runAgentMode('keys', 'rotate', 'channel', '--force')
  await service.runAgentMode('keys', 'drop-old', 'channel', '--force')
  await gateway.deploy(before)
  await eventually(async () => (await client.get('/v1/me')).status === 502)
  await gateway.deploy(environmentNow())
  expect((await client.get('/v1/me')).status).toBe(200)
})
