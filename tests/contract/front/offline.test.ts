import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe } from '@jest/globals'
import { publicTokenKeys } from '../../../shared/auth/keys.ts'
import { type FakeAgent, startFakeAgent } from '../../helpers/front/fake-agent.ts'
import { type Offline, startOffline } from '../../helpers/front/offline.ts'
import { makeDeployment, mintForContract } from '../../helpers/front/test-front.ts'
import { defineFrontContract } from './front-suite.ts'

const deployment = makeDeployment()
const { channelKeys, tokenKeys } = deployment
const dataDir = mkdtempSync(join(tmpdir(), 'boxyard-offline-'))
let agent: FakeAgent
let offline: Offline
let token = ''

beforeAll(async () => {
  token = await mintForContract(deployment)
  agent = await startFakeAgent(() => channelKeys)
  mkdirSync(join(dataDir, 'keys'))
  writeFileSync(join(dataDir, 'keys/channel.json'), JSON.stringify(channelKeys))
  writeFileSync(join(dataDir, 'keys/token-public.json'), JSON.stringify(publicTokenKeys(tokenKeys)))
  offline = await startOffline({ BOXYARD_DATA_DIR: dataDir, BOXYARD_AGENT_URL: agent.url })
})

afterAll(async () => {
  await offline?.close()
  await agent?.close()
  rmSync(dataDir, { recursive: true, force: true })
})

describe('the functions under serverless-offline', () => {
  defineFrontContract({ url: () => offline.url, token: () => token, agent: () => agent })
})
