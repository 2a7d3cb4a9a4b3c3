import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { ChannelTls } from '../../../functions/config.ts'
import { createNodeTransport } from '../../../functions/node-transport.ts'
import { createPoolTransport } from '../../../functions/pool-transport.ts'
import { jsonResponse } from '../../../shared/http/messages.ts'
import { SERVER_OPTIONS, type Serving, serve } from '../../../shared/http/serve.ts'
import { makeCertificate } from '../../helpers/edge/certificates.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'

const directory = mkdtempSync(join(tmpdir(), 'channel-tls-'))
let serving: Serving
let agentUrl: string
let ca: string

beforeAll(async () => {
  ca = makeCertificate(directory, 'authority').cert
  const server = createServer({
    ...SERVER_OPTIONS,
    ...makeCertificate(directory, 'agent', 'authority'),
    ca,
    requestCert: true,
    rejectUnauthorized: true,
  })
  const handler = async () => jsonResponse(200, { hello: true })
  serving = serve(server, { handler, logger: silentLogger, now: Date.now })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  agentUrl = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
})

afterAll(async () => {
  await serving.drain(AbortSignal.abort())
  rmSync(directory, { recursive: true })
})

describe.each([
  ['pool', createPoolTransport],
  ['node', createNodeTransport],
])('mutual TLS over the %s transport', (_name, createTransport) => {
  async function get(tls: ChannelTls): Promise<unknown> {
    const transport = createTransport({ agentUrl, tls })
    const facts = { method: 'GET', target: '/', headers: {}, body: new Uint8Array(0), signal: null, timeoutMs: 3000 }
    const request = { ...facts, isBulk: false, owner: 'me' }
    try {
      const { body } = await transport.send(request)
      return JSON.parse(Buffer.from(body as Uint8Array).toString())
    } finally {
      await transport.close()
    }
  }

  test('carries requests when both sides are certified by the same authority', async () => {
    expect(await get({ ca, ...makeCertificate(directory, 'front', 'authority') })).toEqual({ hello: true })
  })

  test('does not let in a front certified by another', async () => {
    await expect(get({ ca, ...makeCertificate(directory, 'stranger') })).rejects.toMatchObject({
      reason: 'unreachable',
    })
  })

  test('does not trust an agent certified by another', async () => {
    const other = makeCertificate(directory, 'other')
    const front = makeCertificate(directory, 'front', 'authority')
    await expect(get({ ...front, ca: other.cert })).rejects.toMatchObject({ reason: 'unreachable' })
  })
})
