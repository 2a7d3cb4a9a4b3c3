import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { runOk } from '../../../agent/lib/run.ts'
import { eventually } from '../../helpers/eventually.ts'
import { createClient } from '../../helpers/front/client.ts'
import { type CrowdMember, disperse, openCrowd } from '../../helpers/front/crowd.ts'
import { figureOf } from '../../helpers/promtool.ts'
import { startService, type TestService } from '../../helpers/service.ts'

let service: TestService
const client = createClient(
  () => service.url,
  () => service.adminToken,
)
const crowd: CrowdMember[] = []

beforeAll(async () => {
  service = await startService({ settings: { BOXYARD_CONNECTIONS_MAX: '100' } })
  // Less than a third of the connections that the crowds open.
  await runOk('prlimit', [`--pid=${service.agentPid}`, '--nofile=700:'])
  await client.post('/v1/projects/quiet/boxes', { name: 'it' })
})
afterEach(() => disperse(crowd.splice(0)))
afterAll(() => service.close())

const portOf = (url: string): number => Number(new URL(url).port)

test('silent connections to every address of the service cost nobody an answer, a command or the agent', async () => {
  const agent = service.agentPid
  const running = await client.shell('quiet', 'it', 'until [ -e /tmp/go ]; do sleep 0.1; done; echo done', {
    no_hup: true,
  })
  expect(running.status).toBe(202)
  const waiting = client.shell('quiet', 'it', 'until [ -e /tmp/go ]; do sleep 0.1; done; echo done')
  for (const url of [service.dataUrl, service.agentUrl, service.metricsUrl, service.url])
    for (const from of ['127.0.0.2', '127.0.0.3']) crowd.push(...(await openCrowd(portOf(url), 300, { from })))
  const answers = await Promise.all(Array.from({ length: 20 }, () => client.get('/v1/projects/quiet/boxes/it')))
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
  expect((await client.get('/healthz')).body.status).toBe('ok')
  await client.shell('quiet', 'it', 'touch /tmp/go')
  expect((await waiting).body).toMatchObject({ status: 'exited', exit_code: 0, stderr: '', stdout: 'done\n' })
  await eventually(
    async () => (await client.get(`/v1/projects/quiet/boxes/it/exec/${running.body.id}`)).body.exit_code === 0,
  )
  const figures = await (await fetch(service.metricsUrl)).text()
  for (const listener of ['agent', 'data'])
    expect(
      figureOf(figures, `boxyard_connections_closed_total{listener="${listener}",reason="displaced"}`),
    ).toBeGreaterThan(400)
  expect(figureOf(figures, 'boxyard_connections_open{listener="data"}')).toBeLessThan(100)
  expect(service.agentPid).toBe(agent)
  expect(service.logs.filter((line) => line.includes('closed connections above the limit'))).toHaveLength(4)
})

test('the bounds in force are told', async () => {
  const { body } = await client.get('/v1/config')
  expect(body.limits).toMatchObject({ connections_at_once: 100, connections_at_once_per_address: 50 })
})
