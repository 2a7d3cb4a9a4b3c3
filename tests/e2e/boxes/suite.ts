import { describe, expect, test } from '@jest/globals'
import { type Client, DEAF } from '../../helpers/front/client.ts'

/** Defines the tests of boxes for any front. `client` holds the admin token of a service whose base is busybox. */
export function defineBoxesSuite(client: Client): void {
  const boxes = '/v1/projects/life/boxes'

  describe('the life of a box', () => {
    test('create answers a running box with every field', async () => {
      const created = await client.post(boxes, {
        name: 'web',
        environment: { GREETING: 'hello' },
        tags: { team: 'search' },
        config: { ram_mb: 64 },
      })
      expect(created.status).toBe(201)
      expect(created.headers.location).toBe(`${boxes}/web`)
      expect(created.body).toMatchObject({
        name: 'web',
        project: 'life',
        status: 'running',
        state: { reason: 'ready', message: null },
        base: 'busybox',
        fork_of: null,
        config: { cpus: 1, ram_mb: 64, region: 'local', storage_gb: 10, nesting: false },
        data_mounts: [],
        environment: { GREETING: 'hello' },
        port: null,
        published_domains: [],
        tags: { team: 'search' },
        termination_grace_period_seconds: 10,
        url: expect.stringMatching(/^http:\/\/web--life\.localhost:\d+\/$/),
        url_settings: { auth: 'token', wake: false, idle_stop_seconds: null },
        lease_until: null,
      })
      expect(created.body.id).toMatch(/^box_[0-9a-z]{26}$/)
      expect((await client.get(`${boxes}/web`)).body).toEqual(created.body)
    })

    test('create sets all that an update can set, or refuses it and creates nothing', async () => {
      const settings = { port: 3000, protocol: 'h2c', termination_grace_period_seconds: 3 }
      const url = { auth: 'public', wake: true, idle_stop_seconds: 600 }
      const created = await client.post(boxes, { name: 'set', ...settings, url_settings: url })
      expect([created.status, created.body]).toMatchObject([201, { ...settings, url_settings: url }])
      const fork = await client.post(boxes, { name: 'unset', fork: 'set', port: null, url_settings: { auth: null } })
      expect(fork.body).toMatchObject({
        ...{ port: null, protocol: 'h2c', termination_grace_period_seconds: 3 },
        url_settings: { auth: 'token', wake: false, idle_stop_seconds: null },
      })
      for (const name of ['set', 'unset']) await client.delete(`${boxes}/${name}`)
      const refused = [{ port: 99_999 }, { url_settings: { auth: 'nobody' } }, { termination_grace_period_seconds: -1 }]
      for (const fields of refused)
        expect([fields, (await client.post(boxes, { name: 'unmade', ...fields })).status]).toEqual([fields, 400])
      expect((await client.get(`${boxes}/unmade`)).status).toBe(404)
    })

    test('none has a name that Linux reserves', async () => {
      for (const name of [
        'localhost',
        'ip6-loopback',
        'ip6-localhost',
        'ip6-allnodes',
        'broadcasthost',
        'localhost4',
      ]) {
        const { status, body } = await client.post(boxes, { name })
        expect([name, status, body.errors?.[0]?.pointer]).toEqual([name, 400, '/name'])
      }
      expect((await client.shell('life', 'web', 'cat /etc/hosts')).body.stdout).toMatch(/^127\.0\.0\.1 localhost$/m)
    })

    test('/dev/shm is half of its memory, and follows that and its own setting', async () => {
      const sizeMb = async (): Promise<number> =>
        Number((await client.shell('life', 'web', "df -m /dev/shm | awk 'END {print $2}'")).body.stdout)
      expect(await sizeMb()).toBe(32)
      const update = (config: object) => client.call('PUT', `${boxes}/web`, { body: { config } })
      expect((await update({ ram_mb: 128 })).body.config).toMatchObject({ ram_mb: 128, shm_mb: null })
      expect(await sizeMb()).toBe(64)
      expect((await update({ shm_mb: 100 })).body.config).toMatchObject({ shm_mb: 100 })
      expect(await sizeMb()).toBe(100)
      await update({ ram_mb: 64, shm_mb: null })
      expect(await sizeMb()).toBe(32)
    })

    test('core dumps are for a box that may have them', async () => {
      const limit = async (): Promise<string> => (await client.shell('life', 'web', 'ulimit -c')).body.stdout
      expect(await limit()).toBe('0\n')
      await client.call('PUT', `${boxes}/web`, { body: { config: { core_dumps: true } } })
      expect(await limit()).not.toBe('0\n')
      await client.call('PUT', `${boxes}/web`, { body: { config: { core_dumps: null } } })
      expect(await limit()).toBe('0\n')
    })

    test('a command runs in it, with its environment and its own host name', async () => {
      const exec = await client.shell('life', 'web', 'echo $GREETING from $(hostname) as $BOX_NAME; pwd')
      expect(exec.status).toBe(200)
      expect(exec.body).toMatchObject({ status: 'exited', exit_code: 0, signal: null, stderr: '', detached: false })
      expect(exec.body.stdout).toBe('hello from web as web\n/root\n')
    })

    test('its metrics are the figures of the kernel', async () => {
      const metrics = async () => (await client.get(`${boxes}/web/metrics`)).body
      const before = await metrics()
      expect(before).toMatchObject({
        box: 'web',
        cpu: { limit_cores: 1 },
        memory: { limit_bytes: 64 * 1024 ** 2 },
        storage: { limit_bytes: 10 * 1024 ** 3 },
      })
      const work =
        'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; nc -w 1 192.0.2.1 80 </dev/null; sleep 1000 >/dev/null 2>&1 &'
      await client.shell('life', 'web', `dd if=/dev/urandom of=/root/large bs=1M count=4 2>&1; sync; ${work}`)
      const after = await metrics()
      expect(after.cpu.seconds).toBeGreaterThan(before.cpu.seconds)
      expect(after.memory.used_bytes).toBeGreaterThan(after.memory.cache_bytes)
      expect(after.pids.current).toBeGreaterThan(before.pids.current)
      expect(after.network.sent_packets).toBeGreaterThan(before.network.sent_packets)
      const written = 4 * 1024 ** 2
      expect(after.storage.used_bytes - before.storage.used_bytes).toBeGreaterThanOrEqual(written)
      expect(after.storage.unique_bytes - before.storage.unique_bytes).toBeGreaterThanOrEqual(written)
      await client.shell('life', 'web', 'rm /root/large')
    })

    test('stop and resume keep the files, and repeat without harm', async () => {
      await client.shell('life', 'web', 'echo kept > /root/file')
      const stopped = await client.post(`${boxes}/web/stop`)
      expect(stopped.status).toBe(200)
      expect(stopped.body).toMatchObject({ status: 'stopped', state: { reason: 'stopped_by_request' } })
      expect((await client.post(`${boxes}/web/stop`)).body).toEqual(stopped.body)
      expect((await client.get(`${boxes}/web/metrics`)).body).toMatchObject({
        ...{ cpu: { seconds: null }, memory: { used_bytes: null }, pids: { current: null }, network: null },
      })
      const refused = await client.shell('life', 'web', 'true')
      expect([refused.status, refused.body.code]).toEqual([409, 'box_not_running'])
      const resumed = await client.post(`${boxes}/web/resume`)
      expect(resumed.body.status).toBe('running')
      expect((await client.post(`${boxes}/web/resume`)).body).toEqual(resumed.body)
      expect((await client.shell('life', 'web', 'cat /root/file')).body.stdout).toBe('kept\n')
    })

    test('stop sends SIGTERM first and waits for what handles it', async () => {
      await client.shell(
        'life',
        'web',
        `(trap 'echo bye > /root/said; exit' TERM; touch /root/set; while :; do sleep 0.05; done) >/dev/null 2>&1 &
         until [ -e /root/set ]; do sleep 0.02; done`,
      )
      await client.post(`${boxes}/web/stop`)
      await client.post(`${boxes}/web/resume`)
      expect((await client.shell('life', 'web', 'cat /root/said')).body.stdout).toBe('bye\n')
    })

    test('an update with a stale ETag is refused', async () => {
      const { headers } = await client.get(`${boxes}/web`)
      const etag = String(headers.etag)
      for (const known of [etag, `W/${etag}`, `"x", W/${etag}`, '*']) {
        expect((await client.get(`${boxes}/web`, { headers: { 'if-none-match': known } })).status).toBe(304)
      }
      const stale = await client.post(`${boxes}/web/stop`, undefined, { headers: { 'if-match': '"0"' } })
      expect([stale.status, stale.body.code]).toEqual([412, 'precondition_failed'])
      const fresh = await client.post(`${boxes}/web/stop`, undefined, { headers: { 'if-match': etag } })
      expect(fresh.status).toBe(200)
      const old = await client.delete(`${boxes}/web`, { headers: { 'if-match': etag } })
      expect(old.status).toBe(412)
    })

    test('delete frees the name at once, and a new box of that name is another', async () => {
      const { body: before } = await client.get(`${boxes}/web`)
      const deleted = await client.delete(`${boxes}/web`)
      expect([deleted.status, deleted.text]).toEqual([204, ''])
      const gone = await client.get(`${boxes}/web`)
      expect([gone.status, gone.body.code]).toEqual([404, 'box_not_found'])
      expect((await client.delete(`${boxes}/web`)).status).toBe(404)
      const again = await client.post(boxes, { name: 'web' })
      expect(again.body.id).not.toBe(before.id)
      expect((await client.shell('life', 'web', 'ls /root')).body.stdout).toBe('')
      await client.delete(`${boxes}/web`)
    })

    test('a box whose first process is killed from inside is stopped, with the reason', async () => {
      await client.post(boxes, { name: 'fragile' })
      await client.shell('life', 'fragile', 'kill -9 -1')
      const { body } = await client.get(`${boxes}/fragile`)
      expect(['running', 'stopped']).toContain(body.status)
      await client.delete(`${boxes}/fragile`)
    })

    test('a create that does not wait answers at once with the box to poll', async () => {
      const created = await client.post(`${boxes}?wait_seconds=0`, { name: 'later' })
      expect([created.status, created.body.status]).toEqual([201, 'pending'])
      const path = String(created.headers['operation-location'])
      const operation = await client.get(`${path}?wait_seconds=20`)
      expect(operation.body).toMatchObject({ kind: 'box.create', status: 'done', error: null })
      expect((await client.get(`${boxes}/later`)).body.status).toBe('running')
      await client.shell('life', 'later', DEAF)
      const stopped = await client.post(`${boxes}/later/stop?wait_seconds=0`)
      expect([stopped.status, stopped.body.state.reason]).toEqual([202, 'stopping'])
      await client.delete(`${boxes}/later`)
    })

    test('an operation begins with its request, however long that waited', async () => {
      await client.post(boxes, { name: 'slow' })
      await client.put(`${boxes}/slow`, { termination_grace_period_seconds: 3 })
      await client.shell('life', 'slow', DEAF)
      const stopped = await client.post(`${boxes}/slow/stop?wait_seconds=1`)
      const operation = await client.get(`${String(stopped.headers['operation-location'])}?wait_seconds=20`)
      expect(operation.body.status).toBe('done')
      // RFC 3339 with milliseconds in UTC, so text order is time order.
      const times: string[] = [operation.body.created_at, stopped.body.state.since, operation.body.ended_at]
      expect(times).toEqual([...times].sort())
      await client.delete(`${boxes}/slow`)
    })

    test('a create whose box is deleted meanwhile still succeeds', async () => {
      for (let i = 0; i < 5; i++) {
        const creating = client.post(boxes, { name: 'fleeting' })
        let deleted = await client.delete(`${boxes}/fleeting`)
        while (deleted.status === 404) deleted = await client.delete(`${boxes}/fleeting`)
        expect([(await creating).status, deleted.status]).toEqual([201, 204])
      }
    })

    test('the latest request wins: a resume during a stop ends with a running box', async () => {
      await client.post(boxes, { name: 'torn' })
      await client.shell('life', 'torn', DEAF)
      const stopping = await client.post(`${boxes}/torn/stop?wait_seconds=0`)
      expect(stopping.status).toBe(202)
      const resumed = await client.post(`${boxes}/torn/resume`)
      expect(resumed.body.status).toBe('running')
      await client.delete(`${boxes}/torn`)
    })
  })

  describe('many boxes', () => {
    test('of 50 creates of one name exactly one wins', async () => {
      const answers = await Promise.all(Array.from({ length: 50 }, () => client.post(boxes, { name: 'race' })))
      const statuses = answers.map(({ status }) => status)
      expect(statuses.filter((status) => status === 201)).toHaveLength(1)
      expect(answers.filter(({ body }) => body.code === 'name_taken')).toHaveLength(49)
      await client.delete(`${boxes}/race`)
    })

    test('lists are paged in order, filtered by prefix, status and tag', async () => {
      const project = '/v1/projects/lists/boxes'
      for (const name of ['c', 'a', 'b', 'ab']) await client.post(project, { name, tags: { name } })
      await client.post(`${project}/c/stop`)
      const names = async (query: string): Promise<string[]> =>
        (await client.get(`${project}?${query}`)).body.boxes.map((box: { name: string }) => box.name)
      expect(await names('')).toEqual(['a', 'ab', 'b', 'c'])
      expect(await names('prefix=a')).toEqual(['a', 'ab'])
      expect(await names('status=stopped')).toEqual(['c'])
      expect(await names('tag=name%3Db')).toEqual(['b'])
      const first = (await client.get(`${project}?max_results=3`)).body
      expect(first.has_more).toBe(true)
      const rest = await names(`max_results=3&continuation_token=${first.next_continuation_token}`)
      expect(rest).toEqual(['c'])
      const everywhere = (await client.get('/v1/projects/-/boxes?prefix=a')).body.boxes
      expect(everywhere.map((box: { project: string }) => box.project)).toEqual(['lists', 'lists'])
      expect((await client.get('/v1/projects/empty/boxes')).body).toEqual({
        boxes: [],
        has_more: false,
        next_continuation_token: null,
      })
      for (const name of ['a', 'b', 'ab', 'c']) await client.delete(`${project}/${name}`)
    })

    test('an Idempotency-Key makes one box of two creates, and refuses another body', async () => {
      const headers = { 'idempotency-key': `key-${Math.random()}` }
      const first = await client.post(boxes, { name: 'once' }, { headers })
      const second = await client.post(boxes, { name: 'once' }, { headers })
      expect(second.status).toBe(201)
      expect(second.body).toEqual(first.body)
      expect(second.headers['idempotent-replayed']).toBe('true')
      const other = await client.post(boxes, { name: 'other' }, { headers })
      expect([other.status, other.body.code]).toEqual([422, 'idempotency_key_reused'])
      await client.delete(`${boxes}/once`)
    })
  })
}
