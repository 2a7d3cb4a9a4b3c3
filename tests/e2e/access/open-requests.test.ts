import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { followEvents } from '../../helpers/event-stream.ts'
import { eventually } from '../../helpers/eventually.ts'
import { openStream, type StreamClient } from '../../helpers/exec/stream-client.ts'
import { useSharedService } from '../../helpers/own-service.ts'

const { client, service } = useSharedService()
const BOXES = '/v1/projects/demo/boxes'
const STDIN = 0
const STDOUT = 1
/** Larger than what the front buffers before it forwards a body. */
const LONG_BODY = Buffer.alloc(300 * 1024)
/** Limit in ms for each end: about a second, plus slack for a busy machine. Every timeout of a transfer or a waiting read is longer. */
const ALL_ENDED_MS = 5_000

/** Serves an endless response at /cgi-bin/endless. */
const ENDLESS = `mkdir -p /www/cgi-bin
printf '#!/bin/sh\\necho "Content-Type: text/plain"\\necho\\nexec sleep 1000\\n' > /www/cgi-bin/endless
chmod +x /www/cgi-bin/endless
exec httpd -f -p 8080 -h /www`

beforeAll(async () => {
  expect((await client.post(BOXES, { name: 'web', config: { ram_mb: 128 } })).status).toBe(201)
  const command = ['/bin/sh', '-c', 'exec nc -ll -p 7001 -e /bin/cat']
  await client.put(`${BOXES}/web/services/echo`, { command, port: 7001, readiness: { tcp: true } })
  const page = ['/bin/sh', '-c', ENDLESS]
  await client.put(`${BOXES}/web/services/page`, { command: page, port: 8080, readiness: { tcp: true } })
  for (const name of ['echo', 'page'])
    await eventually(async () => (await client.get(`${BOXES}/web/services/${name}`)).body.active?.health === 'healthy')
})

/** Requests an endless response from the URL of a service. Resolves once the response has begun. */
async function openUrl({ token }: Pick<Minted, 'token'>): Promise<{ ended: Promise<string> }> {
  const { body } = await client.get(`${BOXES}/web/services/page`)
  const { host, port } = new URL(body.active_url)
  const headers = { host, authorization: `Bearer ${token}` }
  const outgoing = request({ host: '127.0.0.1', port, path: '/cgi-bin/endless', headers, agent: false }).end()
  const [answer] = (await once(outgoing, 'response')) as [IncomingMessage]
  expect(answer.statusCode).toBe(200)
  answer.resume().once('error', () => undefined)
  return { ended: once(outgoing, 'close').then(() => 'over') }
}

interface Minted {
  id: string
  expires_at: string
  token: string
}

async function mint(more: object = {}, token?: string): Promise<Minted> {
  const permissions = ['read', 'write', 'exec', 'ports', 'admin']
  const body = { name: 'opener', projects: ['demo'], permissions, ...more }
  const { status, body: minted } = await client.post('/v1/tokens', body, token === undefined ? {} : { token })
  expect(status).toBe(201)
  return minted
}

/** Opens one request of each kind with a token. Returns a promise of how each one ended. */
async function openAll({ token }: Pick<Minted, 'token'>): Promise<{ typed: StreamClient; ends: Promise<unknown>[] }> {
  const url = service().url
  const headers = { authorization: `Bearer ${token}` }
  const command =
    'command=sh&command=-c&command=while+read+line%3B+do+echo+got+%24line%3B+echo+%24line+%3E%3E%2Ftyped%3B+done'
  const exec = await openStream(`${url}${BOXES}/web/exec/ws?${command}&stdin=true`, { token })
  exec.send(STDIN, 'before\n')
  await exec.until(STDOUT, 'got before')
  const terminal = await openStream(`${url}${BOXES}/web/console`, { token })
  const port = await openStream(`${url}${BOXES}/web/ports/7001/ws`, { token, protocols: [] })
  const { body: ticket } = await client.post(
    `${BOXES}/web/tickets`,
    { operation: 'streamExec', query: { command: ['sleep', '1000'] } },
    { token },
  )
  const direct = await openStream(ticket.url, {})
  const page = await openUrl({ token })
  const events = await followEvents(`${url}/v1/projects/demo/events?since=now`, headers)
  const poll = fetch(`${url}/v1/projects/demo/events?since=now&wait_seconds=25`, { headers }).then(
    ({ status }) => status,
  )
  const upload = fetch(`${url}${BOXES}/web/files/write?path=/slow`, {
    method: 'PUT',
    headers: { ...headers, 'content-type': 'application/octet-stream' },
    body: new ReadableStream({ start: (controller) => controller.enqueue(LONG_BODY) }),
    duplex: 'half',
  }).then(
    ({ status }) => status,
    () => 'broken off',
  )
  return {
    typed: exec,
    ends: [
      ...[exec, terminal, port, direct].map(({ closed }) => closed),
      eventually(() => events.isOver()).then(
        () => /"code":"(\w+)"/.exec(events.text().split('event: problem')[1] ?? '')?.[1],
      ),
      page.ended,
      poll,
      upload,
    ],
  }
}

async function expectEnd(ends: Promise<unknown>[], code: string): Promise<void> {
  const closing = { code: 1008, reason: expect.stringContaining(code) }
  const late = new Promise((_, reject) =>
    setTimeout(() => reject(new Error('not all have ended')), ALL_ENDED_MS).unref(),
  )
  const all = await Promise.race([Promise.all(ends), late])
  expect(all).toEqual([closing, closing, closing, closing, code, 'over', 401, expect.anything()])
}

describe('what a token opened ends with it', () => {
  test('when it is revoked, and no line typed afterwards runs', async () => {
    const minted = await mint()
    const { typed, ends } = await openAll(minted)
    expect((await client.delete(`/v1/tokens/${minted.id}`)).status).toBe(204)
    if (typed.socket.readyState === typed.socket.OPEN) typed.send(STDIN, 'after\n')
    await expectEnd(ends, 'token_revoked')
    expect((await client.shell('demo', 'web', 'cat /typed; rm /typed')).body.stdout).toBe('before\n')
  })

  test('when one that it was created with is revoked', async () => {
    const parent = await mint()
    const child = await mint({}, parent.token)
    const { ends } = await openAll(child)
    expect((await client.delete(`/v1/tokens/${parent.id}`)).status).toBe(204)
    await expectEnd(ends, 'token_revoked')
  })

  test('when it expires', async () => {
    const minted = await mint({ expires_in_seconds: 20 })
    const { ends } = await openAll(minted)
    await sleep(Date.parse(minted.expires_at) - Date.now())
    await expectEnd(ends, 'token_expired')
  })

  test('while those of other tokens go on', async () => {
    const [kept, revoked] = [await mint(), await mint()]
    const { typed } = await openAll(kept)
    expect((await client.delete(`/v1/tokens/${revoked.id}`)).status).toBe(204)
    typed.send(STDIN, 'on\n')
    await typed.until(STDOUT, 'got on')
    expect((await client.delete(`/v1/tokens/${kept.id}`)).status).toBe(204)
    await typed.closed
  })
})
