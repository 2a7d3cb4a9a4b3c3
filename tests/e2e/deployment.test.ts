import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { request } from 'undici'
import { AGENT_RUN_HEADER, createSigner, SIGNATURE_HEADER } from '../../shared/auth/channel.ts'
import { parseChannelKeys } from '../../shared/auth/keys.ts'
import { instanceOf, pidsOf } from '../helpers/boxes/world.ts'
import { eventually } from '../helpers/eventually.ts'
import { createClient } from '../helpers/front/client.ts'
import { nameServers } from '../helpers/network/name-servers.ts'
import { runtimeOfTests } from '../helpers/pods/cluster-of-tests.ts'
import { startService, type TestService } from '../helpers/service.ts'

let service: TestService
let other: TestService
const client = createClient(
  () => service.url,
  () => service.adminToken,
)
const otherClient = createClient(
  () => other.url,
  () => other.adminToken,
)
const boxes = '/v1/projects/deploy/boxes'

beforeAll(async () => {
  service = await startService({ settings: { BOXYARD_POOL_GB: '0.25', BOXYARD_POOL_STEP_GB: '0.25' } })
  other = await startService({ settings: { BOXYARD_RATE_LIMIT: '5', BOXYARD_RATE_BURST: '20' } })
})

afterAll(async () => {
  await service.close()
  await other.close()
})

describe('two services on one host', () => {
  test('have boxes of the same name and do not affect each other', async () => {
    const [mine, theirs] = await Promise.all([
      client.post(boxes, { name: 'twin' }),
      otherClient.post(boxes, { name: 'twin' }),
    ])
    expect([mine.status, theirs.status]).toEqual([201, 201])
    expect(mine.body.id).not.toBe(theirs.body.id)
    const foreign = await otherClient.get(`${boxes}/twin`, { token: service.adminToken })
    expect([foreign.status, foreign.body.code]).toEqual([401, 'token_invalid'])
    expect((await otherClient.delete(`${boxes}/twin`)).status).toBe(204)
    expect((await client.shell('deploy', 'twin', 'echo here')).body.stdout).toBe('here\n')
  })

  test('a second agent on the same data directory is refused', async () => {
    await expect(service.runAgentMode('down')).rejects.toThrow(
      /Another agent runs on .* \(process \d+\)\. Stop it first/,
    )
  })

  test('a client over its rate gets 429 with Retry-After', async () => {
    const answers = await Promise.all(Array.from({ length: 60 }, () => otherClient.get('/v1/me')))
    const refused = answers.filter(({ status }) => status === 429)
    expect(refused.length).toBeGreaterThan(20)
    expect(refused[0]?.body).toMatchObject({ code: 'rate_limited', retryable: true })
    expect(Number(refused[0]?.headers['retry-after'])).toBeGreaterThan(0)
  })
})

describe('boxes of a project', () => {
  test('find each other by name, and no other project', async () => {
    await client.post(boxes, { name: 'server' })
    await client.post('/v1/projects/elsewhere/boxes', { name: 'stranger' })
    await client.shell('deploy', 'server', 'mkdir -p /www; echo page > /www/index.html; httpd -p 80 -h /www')
    const fetched = await client.shell('deploy', 'twin', fetchFrom('server'))
    expect(fetched.body.stdout).toContain('page\n')
    const address = (await client.shell('deploy', 'server', "ip -4 -o addr show eth0 | awk '{print $4}' | cut -d/ -f1"))
      .body
    expect(address.stdout).toMatch(/^10\.\d/)
    const ip = String(address.stdout).trim()
    expect((await client.shell('deploy', 'twin', fetchFrom(ip))).body.stdout).toContain('page\n')
    expect((await client.shell('elsewhere', 'stranger', fetchFrom(ip))).body.stdout).toBe('')
    expect((await client.shell('elsewhere', 'stranger', 'cat /etc/hosts')).body.stdout).not.toContain('server')
  })

  test('are answered by DNS as they come and go, also while the agent restarts, unless they are pods', async () => {
    if (runtimeOfTests() === 'kubernetes') return
    const lookUp = async (box: string, name: string): Promise<string> =>
      (await client.shell('deploy', box, `nslookup ${name} $(awk '/^nameserver/ {print $2; exit}' /etc/resolv.conf)`))
        .body.stdout
    const address = /Name:\s+guest\s+Address[^:]*:\s+10\.\d+\.\d+\.\d+/
    await client.post(boxes, { name: 'guest' })
    await eventually(async () => address.test(await lookUp('twin', 'guest')))
    expect(await lookUp('guest', 'server')).toMatch(/Name:\s+server/)
    // The agent restarts a killed name server, and a name server survives a restart of its agent.
    const servers = (): number[] => nameServers(`/run/boxyard/${instanceOf(service)}`, 'deploy')
    const [pid = 0] = servers()
    process.kill(pid, 'SIGKILL')
    await eventually(async () => address.test(await lookUp('twin', 'guest')))
    const left = servers()
    await service.restart()
    expect(servers()).toEqual(left)
    expect(await lookUp('twin', 'guest')).toMatch(address)
    expect((await client.delete(`${boxes}/guest`)).status).toBe(204)
    await eventually(async () => /NXDOMAIN/.test(await lookUp('twin', 'guest')))
    expect(
      (await client.shell('deploy', 'twin', 'echo 192.0.2.9 mine >>/etc/hosts; ping -c 1 -w 1 mine')).body.stdout,
    ).toContain('192.0.2.9')
  })

  test("do not reach the host's own ports", async () => {
    const port = new URL(service.agentUrl).port
    const gateway = await client.shell(
      'deploy',
      'twin',
      `for a in 169.254.1.1 127.0.0.1 ${await hostAddress()}; do nc -w 1 $a ${port} </dev/null && echo reached; done; true`,
    )
    expect(gateway.body.stdout).toBe('')
  })
})

describe('the agent', () => {
  test('leaves boxes running, with the same processes, when it is stopped or killed', async () => {
    const { body: box } = await client.get(`${boxes}/server`)
    const before = pidsOf(service, box.id)
    await service.restart()
    expect(pidsOf(service, box.id)).toEqual(before)
    await service.killAgent()
    expect((await client.get('/healthz')).body).toMatchObject({ status: 'unavailable' })
    const away = await client.get(`${boxes}/server`)
    expect([away.status, away.body.code]).toEqual([503, 'agent_unavailable'])
    await service.startAgent()
    expect(pidsOf(service, box.id)).toEqual(before)
    expect((await client.shell('deploy', 'twin', fetchFrom('server'))).body.stdout).toContain('page\n')
  })

  test('marks a box whose init dies as stopped, with the reason', async () => {
    const { body: box } = await client.post(boxes, { name: 'brief' })
    const [init] = pidsOf(service, box.id)
    process.kill(init ?? 0, 'SIGKILL')
    const ended = await until(async () => {
      const { body } = await client.get(`${boxes}/brief`)
      return body.status === 'stopped' ? body : null
    })
    expect(ended.state.reason).toBe('exited')
    expect((await client.post(`${boxes}/brief/resume`)).body.status).toBe('running')
    await client.delete(`${boxes}/brief`)
  })

  test('records a command as lost if it ended unseen', async () => {
    const exec = await client.post(`${boxes}/server/exec?wait_seconds=0`, { command: ['sleep', '600'] })
    await service.killAgent()
    await service.startAgent()
    const { body } = await client.get(`${boxes}/server/exec/${exec.body.id}`)
    expect(body).toMatchObject({ status: 'lost', exit_code: null, signal: null })
    const left = await client.shell('deploy', 'server', "ps | grep -c '[s]leep 600'")
    expect(left.body.stdout).toBe('0\n')
  })

  test('does not begin a command of an Idempotency-Key again after a crash', async () => {
    const headers = { 'idempotency-key': 'crash-exec' }
    const body = { shell: 'echo run >> /root/runs; sleep 5' }
    const first = client.post(`${boxes}/server/exec`, body, { headers })
    await eventually(async () => (await client.shell('deploy', 'server', 'cat /root/runs')).body.stdout === 'run\n')
    await service.killAgent()
    expect((await first).status).toBe(503)
    await service.startAgent()
    const again = await client.post(`${boxes}/server/exec`, body, { headers })
    expect(again.headers['idempotent-replayed']).toBe('true')
    expect(again.body.status).toBe('lost')
    expect((await client.shell('deploy', 'server', 'cat /root/runs')).body.stdout).toBe('run\n')
  })

  test('an answered idempotent create is the same box after a crash', async () => {
    const headers = { 'idempotency-key': 'crash-1' }
    const first = await client.post(boxes, { name: 'sure' }, { headers })
    await service.killAgent()
    await service.startAgent()
    const again = await client.post(boxes, { name: 'sure' }, { headers })
    expect([again.status, again.body.id]).toEqual([201, first.body.id])
    await client.delete(`${boxes}/sure`)
  })
})

describe('the channel', () => {
  const target = '/v1/me'
  const sign = (options: { now?: number; key?: 'wrong' } = {}): string => {
    const set = parseChannelKeys(readFileSync(join(service.dataDir, 'keys/channel.json'), 'utf8'))
    const keys = options.key
      ? set.keys.map((key) => ({ ...key, secret: Buffer.alloc(32).toString('base64url') }))
      : set.keys
    const signer = createSigner({ keys: () => keys, agentId: () => set.agent_id, now: () => options.now ?? Date.now() })
    return signer({ method: 'GET', target, headers: headersOf() }, new Uint8Array(0))
  }
  const run: Record<string, string> = {}
  const headersOf = () => ({ authorization: `Bearer ${service.adminToken}`, 'x-request-id': 'channel-test', ...run })
  const send = async (signature: string | null, more: { target?: string; headers?: Record<string, string> } = {}) => {
    const headers = {
      ...headersOf(),
      ...more.headers,
      ...(signature === null ? {} : { [SIGNATURE_HEADER]: signature }),
    }
    const answer = await request(`${service.agentUrl}${more.target ?? target}`, { headers })
    return { status: answer.statusCode, body: (await answer.body.json()) as { code?: string } }
  }

  /** Reads the run id that a fresh agent returns to every holder of a key. Later requests must sign it. */
  beforeAll(async () => {
    const headers = { ...headersOf(), [SIGNATURE_HEADER]: sign() }
    const answer = await request(`${service.agentUrl}${target}`, { headers })
    await answer.body.dump()
    const told = answer.headers[AGENT_RUN_HEADER]
    if (typeof told === 'string') run[AGENT_RUN_HEADER] = told
  })

  test('a signed request is answered once; replayed, altered, stale and unsigned ones are refused, with an audit line', async () => {
    const good = sign()
    expect((await send(good)).status).toBe(200)
    const refused = [
      await send(good),
      await send(null),
      await send(sign({ key: 'wrong' })),
      await send(sign({ now: Date.now() - 31_000 })),
      await send(sign({ now: Date.now() + 31_000 })),
      await send(sign(), { target: '/v1/tokens' }),
      await send(sign(), { headers: { 'if-match': '"7"' } }),
    ]
    for (const answer of refused) expect([answer.status, answer.body.code]).toEqual([502, 'agent_protocol'])
    const expected = ['replayed', 'unsigned', 'signature', 'stale', 'stale', 'signature', 'signature']
    const reasons = () =>
      service.logs.filter((line) => line.includes('channel request refused')).map((line) => JSON.parse(line).reason)
    await eventually(() => isDeepStrictEqual(reasons().slice(-7), expected))
  })

  test('a stolen channel key without a token does nothing', async () => {
    const set = parseChannelKeys(readFileSync(join(service.dataDir, 'keys/channel.json'), 'utf8'))
    const signer = createSigner({ keys: () => set.keys, agentId: () => set.agent_id, now: Date.now })
    const signature = signer({ method: 'GET', target, headers: run }, new Uint8Array(0))
    const headers = { ...run, [SIGNATURE_HEADER]: signature }
    const answer = await request(`${service.agentUrl}${target}`, { headers })
    expect(answer.statusCode).toBe(401)
    await answer.body.dump()
  })
})

describe('secrets', () => {
  test('are in files of mode 0600, and in no log line', async () => {
    for (const name of ['admin.token', 'boxyard.db', 'keys/channel.json', 'keys/token-private.json']) {
      expect([name, statSync(join(service.dataDir, name)).mode & 0o777]).toEqual([name, 0o600])
    }
    const logs = service.logs.join('\n')
    expect(logs).not.toContain(service.adminToken)
    expect(logs).not.toMatch(/eyJ[A-Za-z0-9_-]{8,}\./)
  })
})

/** Uses nc. The wget of a static busybox crashes without glibc's name service libraries. */
function fetchFrom(host: string): string {
  return `printf 'GET / HTTP/1.0\\r\\n\\r\\n' | nc -w 2 ${host} 80`
}

async function until<T>(read: () => Promise<T | null>): Promise<T> {
  for (let attempt = 0; attempt < 800; attempt++) {
    const value = await read()
    if (value !== null) return value
    await sleep(50)
  }
  throw new Error('It did not come to pass.')
}

async function hostAddress(): Promise<string> {
  const { networkInterfaces } = await import('node:os')
  const all = Object.values(networkInterfaces()).flatMap((list) => list ?? [])
  return all.find(({ family, internal }) => family === 'IPv4' && !internal)?.address ?? '10.213.0.1'
}
