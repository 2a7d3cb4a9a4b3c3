import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { createSigner, SIGNATURE_HEADER } from '../../../shared/auth/channel.ts'
import { jsonResponse } from '../../../shared/http/messages.ts'
import { makeFleet, type TestFleet } from '../../helpers/fleet/entries.ts'
import { type FakeAgent, startFakeAgent } from '../../helpers/front/fake-agent.ts'
import { makeDeployment } from '../../helpers/front/test-front.ts'

// Attackers that can read and write on the network between functions and agents, without a channel key.

const BASES = '/v1/projects/demo/bases'
const deployment = makeDeployment()
let fleet: TestFleet
let door: FakeAgent
/** Owns the box. It has just started, so it accepts only requests signed for this run. */
let owner: FakeAgent
let closers: (() => Promise<void>)[]

beforeEach(async () => {
  closers = []
  fleet = makeFleet(deployment.channelKeys)
  fleet.homes.set('box demo/web', 'bb')
  door = await startCell('aa')
  owner = await startCell('bb', { startedAt: Date.now() })
})

afterEach(async () => {
  for (const close of closers.reverse()) await close()
})

async function startCell(cell: string, options: Parameters<typeof startFakeAgent>[1] = {}): Promise<FakeAgent> {
  const entry = fleet.entryOf(cell)
  const agent = await startFakeAgent(() => deployment.channelKeys, { wrap: entry.wrap, ...options })
  agent.respond = () => jsonResponse(201, { made_by: cell })
  fleet.urls.set(cell, agent.url)
  closers.push(async () => {
    await entry.close()
    await agent.close()
  })
  return agent
}

/** Signs a request to create a base as the functions do, and sends it with a different body. */
async function sendSigned(signed: object, sent: object): Promise<Response> {
  const { keys, agent_id: agentId } = deployment.channelKeys
  const sign = createSigner({ keys: () => keys, agentId: () => agentId, now: Date.now })
  const type = 'application/json'
  const headers = { accept: type, authorization: `Bearer ${await deployment.mint()}`, 'content-type': type }
  const signature = sign({ method: 'POST', target: BASES, headers }, Buffer.from(JSON.stringify(signed)))
  return fetch(`${door.url}${BASES}`, {
    method: 'POST',
    headers: { ...headers, [SIGNATURE_HEADER]: signature },
    body: JSON.stringify(sent),
  })
}

test('a door signs no change for a cell that has just begun: the functions do', async () => {
  const honest = { name: 'tools', box: 'web' }
  for (const sent of [honest, { ...honest, name: 'forged' }]) {
    const response = await sendSigned(honest, sent)
    expect([response.status, response.headers.get('x-boxyard-refusal')]).toEqual([502, 'restarted'])
  }
  expect(owner.seen).toEqual([])
})
