import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { untilTrue } from '../../helpers/boxes/oci-lab.ts'
import { untilSteady } from '../../helpers/eventually.ts'
import { type FakeAgent, startFakeAgent } from '../../helpers/front/fake-agent.ts'
import { type FrontProcess, startFrontProcess } from '../../helpers/front/process.ts'
import { makeDeployment } from '../../helpers/front/test-front.ts'

const MIB = 1024 * 1024
const PIECE = Buffer.alloc(64 * 1024, 'boxyard ')
const deployment = makeDeployment()
const { channelKeys } = deployment
let agent: FakeAgent
let front: FrontProcess
let token = ''

beforeAll(async () => {
  token = await deployment.mint()
  agent = await startFakeAgent(() => channelKeys)
  front = await startFrontProcess({ agentUrl: agent.url, channelKeys, tokenKeys: deployment.keyring.tokens() })
  // Warms up: compiles code and opens connections.
  const headers = { authorization: `Bearer ${token}` }
  for (let i = 0; i < 20; i++) await (await fetch(`${front.url}/v1/me`, { headers })).text()
})

afterAll(async () => {
  await front.close()
  await agent.close()
})

function open(method: string) {
  const url = `${front.url}/v1/projects/demo/boxes/web/files/read?path=/a`
  const request = httpRequest(url, { method, agent: false, headers: { authorization: `Bearer ${token}` } })
  request.on('error', () => {})
  request.end()
  return request
}

describe('a large answer', () => {
  let pulled = 0
  let closed = 0
  const produce = (sizeBytes: number): AsyncIterable<Uint8Array> => ({
    [Symbol.asyncIterator]: () => {
      let left = sizeBytes
      return {
        next: async () => {
          if (left <= 0) return { done: true, value: undefined }
          const value = PIECE.subarray(0, Math.min(PIECE.length, left))
          left -= value.length
          pulled += value.length
          return { done: false, value }
        },
        return: async () => {
          closed++
          return { done: true, value: undefined }
        },
      }
    },
  })
  const answerWith = (sizeBytes: number) => () => ({
    status: 200,
    headers: { 'content-type': 'application/octet-stream', 'content-length': String(sizeBytes), etag: '"e"' },
    body: produce(sizeBytes),
  })

  beforeEach(() => {
    pulled = 0
    closed = 0
    agent.respond = answerWith(1024 * MIB)
  })

  async function readAnswer(): Promise<IncomingMessage> {
    const request = open('GET')
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    return response
  }

  test('of 1 GiB passes through whole, with little memory of the front', async () => {
    const expected = createHash('sha256')
    for (let i = 0; i < 16 * 1024; i++) expected.update(PIECE)
    const digest = expected.digest('hex')
    // Tries up to three times. A busy machine delays garbage collection, but a leak shows each time.
    let heldMb = Number.POSITIVE_INFINITY
    for (let time = 0; time < 3 && heldMb >= 20; time++) {
      agent.respond = answerWith(1024 * MIB)
      const before = front.rssMb()
      front.peakRssMb()
      const hash = createHash('sha256')
      for await (const chunk of await readAnswer()) hash.update(chunk as Buffer)
      expect(hash.digest('hex')).toBe(digest)
      heldMb = Math.min(heldMb, front.peakRssMb() - before)
    }
    expect(heldMb).toBeLessThan(20)
  })

  test('waits for a client that does not read, and is closed when it leaves', async () => {
    const response = await readAnswer()
    response.pause()
    front.peakRssMb()
    const before = front.rssMb()
    expect(await untilSteady(() => pulled, 1500)).toBeLessThan(64 * MIB)
    expect(front.peakRssMb() - before).toBeLessThan(20)
    response.destroy()
    await untilTrue(() => closed === 1)
  })

  test('is not sent for HEAD, which gets all headers', async () => {
    const request = open('HEAD')
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    expect(response).toMatchObject({ statusCode: 200, headers: { 'content-length': String(1024 * MIB), etag: '"e"' } })
    await untilTrue(() => closed === 1)
    expect(pulled).toBeLessThan(16 * MIB)
  })

  test('that the agent breaks off is broken off for the client', async () => {
    const { port } = agent
    const response = await readAnswer()
    response.once('data', () => void agent.close())
    await expect(response.toArray()).rejects.toThrow()
    agent = await startFakeAgent(() => channelKeys, { port })
  })
})
