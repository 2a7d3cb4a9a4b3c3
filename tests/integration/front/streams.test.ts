import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { trustSigned } from '../../../agent/server/trust.ts'
import { type StandaloneFront, startStandalone } from '../../../functions/standalone.ts'
import { createVerifier } from '../../../shared/auth/channel.ts'
import { publicTokenKeys } from '../../../shared/auth/keys.ts'
import { ServiceError } from '../../../shared/errors.ts'
import { SERVER_OPTIONS } from '../../../shared/http/serve.ts'
import { eventually } from '../../helpers/eventually.ts'
import { openStream, refusedStream } from '../../helpers/exec/stream-client.ts'
import {
  BOX,
  CAT,
  deployment,
  handshakeOf,
  PIECE,
  type StreamLab,
  startStreamLab,
  writePieces,
} from '../../helpers/exec/stream-lab.ts'
import { makeRecorder } from '../../helpers/front/test-front.ts'

const recorder = makeRecorder()
let at: StreamLab
let front: StandaloneFront
let url = ''

beforeEach(async () => {
  at = await startStreamLab({ trust: trustOf(Date.now() - 60_000) })
  await startFront(at.url)
})

afterEach(async () => {
  await at.close()
  await front.close()
})

const join = async (path = CAT, options: Parameters<typeof openStream>[1] = {}) => {
  const [client, command] = await Promise.all([openStream(`${url}${path}`, { token: at.token, ...options }), at.next()])
  return { client, command }
}

describe('the standalone front', () => {
  test('passes a WebSocket through, both ways', async () => {
    const { client, command } = await join(undefined, { headers: { 'x-request-id': 'mine' } })
    expect(client.headers).toMatchObject({
      'x-exec-id': command.stream.id,
      'x-request-id': 'mine',
      'sec-websocket-protocol': 'v5.channel.k8s.io',
    })
    expect(at.calls[0]).toMatchObject({ query: { command: ['cat'] }, caller: { requestId: 'mine' } })
    command.stdin.pipe(command.stdout, { end: false })
    client.send(0, 'through and back')
    await client.until(1, 'through and back')
    client.socket.send(Buffer.from([255, 0]))
    await new Promise((resolve) => command.stdin.once('end', resolve))
    command.end({ exitCode: 7 })
    expect(await client.closed).toEqual({ code: 1000, reason: '' })
    expect(client.status()?.details?.causes).toEqual([{ reason: 'ExitCode', message: '7' }])
  })

  test('takes every protocol that the agent takes', async () => {
    const { client } = await join(undefined, { protocols: ['v4.base64.channel.k8s.io'] })
    expect(client.socket.protocol).toBe('v4.base64.channel.k8s.io')
  })

  test('passes a ticket on, which the agent accepts once', async () => {
    const { ticket } = at.tickets.issue({
      operationId: 'streamExec',
      target: CAT,
      boxId: 'box_00000000000000000000000001',
      caller: {
        tokenId: 'tok_00000000000000000000000000',
        tokenName: 'test',
        root: 'tok_00000000000000000000000000',
        accounts: ['project demo'],
        projects: '*',
        permissions: ['exec'],
        expiresAt: null,
        requestId: 'req_of_the_ticket',
      },
    })
    const path = `${CAT}&ticket=${ticket}`
    await join(path, { token: null })
    expect(at.calls[0]).toMatchObject({ boundBoxId: 'box_00000000000000000000000001', query: { command: ['cat'] } })
    const again = await refusedStream(`${url}${path}`)
    expect([again.status, again.problem['code']]).toEqual([401, 'token_invalid'])
    expect(JSON.stringify(recorder.lines)).not.toContain(ticket)
  })

  test.each([
    [409, new ServiceError('box_not_running', 'The box is stopped.')],
    [403, new ServiceError('quota_exceeded', 'It is too much.')],
    [500, new ServiceError('internal', 'It failed.')],
  ])('passes a refusal of the agent on, %i', async (status, error) => {
    at.respond = () => Promise.reject(error)
    const headers = { 'x-request-id': 'mine' }
    const refusal = await refusedStream(`${url}${CAT}`, { token: at.token, headers })
    expect([refusal.status, refusal.problem]).toEqual([
      status,
      expect.objectContaining({ code: error.code, detail: error.message, request_id: 'mine' }),
    ])
    expect(refusal.headers).toMatchObject({ 'content-type': 'application/problem+json', 'x-request-id': 'mine' })
  })

  test.each<[string, string, Parameters<typeof openStream>[1], string]>([
    ['no token', CAT, { token: null }, 'token_missing'],
    ['an unknown field', `${CAT}&shell=1`, {}, 'invalid_request'],
    ['no WebSocket', BOX, {}, 'invalid_request'],
    ['no route', '/v1/nothing', {}, 'route_not_found'],
  ])('refuses %s itself', async (_what, path, options, code) => {
    const refusal = await refusedStream(`${url}${path}`, { token: at.token, ...options })
    expect(refusal.problem['code']).toBe(code)
    expect(at.calls).toEqual([])
  })

  test('refuses requests beyond the permissions of a token itself', async () => {
    const token = await deployment.mint({ permissions: ['read'] })
    expect((await refusedStream(`${url}${CAT}`, { token })).problem['code']).toBe('permission_denied')
  })

  test('answers a plain request for a WebSocket with 426', async () => {
    const answer = await fetch(`${url}${CAT}`, { headers: { authorization: `Bearer ${at.token}` } })
    expect([answer.status, answer.headers.get('upgrade')]).toEqual([426, 'websocket'])
    expect(await answer.json()).toMatchObject({ code: 'upgrade_required', detail: expect.stringContaining('ticket') })
  })

  test('signs again for an agent that has restarted', async () => {
    await at.close()
    at = await startStreamLab({ trust: trustOf(Date.now()) })
    await front.close()
    await startFront(at.url)
    await join()
    expect(at.calls).toHaveLength(1)
  })

  test('answers that the agent cannot be reached', async () => {
    await at.close()
    const refusal = await refusedStream(`${url}${CAT}`, { token: at.token })
    expect([refusal.status, refusal.problem['code']]).toEqual([503, 'agent_unavailable'])
  })

  test.each<[string, (id: string) => string]>([
    ['a success in its place', (id) => `HTTP/1.1 200 OK\r\nx-request-id: ${id}\r\ncontent-length: 2\r\n\r\nhi`],
    ['what is no error of ours', (id) => `HTTP/1.1 404 X\r\nx-request-id: ${id}\r\ncontent-length: 2\r\n\r\nhi`],
    ['a WebSocket of another request', () => 'HTTP/1.1 101 X\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n'],
  ])('does not accept %s', async (_what, say) => {
    const other = createServer(SERVER_OPTIONS)
    other.on('upgrade', (request, socket) => socket.write(say(String(request.headers['x-request-id']))))
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    await front.close()
    await startFront(`http://127.0.0.1:${(other.address() as AddressInfo).port}`)
    const refusal = await refusedStream(`${url}${CAT}`, { token: at.token })
    expect([refusal.status, refusal.problem['code']]).toEqual([502, 'agent_protocol'])
    other.close()
    other.closeAllConnections()
  })
})

describe('between a client and the agent', () => {
  test('a client that leaves hangs up its command', async () => {
    const first = await join()
    first.client.socket.terminate()
    await first.command.left
    const second = await join()
    second.client.socket.close()
    await second.command.left
  })

  test('an agent that exits closes the socket', async () => {
    const { client } = await join()
    for (const wire of at.wires()) wire.resetAndDestroy()
    expect((await client.closed).code).toBe(1006)
  })

  test('a client that leaves before the answer hangs up its command', async () => {
    const gate = Promise.withResolvers<void>()
    const respond = at.respond
    at.respond = () => gate.promise.then(respond)
    const client = connect(front.port, '127.0.0.1')
    client.write(handshakeOf(at.token))
    await eventually(() => at.calls.length > 0)
    client.destroy()
    // The front usually notices before the answer. It hangs up the command in both cases.
    await sleep(50)
    gate.resolve()
    await (await at.next()).left
  })

  test('a slow reader makes the command wait, and loses nothing', async () => {
    const { client, command } = await join()
    client.socket.pause()
    const written = writePieces(command.stdout, 1024)
    await sleep(700)
    expect(written.soFar()).toBeLessThan(768)
    client.socket.resume()
    await written.done
    command.end()
    await client.closed
    expect(client.text(1)).toHaveLength(1024 * PIECE.length)
    expect(client.status()?.status).toBe('Success')
  })

  test('nothing is left when the front stops', async () => {
    const { client, command } = await join()
    const isClosed = front.close()
    expect((await client.closed).code).toBe(1006)
    await Promise.all([isClosed, command.left])
    await startFront(at.url)
  })
})

function trustOf(startedAt: number) {
  const { keys, agent_id: agentId } = deployment.channelKeys
  return trustSigned(createVerifier({ keys: () => keys, agentId, now: Date.now, startedAt }))
}

async function startFront(agentUrl: string): Promise<void> {
  const { logger } = recorder
  const settings = {
    ...{ host: '127.0.0.1', port: 0, agentUrl, agentTimeoutMs: 5_000, drainMs: 100, logLevel: 'info' as const },
    channelKeys: { text: JSON.stringify(deployment.channelKeys) },
    tokenKeys: { text: JSON.stringify(publicTokenKeys(deployment.tokenKeys)) },
    ...{ channelTls: null, connectionsMax: 256, trustedProxies: [], corsOrigins: [], hosts: [], consoleDir: null },
  }
  front = await startStandalone(settings, { logger, audit: logger })
  url = `http://127.0.0.1:${front.port}`
}
