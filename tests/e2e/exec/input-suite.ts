import { describe, expect, test } from '@jest/globals'
import { OPERATIONS } from '../../../shared/routes.ts'
import { eventually } from '../../helpers/eventually.ts'
import type { Client } from '../../helpers/front/client.ts'
import { runtimeOfTests } from '../../helpers/pods/cluster-of-tests.ts'

/** Defines the tests of bad input. Each input gets a clear error in the standard format and creates nothing. */
export function defineInputSuite(client: Client): void {
  const runtime = runtimeOfTests()
  const boxes = '/v1/projects/input/boxes'

  describe('bad input', () => {
    const names = ['', 'A', 'a--b', '-a', 'a-', 'a_b', 'ä', '../x', 'a'.repeat(64), 'a b', 'a\u0000b', 'a.b']
    test.each(names)('the name %j is refused', async (name) => {
      const answer = await client.post(boxes, { name })
      expect([answer.status, answer.body.code]).toEqual([400, 'invalid_request'])
      expect(answer.body.errors[0].pointer).toBe('/name')
    })

    test.each(['A', 'a--b', '..%2fx', '%00', 'a'.repeat(64)])(
      'the project %j is refused in a path',
      async (project) => {
        const answer = await client.get(`/v1/projects/${project}/boxes`)
        expect([400, 404]).toContain(answer.status)
        expect(['invalid_request', 'route_not_found']).toContain(answer.body.code)
      },
    )

    const broken: [string, string, number, string][] = [
      ['broken JSON', '{"name":', 400, 'invalid_json'],
      ['10,000 levels', '['.repeat(10_000) + ']'.repeat(10_000), 400, 'invalid_json'],
      ['a huge body', `{"name":"${'x'.repeat(2_000_000)}"}`, 413, 'body_too_large'],
      ['an array', '[]', 400, 'invalid_request'],
      ['a number', '7', 400, 'invalid_request'],
      ['null', 'null', 400, 'invalid_request'],
    ]
    test.each(broken)('%s is refused', async (_title, raw, status, code) => {
      const answer = await client.call('POST', boxes, { raw })
      expect([answer.status, answer.body.code]).toEqual([status, code])
    })

    const configs: [Record<string, unknown>, string][] = [
      [{ cpus: -1 }, '/config/cpus'],
      [{ cpus: 0.01 }, '/config/cpus'],
      [{ cpus: 1e308 }, '/config/cpus'],
      [{ cpus: 1024 }, '/config/cpus'],
      [{ cpus: '1' }, '/config/cpus'],
      [{ ram_mb: 15 }, '/config/ram_mb'],
      [{ ram_mb: 64.5 }, '/config/ram_mb'],
      [{ storage_gb: 0 }, '/config/storage_gb'],
      [{ region: 'mars' }, '/config/region'],
      [{ gpus: 1 }, '/config/gpus'],
    ]
    test.each(configs)('the config %j is refused at %s', async (config, pointer) => {
      const answer = await client.post(boxes, { name: 'bad', config })
      expect(answer.status).toBe(400)
      expect(answer.body.errors[0].pointer).toBe(pointer)
    })

    test('an unknown field and every other fault is reported with a pointer', async () => {
      const answer = await client.post(boxes, { name: 'B', bsae: 'x', tags: { 'a/b c': '1' } })
      const pointers = answer.body.errors.map((fault: { pointer: string }) => fault.pointer).sort()
      expect(pointers).toEqual(['/bsae', '/name', '/tags/a~1b c'])
    })

    test('unknown and invalid query parameters are reported', async () => {
      for (const query of ['wait=1', 'wait_seconds=26', 'wait_seconds=-1', 'wait_seconds=abc', 'wait_seconds=']) {
        const answer = await client.post(`${boxes}?${query}`, { name: 'bad' })
        expect([query, answer.status]).toEqual([query, 400])
      }
      expect((await client.get(`${boxes}?continuation_token=x`)).body.code).toBe('invalid_request')
    })

    test('a field called __proto__ is refused, not ignored', async () => {
      const answer = await client.call('POST', boxes, { raw: '{"name":"x","tags":{"__proto__":"y"}}' })
      expect([answer.status, answer.body.code]).toEqual([400, 'invalid_json'])
    })

    test('an unknown base is refused, and no bad request has made a box', async () => {
      expect((await client.post(boxes, { name: 'bad', base: 'nope' })).body.code).toBe('base_not_found')
      expect((await client.get(boxes)).body.boxes).toEqual([])
    })
  })

  describe('every layer answers in the one shape', () => {
    test('unknown routes are 404 and wrong methods 405 with Allow', async () => {
      const lost = await client.get('/v1/nothing')
      expect([lost.status, lost.body.code]).toEqual([404, 'route_not_found'])
      expect(lost.headers['content-type']).toBe('application/problem+json')
      const wrong = await client.call('PATCH', boxes)
      expect([wrong.status, wrong.headers.allow]).toEqual([405, 'GET, HEAD, POST'])
    })

    test('the request id is echoed, or made', async () => {
      const given = await client.get('/v1/nothing', { headers: { 'x-request-id': 'mine-1' } })
      expect([given.headers['x-request-id'], given.body.request_id]).toEqual(['mine-1', 'mine-1'])
      const made = await client.get(`${boxes}/none`)
      expect(made.body.request_id).toMatch(/^req_[0-9a-z]{26}$/)
      expect(made.headers['x-request-id']).toBe(made.body.request_id)
    })

    test('a problem links to its explanation, as HTML or JSON and without a token', async () => {
      const { body: problem } = await client.get(`${boxes}/none`)
      const { code, type, title, status, retryable } = problem
      const json = await client.get(type, { token: null })
      expect(json.headers).toMatchObject({ 'content-type': expect.stringMatching(/^application.json/), vary: 'accept' })
      expect(json.body).toMatchObject({ code, type, title, status, retryable, catalogue: '/problems' })
      const page = await client.get(type, { token: null, headers: { accept: 'text/html' } })
      expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
      expect(page.headers['content-security-policy']).toContain("default-src 'none'")
      expect(page.text).toContain(title)
      const head = await client.call('HEAD', type, { token: null })
      expect([head.status, head.headers['content-length'], head.text]).toEqual([200, String(json.bytes.length), ''])
      const all = await client.get(json.body.catalogue, { token: null })
      expect(all.body.problems.map((one: { code: string }) => one.code)).toContain(code)
      const unknown = await client.get('/problems/nothing', { token: null })
      expect([unknown.status, unknown.body.code]).toEqual([404, 'route_not_found'])
    })

    test('another media type is refused', async () => {
      const answer = await client.post(boxes, { name: 'x' }, { headers: { 'content-type': 'text/plain' } })
      expect([answer.status, answer.body.code]).toEqual([415, 'unsupported_media_type'])
    })
  })

  describe('endpoints about the deployment', () => {
    test('health is measured, and brief without a token', async () => {
      // The cluster may still be stopping pods of recently deleted boxes.
      await eventually(async () => isInAgreement((await client.get('/healthz')).body, runtime))
      const full = await client.get('/healthz')
      expect(full.status).toBe(200)
      const { boxes: counts, host, kubernetes, namespace } = full.body
      expect(counts.pending + counts.running + counts.stopped + counts.unknown).toBe(counts.total)
      expect(host.memory.used_bytes + host.memory.available_bytes).toBe(host.memory.total_bytes)
      expect(host.cpu.cores).toBeGreaterThan(0)
      expect(host.storage.total_bytes).toBeGreaterThan(host.storage.available_bytes)
      expect(host.storage_mounts).toHaveLength(1)
      if (runtime === 'kubernetes') {
        expect(namespace).toBe('boxyard')
        const cpus = { cpu_allocatable: expect.stringMatching(/^\d/), cpu_capacity: expect.stringMatching(/^\d/) }
        expect(kubernetes.nodes).toEqual([expect.objectContaining({ ready: true, boxes: counts.running, ...cpus })])
        expect(kubernetes.nodes[0].pods_running).toBeGreaterThanOrEqual(counts.running)
        expect(kubernetes.total_pods_running).toBe(kubernetes.nodes[0].pods_running)
        expect(kubernetes.total_pods_capacity).toBe(kubernetes.nodes[0].pods_capacity)
      } else {
        expect(kubernetes).toEqual({ nodes: [], total_pods_capacity: 0, total_pods_running: 0 })
        expect(namespace).toBe('')
      }
      const short = await client.get('/healthz', { token: null })
      expect(short.body).toEqual({ status: full.body.status, api: { api_version: 'v1' }, errors: [] })
    })

    test('version, config and the OpenAPI document need no token, and the document has every operation', async () => {
      expect((await client.get('/version', { token: null })).body).toMatchObject({
        api_version: 'v1',
        runtime: runtime === 'kubernetes' ? 'kubernetes' : 'crun',
        filesystem: 'btrfs',
      })
      const { defaults, features } = (await client.get('/v1/config', { token: null })).body
      expect(defaults.base).toBe('busybox')
      for (const area of ['boxes', 'data', 'snapshots', 'services', 'urls', 'events']) expect(features).toContain(area)
      const document = (await client.get('/openapi.json', { token: null })).body
      expect(document.openapi).toMatch(/^3\.1/)
      for (const { path, method, id } of OPERATIONS) {
        expect(document.paths[path][method.toLowerCase()].operationId).toBe(id)
      }
    })
  })
}

type Runtime = ReturnType<typeof runtimeOfTests>

function isInAgreement({ boxes, kubernetes }: any, runtime: Runtime): boolean {
  return runtime === 'embedded' || kubernetes.nodes[0]?.boxes === boxes.running
}
