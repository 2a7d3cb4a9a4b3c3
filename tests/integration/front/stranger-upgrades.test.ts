import { connect } from 'node:net'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { publicTokenKeys } from '../../../shared/auth/keys.ts'
import { FRONT_BOUNDS } from '../../../shared/http/bounds.ts'
import { type FakeAgent, startFakeAgent } from '../../helpers/front/fake-agent.ts'
import { type FrontProcess, startFrontProcess } from '../../helpers/front/process.ts'
import { makeDeployment } from '../../helpers/front/test-front.ts'

const deployment = makeDeployment()
const STREAM = '/v1/projects/crowd/boxes/web/exec/stream?command=true'
let agent: FakeAgent
let front: FrontProcess

beforeAll(async () => {
  agent = await startFakeAgent(() => deployment.channelKeys)
  const tokenKeys = publicTokenKeys(deployment.tokenKeys)
  front = await startFrontProcess({ agentUrl: agent.url, channelKeys: deployment.channelKeys, tokenKeys })
})

afterAll(async () => {
  await front.close()
  await agent.close()
})

/** Requests a WebSocket without a token. Returns the status of the refusal, which ends the connection. */
function knock(from: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port: Number(new URL(front.url).port), host: '127.0.0.1', localAddress: from })
    const heard: Buffer[] = []
    socket.on('data', (data: Buffer) => heard.push(data)).on('error', reject)
    socket.on('close', () => resolve(Buffer.concat(heard).toString('latin1').slice(9, 12)))
    socket.write(
      `GET ${STREAM} HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n` +
        'sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\nsec-websocket-protocol: boxyard.exec.v1\r\n\r\n',
    )
  })
}

test('strangers who ask for WebSockets again and again wait for their refusals, and nobody else does', async () => {
  const { refusalsBurst, refusalsPerSecond } = FRONT_BOUNDS
  const statuses: string[] = []
  // Sends many at once, so that they arrive faster than the allowance grows, even on a busy machine.
  const isOver = (): boolean => statuses.includes('429') || statuses.length > 5 * refusalsBurst
  const knockers = Array.from({ length: 128 }, async () => {
    while (!isOver() || statuses.length < refusalsBurst + 2 * refusalsPerSecond) statuses.push(await knock('127.0.0.2'))
  })
  await Promise.all(knockers)
  expect(new Set(statuses)).toEqual(new Set(['401', '429']))
  expect(await knock('127.0.0.3')).toBe('401')
})
