import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { startSteadyLoad } from '../../helpers/edge/steady-load.ts'
import { askUrl } from '../../helpers/edge/url-client.ts'
import { eventually } from '../../helpers/eventually.ts'
import { armStep, at, hasDied, restartAgent } from '../../helpers/fault-steps.ts'
import { type Answer, type Client, createClient } from '../../helpers/front/client.ts'
import { draw } from '../../helpers/sample.ts'
import { startService, type TestService } from '../../helpers/service.ts'

let service: TestService
const client: Client = createClient(
  () => service.url,
  () => service.adminToken,
)
const web = '/v1/projects/traffic/boxes/web'
const page = `${web}/services/page`
let url: string
let previewUrl: string

beforeAll(async () => {
  service = await startService({ agentScript: 'tests/fixtures/faulty-agent.ts' })
  await client.post('/v1/projects/traffic/boxes', { name: 'web', config: { ram_mb: 128 } })
  await client.post(`${web}/publish`, { auth: 'public' })
  const spec = { ...versionOf('first'), port: 8080, grace_seconds: 2, readiness: { tcp: true, interval_seconds: 0.1 } }
  url = (await client.put(page, spec)).body.active_url
})

afterAll(async () => {
  await service.close()
})

function versionOf(text: string): { command: string[] } {
  const line = `mkdir -p /srv/$PORT; echo ${text} > /srv/$PORT/index.html; exec httpd -f -p $PORT -h /srv/$PORT`
  return { command: ['/bin/sh', '-c', line] }
}

async function deploy(text: string): Promise<Answer> {
  const deployed = await client.post(`${page}/deploy`, versionOf(text))
  expect(deployed.body.preview).toMatchObject({ state: 'running' })
  previewUrl = deployed.body.preview_url
  return deployed
}

test('no request fails while versions change, and each answer is of a version that had the traffic', async () => {
  const load = startSteadyLoad(url, { perSecond: 100 })
  for (let round = 0; round < 5; round++) {
    await deploy(`v${round}`)
    expect((await askUrl(previewUrl)).text).toBe(`v${round}\n`)
    expect((await client.post(`${page}/promote`)).status).toBe(200)
    expect((await askUrl(url)).text).toBe(`v${round}\n`)
    expect((await client.post(`${page}/rollback`)).status).toBe(200)
    expect((await askUrl(url)).text).toBe('first\n')
  }
  await client.post(`${page}/deploy`, { command: ['/bin/sh', '-c', 'echo broken >&2; exit 3'] })
  await client.post(`${page}/discard`)
  const { sent, failures, bodies } = await load.stop()
  expect(failures).toEqual([])
  expect([...bodies.values()].reduce((sum, count) => sum + count, 0)).toBe(sent)
  for (const body of bodies.keys()) expect(body).toMatch(/^(first|v\d)\n$/)
  expect((await askUrl(previewUrl, { token: service.adminToken })).status).toBe(404)
})

test.each([
  ['its service is stopped', () => client.post(`${page}/stop`)],
  [
    'it fails, though no request waits for it',
    () => askUrl(`${previewUrl}cgi-bin/end`).then(() => eventually(hasFailed)),
  ],
])('the URL of a preview in a fork ends when %s', async (_, end) => {
  await client.post(`${page}/discard`)
  const brief = `mkdir -p /tmp/own/cgi-bin; echo fork > /tmp/own/index.html; printf '#!/bin/sh\\ntouch /tmp/end\\necho; echo' > /tmp/own/cgi-bin/end
    chmod +x /tmp/own/cgi-bin/end; httpd -p $PORT -h /tmp/own; until [ -e /tmp/end ]; do sleep 0.1; done; exit 3`
  const deployed = await client.post(`${page}/deploy`, { command: ['/bin/sh', '-c', brief], isolation: 'fork' })
  expect(deployed.body.preview).toMatchObject({ state: 'running', isolation: 'fork' })
  previewUrl = deployed.body.preview_url
  expect((await askUrl(previewUrl)).text).toBe('fork\n')
  await end()
  // After the process ends, the preview answers 502 until its route is gone.
  await eventually(async () => (await askUrl(previewUrl, { token: service.adminToken })).status === 404)
  await client.post(`${page}/start`)
  await eventually(async () => (await client.get(page)).body.state === 'running')
})

async function hasFailed(): Promise<boolean> {
  return (await client.get(page)).body.preview?.state === 'failed'
}

const STEPS = [
  at('store.services.replace', 'after'),
  at('edge.change', 'before'),
  at('edge.change', 'after'),
  at('edge.drain', 'before'),
]

test.each(draw(STEPS, 2))(
  'no request fails where the agent is killed in a promote, at %s, and one version has the traffic afterwards',
  async (step) => {
    await client.post(`${page}/discard`)
    await deploy('next')
    const before = (await askUrl(url)).text
    const load = startSteadyLoad(url, { perSecond: 100 })
    await armStep(service, step)
    const promoting = client.post(`${page}/promote`).catch(() => null)
    if (!(await hasDied(service.agentPid))) expect((await promoting)?.text).toBe('never answered')
    await restartAgent(service, 'SIGKILL')
    await promoting
    await eventually(async () => (await client.get(page)).body.state === 'running')
    const { body } = await client.get(page)
    const isNext = body.preview === null
    await eventually(async () => (await askUrl(url)).text === (isNext ? 'next\n' : before))
    const { failures } = await load.stop()
    expect(failures).toEqual([])
    if (isNext) expect((await client.post(`${page}/rollback`)).status).toBe(200)
    expect((await askUrl(url)).text).toBe(before)
  },
)
