import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { createChannelKeys } from '../../../shared/auth/keys.ts'
import { SEAL_BYTES } from '../../../shared/auth/sealed-body.ts'
import { ServiceError } from '../../../shared/errors.ts'
import { jsonResponse } from '../../../shared/http/messages.ts'
import { untilTrue } from '../../helpers/boxes/oci-lab.ts'
import { type FakeAgent, type SeenRequest, startFakeAgent } from '../../helpers/front/fake-agent.ts'
import { type FrontProcess, startFrontProcess } from '../../helpers/front/process.ts'
import { makeDeployment } from '../../helpers/front/test-front.ts'

const MIB = 1024 * 1024
const FILES = '/v1/projects/demo/boxes/web/files'
const PIECE = Buffer.alloc(64 * 1024, 'boxyard ')
const deployment = makeDeployment()
let channelKeys = deployment.channelKeys
let agent: FakeAgent
let front: FrontProcess
let token = ''

beforeAll(async () => {
  token = await deployment.mint()
  agent = await startFakeAgent(() => channelKeys)
  front = await startFrontProcess({
    agentUrl: agent.url,
    channelKeys,
    tokenKeys: deployment.keyring.tokens(),
    settings: { BOXYARD_AGENT_TIMEOUT_SECONDS: '2' },
  })
})

afterAll(async () => {
  await front.close()
  await agent.close()
})

beforeEach(() => {
  agent.seen.length = 0
  agent.refusals.length = 0
})

/** Reads an upload to its end, then answers with its digest, as an agent does. */
async function digest({ bytes }: SeenRequest) {
  const hash = createHash('sha256')
  let size = 0
  for await (const piece of bytes ?? []) {
    hash.update(piece)
    size += piece.length
  }
  return jsonResponse(200, { size, sha256: hash.digest('hex') })
}

function open(method: string, path: string, headers: Record<string, string> = {}): ClientRequest {
  const request = httpRequest(`${front.url}${FILES}/${path}`, {
    method,
    agent: false,
    headers: { authorization: `Bearer ${token}`, ...headers },
  })
  request.on('error', () => {})
  return request
}

async function send(request: ClientRequest, sizeBytes: number): Promise<void> {
  request.setMaxListeners(0)
  for (let sent = 0; sent < sizeBytes && !request.destroyed; sent += PIECE.length) {
    const isFull = !request.write(PIECE.subarray(0, Math.min(PIECE.length, sizeBytes - sent)))
    if (!isFull || request.destroyed) continue
    await new Promise<void>((resolve) => {
      for (const event of ['drain', 'close', 'response']) request.once(event, () => resolve())
    })
  }
}

async function textOf(response: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of response) text += String(chunk)
  return text
}

/** Sends a body of `sizeBytes`, and returns the response. */
async function upload(sizeBytes: number, headers: Record<string, string> = {}) {
  const request = open('PUT', 'write?path=/a', headers)
  const answered = once(request, 'response') as Promise<[IncomingMessage]>
  answered.catch(() => {})
  await send(request, sizeBytes)
  request.end()
  const [response] = await answered
  return { status: response.statusCode, body: JSON.parse(await textOf(response)) as Record<string, unknown> }
}

function sha256Of(sizeBytes: number): string {
  const hash = createHash('sha256')
  for (let at = 0; at < sizeBytes; at += PIECE.length)
    hash.update(PIECE.subarray(0, Math.min(PIECE.length, sizeBytes - at)))
  return hash.digest('hex')
}

const sha256 = (bytes: Uint8Array = Buffer.alloc(0)) => createHash('sha256').update(bytes).digest('hex')
const uploads = () => agent.seen.filter(({ method }) => method === 'PUT')

describe('a large body', () => {
  beforeEach(() => {
    agent.respond = (seen) => (seen.method === 'PUT' ? digest(seen) : jsonResponse(200, {}))
  })

  test.each([256 * 1024, 256 * 1024 + 1, 3 * MIB + 1])(
    'of %i bytes arrives as it was sent, with and without a declared length',
    async (size) => {
      for (const headers of [{ 'content-length': String(size) }, {}]) {
        const answer = await upload(size, headers)
        if (size > 256 * 1024) expect(answer).toEqual({ status: 200, body: { size, sha256: sha256Of(size) } })
        else expect([answer.status, sha256(uploads().at(-1)?.body)]).toEqual([200, sha256Of(size)])
      }
      const told = uploads().map(({ request }) => request.headers['content-length'])
      expect(told).toEqual(size > 256 * 1024 ? [String(size + SEAL_BYTES), undefined] : [String(size), String(size)])
    },
  )

  test('is passed on early if it arrives in small pieces', async () => {
    const request = open('PUT', 'write?path=/a')
    const answered = once(request, 'response') as Promise<[IncomingMessage]>
    request.setNoDelay(true)
    let size = 0
    for (; uploads().length === 0; size++) {
      request.write('x')
      await sleep(1)
    }
    request.end()
    const [response] = await answered
    expect(JSON.parse(await textOf(response))).toMatchObject({ size })
    expect(uploads()[0]?.bytes).not.toBeNull()
  })

  test('of 300 MiB passes through, with little memory of the front', async () => {
    await upload(64 * MIB)
    const before = front.rssMb()
    front.peakRssMb()
    const answer = await upload(300 * MIB)
    expect(answer.body).toEqual({ size: 300 * MIB, sha256: sha256Of(300 * MIB) })
    expect(front.peakRssMb() - before).toBeLessThan(40)
  })

  test('ends with its client, and is not taken for whole', async () => {
    let outcome: unknown
    agent.respond = (seen) =>
      seen.method === 'PUT'
        ? digest(seen).then(
            (ok) => ((outcome = ok), ok),
            (error: unknown) => {
              outcome = error
              throw error
            },
          )
        : jsonResponse(200, {})
    for (const headers of [{ 'content-length': String(100 * MIB) }, {}]) {
      outcome = undefined
      const request = open('PUT', 'write?path=/a', headers)
      await send(request, 20 * MIB)
      request.destroy()
      await untilTrue(() => outcome !== undefined)
      expect(outcome).toMatchObject({ code: 'invalid_request' })
    }
  })

  test('that the agent refuses in the middle is answered at once', async () => {
    agent.respond = async ({ bytes }) => {
      let size = 0
      for await (const piece of bytes ?? []) {
        size += piece.length
        if (size > MIB) throw new ServiceError('storage_full', 'The disk is full.')
      }
      return jsonResponse(200, {})
    }
    const request = open('PUT', 'write?path=/a')
    const answered = once(request, 'response') as Promise<[IncomingMessage]>
    void send(request, 10_000 * MIB)
    const [response] = await answered
    expect([response.statusCode, JSON.parse(await textOf(response))]).toMatchObject([507, { code: 'storage_full' }])
    request.destroy()
    agent.respond = (seen) => (seen.method === 'PUT' ? digest(seen) : jsonResponse(200, {}))
    expect(await upload(MIB)).toMatchObject({ status: 200, body: { size: MIB } })
  })

  test('may come from a slow client, and go to an agent that still reads', async () => {
    const request = open('PUT', 'write?path=/a')
    const answered = once(request, 'response') as Promise<[IncomingMessage]>
    await send(request, MIB)
    await sleep(3000)
    await send(request, MIB)
    request.end()
    const [response] = await answered
    expect(JSON.parse(await textOf(response))).toMatchObject({ size: 2 * MIB })
  })

  test('times out if the agent does not read it, or does not answer after its end', async () => {
    for (const isTaken of [true, false]) {
      agent.respond = async (seen) => {
        if (seen.method === 'PUT' && isTaken) await digest(seen)
        if (seen.method === 'PUT') await sleep(6000, undefined, { ref: false })
        return jsonResponse(200, {})
      }
      expect(await upload(20 * MIB)).toMatchObject({ status: 504, body: { code: 'agent_timeout' } })
    }
  })
})

describe('an agent that restarts', () => {
  test('before an upload is noticed in time', async () => {
    const { port } = agent
    await agent.close()
    agent = await startFakeAgent(() => channelKeys, { port, startedAt: Date.now() })
    agent.respond = (seen) => (seen.method === 'PUT' ? digest(seen) : jsonResponse(200, {}))
    expect(await upload(2 * MIB)).toMatchObject({ status: 200, body: { size: 2 * MIB } })
    expect(agent.refusals.map(({ reason }) => reason)).toEqual(['restarted'])
    expect(agent.seen.map(({ method }) => method)).toEqual(['GET', 'PUT'])
  })

  test('or changes its keys at the moment of an upload causes an error that may be retried', async () => {
    const next = { ...createChannelKeys(), agent_id: channelKeys.agent_id }
    agent.respond = async () => {
      channelKeys = next
      front.setChannelKeys(next)
      return jsonResponse(200, {})
    }
    const answer = await upload(2 * MIB)
    expect(answer).toMatchObject({ status: 503, body: { code: 'agent_unavailable', retryable: true } })
    agent.respond = (seen) => (seen.method === 'PUT' ? digest(seen) : jsonResponse(200, {}))
    expect(await upload(2 * MIB)).toMatchObject({ status: 200 })
  })

  test('while an upload is under way ends it', async () => {
    let begun = false
    agent.respond = async (seen) => {
      begun ||= seen.method === 'PUT'
      return seen.method === 'PUT' ? digest(seen) : jsonResponse(200, {})
    }
    const request = open('PUT', 'write?path=/a')
    const answered = once(request, 'response') as Promise<[IncomingMessage]>
    await send(request, 2 * MIB)
    await untilTrue(() => begun)
    const { port } = agent
    await agent.close()
    const [response] = await answered
    expect([response.statusCode, JSON.parse(await textOf(response))]).toMatchObject([
      503,
      { code: 'agent_unavailable' },
    ])
    request.destroy()
    agent = await startFakeAgent(() => channelKeys, { port })
  })
})
