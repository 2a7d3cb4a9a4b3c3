import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { edgePidsOf } from '../../helpers/edge/processes.ts'
import { startSteadyLoad } from '../../helpers/edge/steady-load.ts'
import { askUrl } from '../../helpers/edge/url-client.ts'
import { eventually } from '../../helpers/eventually.ts'
import { armStep, at, type FaultStep, hasDied, restartAgent } from '../../helpers/fault-steps.ts'
import { type Answer, type Client, createClient } from '../../helpers/front/client.ts'
import { startService, type TestService } from '../../helpers/service.ts'

/** Steps at which the test kills the agent while the edge keeps running. The kill matrix (tests/unit/kill-matrix) covers the others. */
const STEPS: readonly (readonly [Action, FaultStep])[] = [
  ['open', at('edge.change', 'before')],
  ['visit', at('store.edgeGrants.put', 'after')],
]
type Action = 'open' | 'visit'

let service: TestService
const client: Client = createClient(
  () => service.url,
  () => service.adminToken,
)
const web = '/v1/projects/faults/boxes/web'
let url: string
let domainUrl: string
const act: Record<Action, () => Promise<{ status: number }>> = {
  open: () => setAuth('public'),
  visit: () => askUrl(url, { token: service.adminToken }),
}

beforeAll(async () => {
  service = await startService({ agentScript: 'tests/fixtures/faulty-agent.ts' })
  const { body } = await client.post('/v1/projects/faults/boxes', { name: 'web', config: { ram_mb: 128 } })
  const line = 'mkdir -p /srv/w; echo hello > /srv/w/index.html; exec httpd -f -p 8080 -h /srv/w'
  await client.put(`${web}/services/page`, { command: ['/bin/sh', '-c', line], port: 8080, readiness: { tcp: true } })
  url = body.url
  domainUrl = `http://shop.example.org:${new URL(url).port}/`
})

afterAll(async () => {
  await service.close()
})

function setAuth(auth: string): Promise<Answer> {
  return client.put(web, { url_settings: { auth } })
}

/** Waits until the edge serves the URL and domains that the API shows for the box. */
async function untilAgreed(): Promise<void> {
  const { published_domains: domains, url_settings: settings } = (await client.get(web)).body
  const ways = { url: settings.auth === 'public' ? 200 : 401, domain: domains.length === 0 ? 404 : 200 }
  await eventually(async () => {
    const seen = { url: (await askUrl(url)).status, domain: (await askUrl(domainUrl, asAdmin())).status }
    return JSON.stringify(seen) === JSON.stringify(ways)
  })
  expect(await askUrl(url, asAdmin())).toMatchObject({ status: 200, text: 'hello\n' })
}

function asAdmin(): { token: string } {
  return { token: service.adminToken }
}

describe('kill -9 of the agent', () => {
  test.each(STEPS)(
    '%s, killed at %s: the answer holds, and the edge serves the recorded routes',
    async (action, step) => {
      await setAuth('token')
      await armStep(service, step)
      const doing = act[action]().catch(() => ({ status: 0 }))
      // A visit may never reach its step.
      const isDead = await hasDied(service.agentPid, action === 'visit' ? 10_000 : undefined)
      await restartAgent(service, 'SIGKILL')
      const { status } = await doing
      if (action !== 'visit') expect(isDead).toBe(true)
      if (action === 'visit') expect(status).toBe(200)
      const { url_settings: settings } = (await client.get(web)).body
      if (status === 200 && action === 'open') expect(settings.auth).toBe('public')
      await untilAgreed()
      expect(edgePidsOf(service)).toHaveLength(1)
    },
  )

  test('fails no request for a URL, public or private, that the edge knows', async () => {
    await setAuth('token')
    const { token } = asAdmin()
    expect((await askUrl(url, { token })).status).toBe(200)
    const load = startSteadyLoad(url, { perSecond: 100, token })
    for (const signal of ['SIGKILL', 'SIGTERM'] as const) await restartAgent(service, signal)
    const { sent, failures, bodies } = await load.stop()
    expect(failures).toEqual([])
    expect(bodies).toEqual(new Map([['hello\n', sent]]))
  })

  test('makes requests that need a decision wait', async () => {
    const made = await client.post('/v1/tokens', { name: 'late', projects: ['faults'], permissions: ['read'] })
    await service.killAgent('SIGKILL')
    const asked = askUrl(url, { token: made.body.token })
    await service.startAgent()
    expect((await asked).status).toBe(200)
  })
})

describe('kill -9 of the edge', () => {
  test('is back with all routes and grants', async () => {
    await client.post(`${web}/publish`, { domains: ['shop.example.org'] })
    await untilAgreed()
    const [pid] = edgePidsOf(service)
    process.kill(pid as number, 'SIGKILL')
    await eventually(async () => (await askUrl(domainUrl, asAdmin()).catch(() => null))?.status === 200, 20)
    expect(edgePidsOf(service)).not.toContain(pid)
    await untilAgreed()
    expect((await client.get('/healthz')).body.errors).toEqual([])
  })
})
