import { afterAll, beforeAll, describe } from '@jest/globals'
import { type FakeAgent, startFakeAgent } from '../../helpers/front/fake-agent.ts'
import { type FrontProcess, startFrontProcess } from '../../helpers/front/process.ts'
import { makeDeployment, mintForContract } from '../../helpers/front/test-front.ts'
import { defineFrontContract } from './front-suite.ts'

const deployment = makeDeployment()
const { channelKeys } = deployment
let agent: FakeAgent
let front: FrontProcess
let token = ''

beforeAll(async () => {
  token = await mintForContract(deployment)
  agent = await startFakeAgent(() => channelKeys)
  front = await startFrontProcess({ agentUrl: agent.url, channelKeys, tokenKeys: deployment.keyring.tokens() })
})

afterAll(async () => {
  await front?.close()
  await agent?.close()
})

describe('the standalone front', () => {
  defineFrontContract({ url: () => front.url, token: () => token, agent: () => agent })
})
