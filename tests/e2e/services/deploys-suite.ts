import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { eventually } from '../../helpers/eventually.ts'
import type { Answer, Client } from '../../helpers/front/client.ts'

/** Defines the tests of deploys for any front. `client` holds the admin token of a service whose base is busybox. */
export function defineDeploysSuite(client: Client): void {
  const boxes = '/v1/projects/deploys/boxes'
  const services = `${boxes}/host/services`
  const app = `${services}/app`
  const get = async () => (await client.get(app)).body
  const act = (verb: string, body?: object, query = ''): Promise<Answer> => client.post(`${app}/${verb}${query}`, body)
  const shell = async (line: string): Promise<string> => (await client.shell('deploys', 'host', line)).body.stdout
  const script = (text: string): string[] => ['/bin/sh', '-c', text]
  // Serves its name at its port.
  const serving = (name: string): string[] =>
    script(`mkdir -p /srv/${name} && echo ${name} > /srv/${name}/index.html && exec httpd -f -p $PORT -h /srv/${name}`)
  const nameAt = async (port: number): Promise<string> =>
    (await shell(`printf 'GET / HTTP/1.0\\r\\n\\r\\n' | nc -w 2 127.0.0.1 ${port} 2>/dev/null | tail -n 1`)).trim()
  const actions = async (): Promise<string[]> => {
    return (await get()).history.map(({ action }: { action: string }) => action)
  }

  beforeAll(async () => {
    await client.post(boxes, { name: 'host', config: { ram_mb: 128 } })
  })

  afterAll(async () => {
    await client.delete(`${boxes}/host`)
  })

  describe('a preview', () => {
    beforeEach(async () => {
      await client.delete(app)
      await client.put(app, { command: serving('one'), port: 8080, readiness: { tcp: true }, env: { A: '1' } })
    })

    test('runs beside the active version, with a port of its own, until it is discarded', async () => {
      const { active } = await get()
      const deployed = await act('deploy', { command: serving('two'), env: { B: '2' } })
      expect([deployed.status, deployed.body.preview]).toMatchObject([
        200,
        { state: 'running', alive: true, port: 49152, isolation: 'process', spec: { env: { B: '2' }, port: 8080 } },
      ])
      expect(deployed.body.active).toMatchObject({ pid: active.pid, port: 8080 })
      expect([await nameAt(8080), await nameAt(49152)]).toEqual(['one', 'two'])
      const discarded = await act('discard')
      expect([discarded.status, discarded.body.preview, discarded.body.active.pid]).toEqual([200, null, active.pid])
      await eventually(async () => (await nameAt(49152)) === '')
      expect(await actions()).toEqual(['created', 'deployed', 'discarded'])
      for (const verb of ['promote', 'discard']) expect((await act(verb)).body.code).toBe('no_preview')
    })

    test('takes the place of another', async () => {
      await act('deploy', { command: serving('two') })
      const third = await act('deploy', { command: serving('three') })
      expect(third.body.preview).toMatchObject({ state: 'running', port: 49153 })
      await eventually(async () => (await nameAt(49152)) === '')
      expect(await nameAt(49153)).toBe('three')
    })

    test('that ends has failed, with its last lines, and the active version goes on', async () => {
      const { active } = await get()
      const failed = await act('deploy', { command: script('seq 1 30; echo broken >&2; exit 7') })
      const { preview, message } = failed.body
      expect([failed.status, preview]).toMatchObject([
        200,
        { state: 'failed', alive: false, last_exit: { exit_code: 7 } },
      ])
      expect(preview.message).toMatch(/^It ended with exit code 7\. Its last lines:\n12\n(.*\n){18}broken$/)
      expect(message).toContain('broken')
      expect((await act('promote')).body).toMatchObject({ code: 'preview_not_ready', status: 409 })
      expect(await get()).toMatchObject({ state: 'running', active: { pid: active.pid, restarts: 0 } })
      expect(await nameAt(8080)).toBe('one')
      expect((await actions()).at(-1)).toBe('preview_failed')
    })

    test('that does not listen in time has failed, and is ended', async () => {
      const late = await act('deploy', { command: script('echo waiting; exec sleep 4321'), ready_seconds: 1 })
      expect(late.body.preview).toMatchObject({ state: 'failed' })
      expect(late.body.preview.message).toBe(
        'It was not ready within 1 s. Nothing listens at port 49152. Its last lines:\nwaiting',
      )
      await eventually(async () => (await shell('ps | grep "[s]leep 4321" || echo none')) === 'none\n')
    })

    test('that listens late is waited for, and is not promoted before', async () => {
      const wish = { command: script('until test -e /tmp/go; do sleep 0.05; done; exec httpd -f -p $PORT -h /srv') }
      await shell('rm -f /tmp/go')
      const begun = await act('deploy', wish, '?wait_seconds=0')
      expect([begun.status, begun.body.preview.state]).toEqual([202, 'starting'])
      expect((await act('promote')).body.code).toBe('preview_not_ready')
      await shell('touch /tmp/go')
      await eventually(async () => (await get()).preview.state === 'running')
      expect((await act('promote')).body.active).toMatchObject({ port: 49152, alive: true })
    })

    test('has a log', async () => {
      await act('deploy', { command: script('echo preview; exec httpd -f -p $PORT -h /srv') })
      await eventually(async () => (await client.get(`${app}/logs?version=preview`)).body.data === 'preview\n')
      expect((await client.get(`${app}/logs`)).body.data).toBe('')
    })

    test('starts again with its box', async () => {
      await act('deploy', { command: serving('two') })
      await client.post(`${boxes}/host/stop`)
      expect((await get()).preview).toMatchObject({ state: 'stopped', alive: false })
      expect((await act('deploy', {})).body.code).toBe('box_not_running')
      await client.post(`${boxes}/host/resume`)
      await eventually(async () => (await get()).preview.state === 'running')
      const { active, preview } = await get()
      expect([await nameAt(active.port), await nameAt(preview.port)]).toEqual(['one', 'two'])
    })
  })

  describe('another version', () => {
    beforeEach(async () => {
      await client.delete(app)
      await client.put(app, {
        command: script('echo one; exec httpd -f -p $PORT -h /srv'),
        port: 8080,
        grace_seconds: 1,
      })
      await act('deploy', { command: script('echo two; exec httpd -f -p $PORT -h /srv') })
    })

    test('is promoted, and rolled back at once', async () => {
      const [before, { body: promoted, status }] = [await get(), await act('promote')]
      expect([status, promoted.preview, promoted.generation]).toEqual([200, null, 2])
      expect(promoted.active).toMatchObject({ pid: before.preview.pid, port: 49152, alive: true })
      expect(promoted.previous).toMatchObject({ pid: before.active.pid, port: 8080, alive: true })
      expect(promoted.spec.command).toEqual(promoted.active.spec.command)
      const { body: back } = await act('rollback')
      expect([back.active.pid, back.previous.pid, back.generation]).toEqual([before.active.pid, before.preview.pid, 3])
      expect(back.history.at(-1)).toMatchObject({ action: 'rolled_back', actor: expect.any(String), generation: 3 })
      expect((await act('rollback')).body.active.pid).toBe(before.preview.pid)
    })

    test('is followed in one log', async () => {
      await act('promote')
      await eventually(async () => (await client.get(`${app}/logs?offset=0`)).body.data === 'two\n')
      expect((await client.get(`${app}/logs?offset=4`)).body).toMatchObject({ offset: 4, data: 'two\n' })
      await act('rollback')
      expect((await client.get(`${app}/logs?offset=4`)).body).toMatchObject({ offset: 4, data: 'one\n' })
    })

    test('ends the version kept for a rollback, but only when it takes its place', async () => {
      await act('promote')
      const first = (await get()).previous
      const third = await act('deploy', { command: script('exec httpd -f -p $PORT -h /srv') })
      expect(third.body).toMatchObject({ preview: { port: 49153 }, previous: { pid: first.pid, alive: true } })
      const { previous } = (await act('promote')).body
      expect(previous.port).toBe(49152)
      await eventually(async () => (await shell(`kill -0 ${first.pid} 2>/dev/null || echo gone`)) === 'gone\n')
      // The port is free once the agent has noticed that the process ended.
      await eventually(async () => (await act('deploy', {})).body.preview.port === 8080)
      expect((await get()).preview.state).toBe('running')
    })

    test('is started with the box; the one before is started only by a rollback', async () => {
      await act('promote')
      await client.post(`${boxes}/host/stop`)
      await client.post(`${boxes}/host/resume`)
      await eventually(async () => (await get()).state === 'running')
      const seen = await get()
      expect(seen).toMatchObject({ active: { port: 8080, alive: true }, previous: { alive: false } })
      expect(seen.active.spec.command[2]).toContain('two')
      const back = await act('rollback')
      expect([back.status, back.body.active]).toMatchObject([200, { alive: true, port: 49152 }])
      expect(back.body.active.spec.command[2]).toContain('one')
      expect(back.body.previous).toMatchObject({ pid: seen.active.pid, alive: true })
    })

    test('that was kept but fails to start changes nothing', async () => {
      await client.delete(app)
      const once = script('test -e /tmp/once && exit 3; touch /tmp/once; exec httpd -f -p $PORT -h /srv')
      await shell('rm -f /tmp/once')
      await client.put(app, { command: once, port: 8080 })
      await eventually(async () => (await shell('cat /tmp/once && echo there')) === 'there\n')
      await act('deploy', { command: script('exec httpd -f -p $PORT -h /srv') })
      await act('promote')
      await act('stop')
      await act('start')
      const { active } = await get()
      expect((await act('rollback')).body).toMatchObject({
        code: 'preview_not_ready',
        detail: expect.stringMatching(/^The version before did not come up in the box\. It ended with exit code 3\. /),
      })
      expect(await get()).toMatchObject({ active: { pid: active.pid }, previous: { alive: false } })
    })

    test('ends with the service', async () => {
      await act('promote')
      await act(
        'deploy',
        { command: script('trap "" TERM; while :; do sleep 0.1; done'), ready_seconds: 30 },
        '?wait_seconds=0',
      )
      const stopped = await act('stop')
      expect(stopped.body).toMatchObject({ state: 'stopped', preview: null, active: { alive: false } })
      expect(stopped.body.previous).toMatchObject({ alive: false })
      expect(await shell('ps | grep -c "[h]ttpd -f"')).toBe('0\n')
      expect((await act('rollback')).body).toMatchObject({ state: 'stopped', active: { alive: false } })
      await act('start')
      await eventually(async () => (await client.get(`${app}/logs`)).body.data.endsWith('one\n'))
    })
  })

  describe('a preview in a copy of the box', () => {
    const data = '/v1/projects/deploys/data/kept'
    const inFork = (more: object = {}) => ({ isolation: 'fork', ...more })
    const logOf = async (version: string): Promise<string> =>
      (await client.get(`${app}/logs?version=${version}&offset=0`)).body.data
    const prying = script(
      'echo $BOX_SERVICE $(cat /root/there) $(cat /data/there); echo new > /root/there; touch /data/new 2>/dev/null && echo wrote; ' +
        'echo $(ls /data); exec httpd -f -p $PORT -h /srv',
    )

    beforeAll(async () => {
      await client.post('/v1/projects/deploys/data', { name: 'kept', size_gb: 0.1 })
      await client.post(`${data}/attach`, { box: 'host', path: '/data' })
      await shell('echo root > /root/there; echo data > /data/there; mkdir -p /srv')
    })

    beforeEach(async () => {
      await client.delete(app)
      await client.put(app, { command: script('exec httpd -f -p $PORT -h /srv'), port: 8080, grace_seconds: 1 })
    })

    test('sees the files of the box, and changes none of them', async () => {
      const deployed = await act('deploy', inFork({ command: prying }))
      expect(deployed.body.preview).toMatchObject({ state: 'running', isolation: 'fork', alive: true, port: 8080 })
      await eventually(async () => (await logOf('preview')) === 'app root data\nthere\n')
      expect(await shell('cat /root/there; ls /data')).toBe('root\nthere\n')
      const { body: list } = await client.get(boxes)
      expect(list.boxes.map(({ name }: { name: string }) => name)).toEqual(['host'])
      expect((await act('discard')).body.preview).toBeNull()
    })

    test('has writable copies of data volumes if requested, which are discarded', async () => {
      await act('deploy', inFork({ command: prying, copy_data: true }))
      await eventually(async () => (await logOf('preview')) === 'app root data\nwrote\nnew there\n')
      expect(await shell('ls /data')).toBe('there\n')
      await act('discard')
      await eventually(async () => (await client.get('/v1/storage')).body.deleting === 0)
      expect((await client.get('/v1/storage')).body.orphans).toEqual([])
    })

    test('is started in the box before it takes over', async () => {
      await act('deploy', inFork({ command: prying }))
      const promoted = await act('promote')
      expect([promoted.status, promoted.body]).toMatchObject([
        200,
        { preview: null, generation: 2, active: { alive: true, port: 49152 }, previous: { alive: true, port: 8080 } },
      ])
      await eventually(async () => (await logOf('active')).includes('new there\n'))
      expect(await shell('cat /root/there; rm /data/new; echo root > /root/there')).toBe('new\n')
      expect((await act('rollback')).body.active.port).toBe(8080)
    })

    test('that does not come up in the box itself is not promoted', async () => {
      await act(
        'deploy',
        inFork({
          command: script('test $BOX_ID = $HERE && exit 5; exec httpd -f -p $PORT -h /srv'),
          env: { HERE: (await client.get(`${boxes}/host`)).body.id },
        }),
      )
      const { active } = await get()
      expect((await act('promote')).body).toMatchObject({
        code: 'preview_not_ready',
        detail: expect.stringMatching(/^The preview did not come up in the box\. It ended with exit code 5\. /),
      })
      expect(await get()).toMatchObject({ active: { pid: active.pid, alive: true }, preview: { state: 'running' } })
    })

    test('stops and starts with the box, and ends with the service', async () => {
      await act('deploy', inFork())
      await client.post(`${boxes}/host/stop`)
      await eventually(async () => (await get()).preview.alive === false)
      await client.post(`${boxes}/host/resume`)
      await eventually(async () => (await get()).preview.state === 'running')
      await client.delete(app)
      await eventually(async () => (await client.get('/v1/storage')).body.deleting === 0)
    })
  })

  test('bad input is refused, and without a version before nothing is rolled back', async () => {
    await client.delete(app)
    for (const verb of ['deploy', 'promote', 'rollback', 'discard'])
      expect((await act(verb, verb === 'deploy' ? {} : undefined)).body.code).toBe('service_not_found')
    await client.put(app, { command: script('exec sleep 1000') })
    expect((await act('rollback')).body.code).toBe('nothing_to_roll_back')
    expect((await act('deploy', { isolation: 'magic' })).body.errors[0].pointer).toBe('/isolation')
    expect((await act('deploy', { copy_data: true })).body.errors[0].pointer).toBe('/copy_data')
    expect((await act('deploy', { env: { BOX_ID: 'x' } })).body.code).toBe('environment_reserved')
    const portless = await act('deploy', {})
    expect(portless.body.preview).toMatchObject({ state: 'running', port: null, health: 'unknown' })
  })
}
