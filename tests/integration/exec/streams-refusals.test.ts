import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, test } from '@jest/globals'
import { trustSigned } from '../../../agent/server/trust.ts'
import { createVerifier } from '../../../shared/auth/channel.ts'
import { ServiceError } from '../../../shared/errors.ts'
import { CALLER } from '../../helpers/caller.ts'
import { openStream, refusedStream } from '../../helpers/exec/stream-client.ts'
import { BOX, CAT, deployment, type StreamLab, startStreamLab } from '../../helpers/exec/stream-lab.ts'
import { makeRecorder } from '../../helpers/front/test-front.ts'

let at: StreamLab

afterEach(async () => {
  await at.close()
})

describe('an invalid upgrade request', () => {
  test.each<[string, string, Parameters<typeof openStream>[1], number, string]>([
    ['without a token', CAT, { token: null }, 401, 'token_missing'],
    ['with a bad token', CAT, { token: 'x' }, 401, 'token_invalid'],
    ['of no protocol of ours', CAT, { protocols: ['v3.channel.k8s.io'] }, 400, 'invalid_request'],
    ['of no protocol', CAT, { protocols: [] }, 400, 'invalid_request'],
    ['of an unknown field', `${CAT}&shell=sh`, {}, 400, 'invalid_request'],
    ['without a command', `${BOX}/exec/ws`, {}, 400, 'invalid_request'],
    ['of nothing', '/v1/nothing', {}, 404, 'route_not_found'],
    ['of a box', BOX, {}, 400, 'invalid_request'],
    ['with an unknown ticket', `${CAT}&ticket=abc`, { token: null }, 401, 'token_invalid'],
  ])('%s is answered as any request', async (_what, path, options, status, code) => {
    at = await startStreamLab()
    const refusal = await refusedStream(`${at.url}${path}`, { token: at.token, ...options })
    expect([refusal.status, refusal.problem['code']]).toEqual([status, code])
    expect(refusal.headers).toMatchObject({
      'content-type': 'application/problem+json',
      'x-request-id': refusal.problem['request_id'],
      connection: 'close',
    })
    expect(at.calls).toEqual([])
  })

  test('beyond the permissions of its token is refused', async () => {
    at = await startStreamLab()
    const others = await deployment.mint({ projects: ['other'] })
    const reader = await deployment.mint({ permissions: ['read'] })
    for (const bad of [others, reader]) {
      expect((await refusedStream(`${at.url}${CAT}`, { token: bad })).problem['code']).toBe('permission_denied')
    }
  })

  test('with a revoked token is refused', async () => {
    at = await startStreamLab({ isRevoked: () => true })
    expect((await refusedStream(`${at.url}${CAT}`, { token: at.token })).problem['code']).toBe('token_revoked')
  })

  test('has the answer of its handler', async () => {
    at = await startStreamLab()
    at.respond = () => Promise.reject(new ServiceError('box_not_running', 'The box is stopped.'))
    const refusal = await refusedStream(`${at.url}${CAT}`, { token: at.token })
    expect([refusal.status, refusal.problem['detail']]).toEqual([409, 'The box is stopped.'])
    expect(at.server.open('streams')).toBe(0)
  })

  test('without a signature is refused', async () => {
    const { keys, agent_id: agentId } = deployment.channelKeys
    const trust = trustSigned(createVerifier({ keys: () => keys, agentId, now: Date.now, startedAt: 0 }))
    const { logger, lines } = makeRecorder()
    at = await startStreamLab({ trust, logger })
    const refusal = await refusedStream(`${at.url}${BOX}/exec/ws?command=s3cret&ticket=t1cket`, { token: at.token })
    expect([refusal.status, refusal.problem['code']]).toEqual([502, 'agent_protocol'])
    expect(refusal.headers['x-boxyard-refusal']).toBe('unsigned')
    expect(lines).toEqual([
      {
        level: 'warn',
        message: 'channel request refused',
        fields: expect.objectContaining({ reason: 'unsigned', target: `${BOX}/exec/ws` }),
      },
    ])
    expect(JSON.stringify(lines)).not.toMatch(/s3cret|t1cket/)
  })

  test('beyond the limit of its box is refused, and keeps its ticket and the share of others', async () => {
    at = await startStreamLab({ streamsAtOnce: 5 })
    const [first] = [await at.join(), await at.join()]
    const { ticket } = at.tickets.issue({ operationId: 'streamExec', target: CAT, boxId: 'box_0', caller: CALLER })
    const byTicket = `${at.url}${CAT}&ticket=${ticket}`
    expect((await refusedStream(byTicket)).problem['code']).toBe('rate_limited')
    await at.join(CAT.replace('/demo/', '/else/'))
    expect((await refusedStream(`${at.url}${CAT}`, { token: at.token })).problem['code']).toBe('rate_limited')
    first.client.socket.close()
    await first.command.left
    while (at.server.open('streams') > 2) await sleep(5)
    await Promise.all([openStream(byTicket), at.next()])
    expect((await refusedStream(byTicket)).problem['code']).toBe('token_invalid')
  })

  test('beyond the share of its project or of the chain of its token is refused, whatever box and token it is of', async () => {
    at = await startStreamLab({ streamsAtOnce: 6 })
    const urlIn = (project: string, box: string): string => CAT.replace('demo', project).replace('web', box)
    const mint = (jti: string, root: string) => deployment.mint({ jti, root, projects: '*', permissions: ['exec'] })
    const chain = [await mint('tok_1', 'tok_0'), await mint('tok_2', 'tok_0'), await mint('tok_3', 'tok_0')]
    for (const [index, token] of chain.entries()) await at.join(urlIn(`of-chain-${index}`, 'web'), { token })
    const beyond = `${at.url}${urlIn('of-chain-9', 'web')}`
    expect((await refusedStream(beyond, { token: await mint('tok_4', 'tok_0') })).problem['code']).toBe('rate_limited')
    // An operator acts for others, so only the project counts.
    await at.join(urlIn('demo', 'one'))
    expect((await refusedStream(`${at.url}${urlIn('demo', 'two')}`, { token: at.token })).problem['code']).toBe(
      'rate_limited',
    )
    await at.join(urlIn('another', 'one'), { token: at.token })
  })

  test('is refused while the agent is being stopped', async () => {
    at = await startStreamLab()
    at.isDraining = true
    expect((await refusedStream(`${at.url}${CAT}`, { token: at.token })).problem['code']).toBe('draining')
  })

  test('with another version or without a key is refused', async () => {
    at = await startStreamLab()
    const ask = async (headers: string): Promise<string> => {
      const raw = await at.connect()
      raw.write(`GET ${CAT} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${headers}\r\n`)
      let said = ''
      for await (const piece of raw) said += String(piece)
      return said
    }
    const old = await ask('Sec-WebSocket-Version: 8\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n')
    expect(old).toMatch(/^HTTP\/1\.1 426 Upgrade Required\r\n/)
    expect(old).toContain('Sec-WebSocket-Version: 13'.toLowerCase())
    expect(await ask('Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: short\r\n')).toContain(
      '/headers/sec-websocket-key',
    )
  })

  test('for another protocol than WebSocket is answered as a plain request', async () => {
    at = await startStreamLab()
    const answer = await askFor('h2c')
    expect(answer).toMatch(/^HTTP\/1\.1 404 /)
  })
})

async function askFor(protocol: string): Promise<string> {
  const raw = await at.connect()
  raw.write(`GET /v1/nothing HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n\r\n`)
  const said = await new Promise<Buffer>((resolve) => raw.once('data', resolve))
  raw.destroy()
  return said.toString()
}
