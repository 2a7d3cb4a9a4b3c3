import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { trustSigned } from '../../../agent/server/trust.ts'
import { type StandaloneFront, startStandalone } from '../../../functions/standalone.ts'
import { createVerifier } from '../../../shared/auth/channel.ts'
import { publicTokenKeys } from '../../../shared/auth/keys.ts'
import { ServiceError } from '../../../shared/errors.ts'
import { openStream, refusedStream } from '../../helpers/exec/stream-client.ts'
import { CAT, deployment, type StreamLab, startStreamLab } from '../../helpers/exec/stream-lab.ts'
import { makeFleet, type TestEntry, type TestFleet } from '../../helpers/fleet/entries.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'

const WEB = 'box demo/web'
let fleet: TestFleet
let isRevoked: boolean
let here: StreamLab & { entry: TestEntry }
let there: StreamLab & { entry: TestEntry }
let front: StandaloneFront

beforeEach(async () => {
  isRevoked = false
  fleet = makeFleet(deployment.channelKeys)
  here = await startCell('aa')
  there = await startCell('bb')
  front = await startStandalone(
    {
      ...{ host: '127.0.0.1', port: 0, agentUrl: here.url, agentTimeoutMs: 5_000, drainMs: 100, logLevel: 'info' },
      channelKeys: { text: JSON.stringify(deployment.channelKeys) },
      tokenKeys: { text: JSON.stringify(publicTokenKeys(deployment.tokenKeys)) },
      ...{ channelTls: null, connectionsMax: 256, trustedProxies: [], corsOrigins: [], hosts: [], consoleDir: null },
    },
    { logger: silentLogger, audit: silentLogger },
  )
})

afterEach(async () => {
  await front.close()
  for (const cell of [here, there]) {
    await cell.entry.close()
    await cell.close()
  }
})

async function startCell(cell: string): Promise<StreamLab & { entry: TestEntry }> {
  const entry = fleet.entryOf(cell)
  const { keys, agent_id: agentId } = deployment.channelKeys
  const verify = createVerifier({ keys: () => keys, agentId, now: Date.now, startedAt: Date.now() - 60_000 })
  const lab = await startStreamLab({ trust: trustSigned(verify), entry, isRevoked: () => isRevoked })
  fleet.urls.set(cell, lab.url)
  return Object.assign(lab, { entry })
}

const open = (): ReturnType<typeof openStream> =>
  openStream(`http://127.0.0.1:${front.port}${CAT}`, { token: here.token, headers: { 'x-request-id': 'req_mine' } })

/** Opens a command at the ingress node. Checks that it runs only at the owner, in both directions until its end. */
async function converse(owner: StreamLab, others: readonly StreamLab[]): Promise<void> {
  const [client, command] = await Promise.all([open(), owner.next()])
  expect(client.headers).toMatchObject({ 'x-exec-id': command.stream.id, 'x-request-id': 'req_mine' })
  command.stdin.pipe(command.stdout, { end: false })
  client.send(0, 'through and back')
  await client.until(1, 'through and back')
  command.end({ exitCode: 7 })
  expect(await client.closed).toEqual({ code: 1000, reason: '' })
  expect(client.status()?.details?.causes).toEqual([{ reason: 'ExitCode', message: '7' }])
  expect([owner.calls.length, ...others.map(({ calls }) => calls.length)]).toEqual([1, ...others.map(() => 0)])
}

test('a WebSocket to a box of another cell goes through, both ways', async () => {
  fleet.homes.set(WEB, 'bb')
  await converse(there, [here])
})

test('one to a box that has moved goes where it is now: a third cell, or the one that was asked', async () => {
  const third = await startCell('cc')
  here.entry.memory.set(WEB, 'bb')
  fleet.homes.set(WEB, 'cc')
  await converse(third, [here, there])
  here.entry.memory.set(WEB, 'bb')
  fleet.homes.set(WEB, 'aa')
  await converse(here, [there])
  await third.entry.close()
  await third.close()
})

test('a client that leaves hangs up its command there', async () => {
  fleet.homes.set(WEB, 'bb')
  const [client, command] = await Promise.all([open(), there.next()])
  client.socket.terminate()
  await command.left
})

test('refusals of the owner come back, and a 503 where it is away', async () => {
  fleet.homes.set(WEB, 'bb')
  there.respond = () => Promise.reject(new ServiceError('box_not_found', 'No box named "web".'))
  const at = `http://127.0.0.1:${front.port}${CAT}`
  const refused = await refusedStream(at, { token: here.token })
  expect([refused.status, refused.problem['code']]).toEqual([404, 'box_not_found'])
  await there.close()
  const away = await refusedStream(at, { token: here.token })
  expect([away.status, away.problem['code'], away.headers['retry-after']]).toEqual([503, 'agent_unavailable', '2'])
})

test('what is open ends with the entry', async () => {
  fleet.homes.set(WEB, 'bb')
  const [client, command] = await Promise.all([open(), there.next()])
  await here.entry.close()
  expect((await client.closed).code).toBe(1006)
  await command.left
})

test('what is open ends with its token, which its owner ends', async () => {
  fleet.homes.set(WEB, 'bb')
  const [client, command] = await Promise.all([open(), there.next()])
  isRevoked = true
  await there.endRevoked()
  expect(await client.closed).toEqual({ code: 1008, reason: expect.stringMatching(/^token_revoked: /) })
  await command.left
})
