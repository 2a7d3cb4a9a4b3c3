import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { eventually, untilSucceeds } from '../../helpers/eventually.ts'
import type { Answer, Client } from '../../helpers/front/client.ts'

/** Defines the tests of services for any front. `client` holds the admin token of a service whose base is busybox. */
export function defineServicesSuite(client: Client): void {
  const boxes = '/v1/projects/services/boxes'
  const services = `${boxes}/host/services`
  const put = (name: string, body: object, query = ''): Promise<Answer> =>
    client.put(`${services}/${name}${query}`, body)
  const get = async (name: string) => (await client.get(`${services}/${name}`)).body
  const act = (name: string, verb: string, query = ''): Promise<Answer> =>
    client.post(`${services}/${name}/${verb}${query}`)
  const logs = async (name: string, query = '') => (await client.get(`${services}/${name}/logs${query}`)).body
  const shell = async (line: string): Promise<string> => (await client.shell('services', 'host', line)).body.stdout
  const script = (text: string): string[] => ['/bin/sh', '-c', text]
  const forever = script('trap "echo bye; exit 0" TERM; echo up $PORT; while :; do sleep 0.1; done')

  beforeAll(async () => {
    await client.post(boxes, { name: 'host', config: { ram_mb: 128 } })
  })

  afterAll(async () => {
    await client.delete(`${boxes}/host`)
  })

  describe('a service', () => {
    afterAll(async () => {
      await client.delete(`${services}/app`)
    })

    test('is created and runs, with its port, environment and user', async () => {
      const body = {
        command: script('echo $PORT $COLOUR $BOX_SERVICE; exec sleep 1000'),
        port: 8000,
        env: { COLOUR: 'red' },
      }
      const made = await put('app', body)
      expect([made.status, made.headers['location']]).toEqual([201, `${services}/app`])
      expect(made.body).toMatchObject({
        ...{ name: 'app', box: 'host', project: 'services', state: 'running', generation: 1, preview: null },
        active: { alive: true, port: 8000, restarts: 0, health: 'unknown', last_exit: null },
        spec: { restart: 'always', stop_signal: 'SIGTERM', grace_seconds: 10, env: { COLOUR: 'red' }, needs: [] },
      })
      await eventually(async () => (await logs('app')).data === '8000 red app\n')
      expect((await shell(`cat /proc/${made.body.active.pid}/cmdline | tr '\\0' ' '`)).trim()).toBe('sleep 1000')
      expect((await get('app')).history.map(({ action }: { action: string }) => action)).toEqual(['created'])
      const { body: page } = await client.get(services)
      expect(page.services.map(({ name }: { name: string }) => name)).toEqual(['app'])
    })

    test('stays as it is when its own definition is sent again', async () => {
      for (const readiness of [null, { tcp: true }, { http: '/', threshold: 2 }]) {
        await put('app', { command: forever, port: 8000, readiness })
        const { spec, generation } = await get('app')
        const again = await put('app', spec)
        expect([again.status, again.body.spec, again.body.generation]).toEqual([200, spec, generation])
      }
    })

    test('keeps its process when its definition changes, until its next start', async () => {
      const { active } = await get('app')
      const changed = await put('app', { command: script('echo second; exec sleep 1000') })
      expect([changed.status, changed.body.generation, changed.body.active.pid]).toEqual([200, 5, active.pid])
      expect((await put('app', { command: script('echo second; exec sleep 1000') })).body.generation).toBe(5)
      expect((await act('app', 'stop')).body).toMatchObject({ state: 'stopped', active: { alive: false } })
      const started = await act('app', 'start')
      expect([started.status, started.body.state, started.body.active.spec.port]).toEqual([200, 'running', null])
      await eventually(async () => (await logs('app')).data.endsWith('second\n'))
    })

    test('that is stopped ends by its signal, and stays so over a stop of its box', async () => {
      await put('app', { command: forever, stop_signal: 'SIGTERM' })
      await act('app', 'stop')
      await act('app', 'start')
      await eventually(async () => (await logs('app')).data.includes('up'))
      const stopped = await act('app', 'stop')
      expect(stopped.body).toMatchObject({ state: 'stopped', active: { last_exit: { exit_code: 0, signal: null } } })
      await untilSucceeds(async () => expect((await logs('app')).data).toMatch(/up ?\n(Terminated\n)?bye\n$/))
      await client.post(`${boxes}/host/stop`)
      await client.post(`${boxes}/host/resume`)
      expect(await get('app')).toMatchObject({ state: 'stopped', active: { alive: false } })
      expect((await act('app', 'start')).body.state).toBe('running')
    })

    test('comes back with its box, and does not run without it', async () => {
      await client.post(`${boxes}/host/stop`)
      await eventually(async () => (await get('app')).message === 'It starts with its box.')
      expect((await get('app')).state).toBe('stopped')
      expect((await act('app', 'start')).body.code).toBe('box_not_running')
      await client.post(`${boxes}/host/resume`)
      await eventually(async () => (await get('app')).state === 'running')
      expect((await get('app')).active.restarts).toBe(0)
    })

    test('is deleted with its processes and its log', async () => {
      const { pid } = (await get('app')).active
      expect((await client.delete(`${services}/app`)).status).toBe(204)
      await eventually(async () => (await shell(`kill -0 ${pid} 2>/dev/null || echo gone`)) === 'gone\n')
      expect((await client.get(`${services}/app`)).body.code).toBe('service_not_found')
      expect((await client.get(`${services}/app/logs`)).body.code).toBe('service_not_found')
      expect((await client.get(services)).body.services).toEqual([])
    })
  })

  describe('the end of a service', () => {
    afterAll(async () => {
      for (const name of ['job', 'loop', 'tree', 'missing']) await client.delete(`${services}/${name}`)
    })

    test('is followed by another start, later each time, and counted', async () => {
      await put('loop', { command: script('echo run; exit 3') })
      await eventually(async () => (await get('loop')).active.restarts >= 2)
      const seen = await get('loop')
      expect(seen.active.last_exit).toMatchObject({ exit_code: 3, signal: null, out_of_memory: false })
      expect(['failed', 'starting', 'running']).toContain(seen.state)
      await untilSucceeds(async () => expect((await logs('loop')).data).toMatch(/^(run\n){2,}$/))
    })

    test('is final by its restart policy', async () => {
      const done = await put('job', { command: script('exit 0'), restart: 'on-failure' })
      expect(done.status).toBe(201)
      await eventually(async () => (await get('job')).state === 'stopped')
      expect(await get('job')).toMatchObject({ message: 'It ended with exit code 0.', active: { alive: false } })
      await put('job', { command: script('exit 4'), restart: 'never' })
      await act('job', 'start')
      await eventually(async () => (await get('job')).state === 'failed')
      expect(await get('job')).toMatchObject({ message: 'It ended with exit code 4.', active: { restarts: 0 } })
    })

    test('ends all processes that it started', async () => {
      await put('tree', { command: script('sleep 4321 & sleep 1'), restart: 'never' })
      await eventually(async () => (await shell('ps | grep "[s]leep 4321"')) !== '')
      await eventually(async () => (await get('tree')).state === 'stopped')
      await eventually(async () => (await shell('ps | grep "[s]leep 4321" || echo none')) === 'none\n')
    })

    test('of a missing program is explained in the log', async () => {
      await put('missing', { command: ['/no/such/program'], restart: 'never' })
      await eventually(async () => (await get('missing')).state === 'failed')
      expect((await get('missing')).active.last_exit.exit_code).toBe(127)
      await untilSucceeds(async () => expect((await logs('missing')).data).toContain('not found'))
    })
  })

  describe('readiness', () => {
    afterAll(async () => {
      for (const name of ['web', 'slow', 'after', 'never']) await client.delete(`${services}/${name}`)
    })

    test('is awaited by HTTP, connection or command', async () => {
      const serve = (port: number) =>
        script(`mkdir -p /srv/w && echo hi > /srv/w/index.html && sleep 0.3 && exec httpd -f -p ${port} -h /srv/w`)
      const web = await put('web', { command: serve(8081), port: 8081, readiness: { http: '/index.html' } })
      expect(web.body).toMatchObject({ state: 'running', active: { health: 'healthy' } })
      const connected = await put('slow', { command: serve(8082), port: 8082, readiness: { tcp: true } })
      expect(connected.body.state).toBe('running')
      const file = await put('after', {
        command: script('rm -f /tmp/ready; sleep 0.3; touch /tmp/ready; exec sleep 1000'),
        readiness: { command: ['/bin/sh', '-c', 'test -e /tmp/ready'] },
      })
      expect(file.body).toMatchObject({ state: 'running', active: { health: 'healthy' } })
    })

    test('that never succeeds leaves it starting, with the reason', async () => {
      const wish = { command: script('exec sleep 1000'), port: 9999, readiness: { http: '/' } }
      const made = await put('never', wish, '?wait_seconds=1')
      expect([made.status, made.body.state]).toEqual([201, 'starting'])
      await untilSucceeds(async () =>
        expect(await get('never')).toMatchObject({ state: 'starting', message: 'Nothing listens at port 9999.' }),
      )
    })

    test('that is lost is reported, and the service goes on', async () => {
      await put('after', {
        command: script('touch /tmp/ready; exec sleep 1000'),
        readiness: { command: ['/bin/sh', '-c', 'test -e /tmp/ready'], interval_seconds: 0.1, threshold: 2 },
      })
      await act('after', 'stop')
      await act('after', 'start')
      const { pid } = (await get('after')).active
      await shell('rm /tmp/ready')
      await eventually(async () => (await get('after')).active.health === 'unhealthy')
      expect(await get('after')).toMatchObject({ state: 'running', active: { pid } })
    })
  })

  describe('needs', () => {
    test('come first, also when the box starts', async () => {
      const note = (name: string) => script(`echo ${name} >> /tmp/order; exec sleep 1000`)
      const ready = { command: ['/bin/sh', '-c', 'sleep 0.2; grep -q db /tmp/order'], interval_seconds: 0.1 }
      await put('db', { command: note('db'), readiness: ready })
      await put('api', { command: note('api'), needs: ['db'] })
      await put('ui', { command: note('ui'), needs: ['api', 'db'] })
      await eventually(async () => (await get('ui')).state === 'running')
      expect(await shell('cat /tmp/order')).toBe('db\napi\nui\n')
      await shell('rm /tmp/order')
      await client.post(`${boxes}/host/stop`)
      await client.post(`${boxes}/host/resume`)
      await eventually(async () => (await get('ui')).state === 'running')
      expect(await shell('cat /tmp/order')).toBe('db\napi\nui\n')
    })

    test('that are stopped are waited for', async () => {
      for (const name of ['ui', 'api', 'db']) await act(name, 'stop')
      const waiting = await act('api', 'start', '?wait_seconds=0')
      expect([waiting.status, waiting.body.message]).toEqual([202, 'It waits for db.'])
      await act('db', 'start')
      await eventually(async () => (await get('api')).state === 'running')
      for (const name of ['ui', 'api', 'db']) await client.delete(`${services}/${name}`)
    })

    test('that are not there, or lead in a circle, are refused', async () => {
      const lone = await put('a', { command: ['true'], needs: ['nobody'] })
      expect([lone.status, lone.body.errors]).toEqual([
        400,
        [{ pointer: '/needs/0', detail: 'must be a service of the box' }],
      ])
      await put('a', { command: script('exec sleep 1000') })
      await put('b', { command: script('exec sleep 1000'), needs: ['a'] })
      const circle = await put('a', { command: script('exec sleep 1000'), needs: ['b'] })
      expect([circle.status, circle.body.errors[0].pointer]).toEqual([400, '/needs/0'])
      for (const name of ['a', 'b']) await client.delete(`${services}/${name}`)
    })
  })

  describe('the log', () => {
    afterAll(async () => {
      await client.delete(`${services}/talk`)
    })

    test('is one over all starts, read by offset, and followed', async () => {
      await put('talk', { command: script('echo out; echo err >&2; exit 0'), restart: 'never' })
      await eventually(async () => (await get('talk')).state === 'stopped')
      const first = await logs('talk', '?offset=0')
      expect(first).toMatchObject({ offset: 0, next_offset: 8, data: 'out\nerr\n', truncated: false })
      const following = logs('talk', `?offset=${first.next_offset}&wait_seconds=20`)
      await act('talk', 'start')
      expect((await following).offset).toBe(8)
      await eventually(async () => (await logs('talk', '?offset=8')).data === 'out\nerr\n')
      expect((await logs('talk', '?offset=3&max_bytes=4&encoding=base64')).data).toBe(
        Buffer.from('\nerr').toString('base64'),
      )
    })

    test('keeps the last starts', async () => {
      for (let round = 0; round < 5; round++) {
        await act('talk', 'start')
        await eventually(async () => (await get('talk')).state === 'stopped')
      }
      const kept = await logs('talk', '?offset=0')
      expect([kept.truncated, kept.offset % 8]).toEqual([true, 0])
      expect(kept.offset).toBeGreaterThan(0)
    })
  })

  test('bad input is refused with a pointer, and unknown services are not found', async () => {
    const faults = [
      [{ command: [] }, '/command'],
      [{ command: ['a'], colour: 1 }, '/colour'],
      [{ command: ['a'], port: 70000 }, '/port'],
      [{ command: ['a'], readiness: { http: '/' } }, '/readiness/http'],
      [{ command: ['a'], readiness: { http: '/', tcp: true }, port: 1 }, '/readiness'],
      [{ command: ['a'], restart: 'maybe' }, '/restart'],
    ] as const
    for (const [body, pointer] of faults) {
      const { status, body: problem } = await put('bad', body)
      expect([status, problem.errors?.[0]?.pointer]).toEqual([400, pointer])
    }
    expect((await put('bad', { command: ['a'], env: { BOX_ID: 'x' } })).body.code).toBe('environment_reserved')
    expect((await put('Bad_', { command: ['a'] })).status).toBe(400)
    for (const verb of ['start', 'stop']) expect((await act('bad', verb)).body.code).toBe('service_not_found')
    expect((await client.delete(`${services}/bad`)).body.code).toBe('service_not_found')
    expect((await client.put(`${boxes}/nobody/services/x`, { command: ['a'] })).body.code).toBe('box_not_found')
  })
}
