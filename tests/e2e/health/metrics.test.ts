import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { ROOT } from '../../../infra/commands.ts'
import { edgePidsOf, freezeProcess } from '../../helpers/edge/processes.ts'
import { askUrl } from '../../helpers/edge/url-client.ts'
import { eventually, untilSucceeds } from '../../helpers/eventually.ts'
import { useOwnService } from '../../helpers/own-service.ts'
import { checkRules, figureOf, figuresIn, lintFigures } from '../../helpers/promtool.ts'

const { client, service } = useOwnService()
const boxes = '/v1/projects/figures/boxes'

async function look(): Promise<string> {
  const answer = await fetch(service().metricsUrl)
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8'])
  return answer.text()
}

const figure = async (series: string): Promise<number | null> => figureOf(await look(), series)

describe('the figures of the agent', () => {
  let boxId: string

  beforeAll(async () => {
    boxId = (await client.post(boxes, { name: 'measured', tags: { secret: 'tag' } })).body.id
    await client.shell('figures', 'measured', 'true')
    await client.shell('figures', 'measured', 'exit 3')
  })

  test('are valid Prometheus text', async () => {
    expect(await lintFigures(await look())).toBe('')
  })

  test('count requests by operation and class of the status', async () => {
    const series = (status: string) => `boxyard_requests_total{operation="getBox",status="${status}"}`
    const before = await look()
    await client.get(`${boxes}/measured`)
    await client.get(`${boxes}/missing`)
    const all = 'boxyard_request_duration_seconds_count{operation="getBox"}'
    await untilSucceeds(async () => {
      const after = await look()
      for (const status of ['2xx', '4xx'])
        expect(figureOf(after, series(status))).toBe((figureOf(before, series(status)) ?? 0) + 1)
      expect(figureOf(after, all)).toBe((figureOf(before, all) ?? 0) + 2)
      expect(figureOf(after, 'boxyard_requests_in_flight')).toBe(0)
    })
  })

  test('count requests in flight', async () => {
    const slow = client.shell('figures', 'measured', 'until [ -e /tmp/go ]; do sleep 0.1; done')
    await eventually(async () => (await figure('boxyard_execs_running')) === 1)
    await eventually(async () => (await figure('boxyard_requests_in_flight')) === 1)
    await client.shell('figures', 'measured', 'touch /tmp/go')
    expect((await slow).body.exit_code).toBe(0)
    await eventually(async () => (await figure('boxyard_requests_in_flight')) === 0)
  })

  test('cover boxes, their steps and their commands', async () => {
    const text = await look()
    expect(figureOf(text, 'boxyard_boxes{status="running"}')).toBe(1)
    expect(
      figureOf(text, 'boxyard_reconcile_step_duration_seconds_count{kind="start",outcome="done"}'),
    ).toBeGreaterThanOrEqual(1)
    expect(figureOf(text, 'boxyard_reconcile_queue{state="running"}')).toBe(0)
    expect(figureOf(text, 'boxyard_events_total')).toBeGreaterThanOrEqual(2)
    expect(figureOf(text, 'boxyard_execs_started_total')).toBeGreaterThanOrEqual(2)
    expect(figureOf(text, 'boxyard_exec_duration_seconds_count{status="exited"}')).toBeGreaterThanOrEqual(2)
    expect(figureOf(text, 'boxyard_streams_open')).toBe(0)
  })

  test('count services by state', async () => {
    await client.put(`${boxes}/measured/services/calm`, { command: ['/bin/sleep', '600'] })
    await untilSucceeds(async () => {
      const text = await look()
      expect(figureOf(text, 'boxyard_services{state="running"}')).toBe(1)
      expect(figureOf(text, 'boxyard_services{state="failed"}')).toBe(0)
    })
  })

  test('cover storage', async () => {
    const text = await look()
    const [size, used, available] = ['size', 'used', 'available'].map((what) =>
      figureOf(text, `boxyard_pool_${what}_bytes`),
    )
    expect(size).toBeGreaterThan(0.9 * 1024 ** 3)
    expect(used).toBeGreaterThan(0)
    expect(available).toBeLessThanOrEqual(size ?? 0)
    expect(figureOf(text, 'boxyard_subvolumes')).toBeGreaterThanOrEqual(2)
    expect(figureOf(text, 'boxyard_tombstones_stuck')).toBe(0)
  })

  test('cover the edge', async () => {
    const { url } = (await client.get(`${boxes}/measured`)).body
    const before = await look()
    expect((await askUrl(url)).status).toBe(401)
    expect((await askUrl(url, { token: service().adminToken })).status).toBe(502)
    await untilSucceeds(async () => expectEdgeFigures(before, await look()))
  })

  test('show only that the edge is down while it hangs', async () => {
    const [pid = 0] = edgePidsOf(service())
    await freezeProcess(pid)
    try {
      const text = await look()
      const told = text.split('\n').filter((line) => line.startsWith('boxyard_edge_'))
      expect(told).toEqual(['boxyard_edge_up 0', 'boxyard_edge_starts_total 1'])
      expect(figureOf(text, 'boxyard_boxes{status="running"}')).toBe(1)
    } finally {
      process.kill(pid, 'SIGCONT')
    }
    expect(await figure('boxyard_edge_up')).toBe(1)
  })

  test('count finished backups', async () => {
    await client.post('/v1/projects/figures/data', { name: 'kept', size_gb: 0.1 })
    const made = await client.post('/v1/projects/figures/data/kept/backups?wait_seconds=20', {})
    expect([201, 202]).toContain(made.status)
    const done = 'boxyard_job_duration_seconds_count{kind="backup.create",status="done"}'
    await eventually(async () => (await figure(done)) === 1)
  })

  test('cover the process', async () => {
    const text = await look()
    expect(figureOf(text, 'process_resident_memory_bytes')).toBeGreaterThan(20 * 1024 ** 2)
    expect(figureOf(text, 'process_cpu_seconds_total')).toBeGreaterThan(0)
    expect(text).toMatch(/^boxyard_build_info\{version="[^"]+",commit="[^"]*",node="v\d+[^"]*"\} 1$/m)
  })

  test.each(['alerts.yaml', 'dashboard.json'])('are all there that %s asks for', async (name) => {
    const asked = figuresIn(readFileSync(join(ROOT, 'infra/monitoring', name), 'utf8'))
    expect(asked.length).toBeGreaterThan(10)
    const text = await look()
    expect(asked.filter((figure) => !new RegExp(`^(?:# TYPE )?${figure}[ {]`, 'm').test(text))).toEqual([])
  })

  test('have rules for alerts that Prometheus takes', async () => {
    const { status, output } = await checkRules(join(ROOT, 'infra/monitoring/alerts.yaml'))
    expect([status, output]).toEqual([0, expect.stringMatching(/SUCCESS: \d+ rules found/)])
  })

  test('contain no name that a user chose', async () => {
    const text = await look()
    for (const name of ['measured', 'figures', 'calm', 'kept', 'secret', boxId]) expect(text).not.toContain(`"${name}`)
    const { token_id: tokenId } = (await client.get('/v1/me')).body
    expect(text).not.toContain(String(tokenId))
  })

  test('have an address of their own, which serves nothing else', async () => {
    const { metricsUrl, url, dataUrl, agentUrl } = service()
    expect((await fetch(metricsUrl.replace('/metrics', '/v1/config'))).status).toBe(404)
    expect((await fetch(metricsUrl, { method: 'POST' })).status).toBe(405)
    for (const elsewhere of [url, dataUrl, agentUrl])
      expect((await (await fetch(`${elsewhere}/metrics`)).text()).includes('boxyard_')).toBe(false)
  })

  test('cannot be reached from a box', async () => {
    const { port } = new URL(service().metricsUrl)
    const line = `gateway=$(ip route | awk '/default/ {print $3}'); for host in 127.0.0.1 "$gateway"; do
      nc -w 2 "$host" ${port} </dev/null && echo reached; done; echo tried`
    expect((await client.shell('figures', 'measured', line)).body.stdout).toBe('tried\n')
  })

  test('are served by the next agent on the same port', async () => {
    await service().killAgent()
    await service().startAgent()
    expect(await figure('boxyard_boxes{status="running"}')).toBe(1)
    expect(await figure('boxyard_execs_started_total')).toBe(0)
  })
})

test('with BOXYARD_METRICS_PORT=off nothing listens', async () => {
  await service().killAgent('SIGTERM')
  await service().startAgent({ BOXYARD_METRICS_PORT: 'off' })
  await expect(fetch(service().metricsUrl)).rejects.toThrow()
  expect((await client.get('/healthz')).status).toBe(200)
})

/** Checks that, between the two pages, one request came without a token and one for a port without a listener. */
function expectEdgeFigures(before: string, after: string): void {
  const growth = (series: string): number => (figureOf(after, series) ?? 0) - (figureOf(before, series) ?? 0)
  for (const series of ['requests_total{status="4xx"}', 'requests_total{status="5xx"}', 'connections_total'])
    expect([series, growth(`boxyard_edge_${series}`)]).toEqual([series, series === 'connections_total' ? 2 : 1])
  expect(growth('boxyard_edge_requests_refused_total{reason="not_admitted"}')).toBe(1)
  expect(growth('boxyard_edge_box_errors_total{kind="connect"}')).toBe(1)
  for (const way of ['received', 'sent']) expect(growth(`boxyard_edge_${way}_bytes_total`)).toBeGreaterThan(100)
  expect(growth('boxyard_edge_grants')).toBe(1)
  expect(figureOf(after, 'boxyard_edge_hostnames')).toBe(1)
  expect(figureOf(after, 'boxyard_edge_up')).toBe(1)
  expect(figureOf(after, 'boxyard_edge_starts_total')).toBe(1)
  expect(figureOf(after, 'boxyard_edge_connections_open')).toBe(0)
}
