import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { eventually } from '../../helpers/eventually.ts'
import type { Answer, Client } from '../../helpers/front/client.ts'
import { ownName } from '../../helpers/front/own-name.ts'

/** Defines the tests of updates for any front. `client` holds the admin token of a service whose base is busybox. */
export function defineUpdatesSuite(client: Client): void {
  const boxes = '/v1/projects/updates/boxes'
  const put = (body: unknown, headers = {}, name = 'web'): Promise<Answer> =>
    client.call('PUT', `${boxes}/${name}`, { body, headers })
  const shell = async (line: string) => (await client.shell('updates', 'web', line)).body
  const told = ({ status, body }: Answer): [number, string] => [status, body.code]

  describe('an update', () => {
    let initPid: string

    beforeAll(async () => {
      await client.post(boxes, { name: 'web', config: { cpus: 0.5, ram_mb: 128, storage_gb: 1 }, tags: { a: '1' } })
      await client.shell('updates', 'web', 'sleep 600 >/dev/null 2>&1 </dev/null & echo $! > /root/pid')
      initPid = (await shell('cat /root/pid')).stdout.trim()
    })

    afterAll(async () => {
      await client.delete(`${boxes}/web`)
    })

    test('raises the memory of a running box at once, and lowers it down to what is in use', async () => {
      const hog = 'dd if=/dev/zero of=/dev/null bs=200M count=1 2>/dev/null && echo fits'
      expect((await shell(hog)).stdout).toBe('')
      const grown = await put({ config: { ram_mb: 512 } })
      expect(grown.status).toBe(200)
      expect(grown.body.config).toMatchObject({
        cpus: 0.5,
        ram_mb: 512,
        region: 'local',
        storage_gb: 1,
        nesting: false,
      })
      expect((await shell(hog)).stdout).toBe('fits\n')
      expect((await put({ config: { ram_mb: 128 } })).body.config.ram_mb).toBe(128)
      expect((await shell(hog)).stdout).toBe('')
      expect((await shell(`kill -0 ${initPid} && echo alive`)).stdout).toBe('alive\n')
    })

    test('does not take memory that is in use', async () => {
      await shell('dd if=/dev/urandom of=/dev/shm/held bs=1M count=40 2>/dev/null')
      const refused = await put({ config: { ram_mb: 32, cpus: 1 } })
      expect(told(refused)).toEqual([409, 'below_use'])
      expect(refused.body.detail).toMatch(/\d+ MiB.*32 MiB/)
      expect((await client.get(`${boxes}/web`)).body.config).toMatchObject({ ram_mb: 128, cpus: 0.5 })
      expect((await shell('echo still here')).stdout).toBe('still here\n')
      await shell('rm /dev/shm/held')
    })

    test('changes the share of processor time at once', async () => {
      const spin = 'i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done'
      const spent = async (): Promise<number> => {
        const began = performance.now()
        await shell(spin)
        return performance.now() - began
      }
      await put({ config: { cpus: 0.05 } })
      const slow = await spent()
      await put({ config: { cpus: 2 } })
      // Retries, since other load on the host may slow a run down. With the small share no run is fast.
      await eventually(async () => (await spent()) < slow / 2)
    })

    test('grows and shrinks the disk while it is used, but not below that', async () => {
      await shell('dd if=/dev/urandom of=/root/fill bs=1M count=150 2>/dev/null; sync')
      const below = await put({ config: { storage_gb: 0.1 } })
      expect(told(below)).toEqual([409, 'below_use'])
      expect(below.body.detail).toMatch(/MiB are in use, 103 MiB were asked for/)
      expect((await put({ config: { storage_gb: 0.2 } })).status).toBe(200)
      expect((await shell('dd if=/dev/urandom of=/root/more bs=1M count=100 2>&1')).stdout).toMatch(/quota|space/i)
      expect((await put({ config: { storage_gb: 0.5 } })).status).toBe(200)
      expect((await shell('dd if=/dev/urandom of=/root/more bs=1M count=100 2>/dev/null && echo ok')).stdout).toBe(
        'ok\n',
      )
      await shell('rm /root/fill /root/more')
    })

    test('gives the next command another environment, and maps are replaced whole', async () => {
      await put({ environment: { ONE: '1', TWO: '2' }, tags: { b: '2' } })
      expect((await shell('echo $ONE $TWO')).stdout).toBe('1 2\n')
      const changed = await put({ environment: { TWO: '3' } })
      expect(changed.body).toMatchObject({ environment: { TWO: '3' }, tags: { b: '2' } })
      expect((await shell('echo $ONE $TWO')).stdout).toBe('3\n')
      expect(told(await put({ environment: { BOX_ID: 'x' } }))).toEqual([400, 'environment_reserved'])
    })

    test('sets port, grace period and URL settings by field, and null clears them', async () => {
      const set = await put({
        port: 8080,
        termination_grace_period_seconds: 0,
        url_settings: { wake: true, idle_stop_seconds: 60 },
      })
      expect(set.body).toMatchObject({
        port: 8080,
        termination_grace_period_seconds: 0,
        url_settings: { auth: 'token', wake: true, idle_stop_seconds: 60 },
      })
      expect((await put({ url_settings: { auth: 'public', wake: null } })).body.url_settings).toEqual({
        auth: 'public',
        wake: false,
        idle_stop_seconds: 60,
      })
      const cleared = await put({
        port: null,
        tags: null,
        environment: null,
        termination_grace_period_seconds: null,
        url_settings: null,
        config: { cpus: null },
      })
      expect(cleared.body).toMatchObject({
        port: null,
        tags: {},
        environment: {},
        termination_grace_period_seconds: 10,
        url_settings: { auth: 'token', wake: false, idle_stop_seconds: null },
        config: { cpus: 1, ram_mb: 128 },
      })
      await put({ port: 80 })
      expect((await put({ port: 0 })).body.port).toBeNull()
    })

    test('takes the body of a get, and names a read-only field that was changed', async () => {
      const { body, headers } = await client.get(`${boxes}/web`)
      const same = await put(body, { 'if-match': headers.etag })
      expect([same.status, same.headers.etag]).toEqual([200, headers.etag])
      const edited = await put({ ...body, tags: { edited: 'yes' } }, { 'if-match': headers.etag })
      expect([edited.status, edited.body.tags]).toEqual([200, { edited: 'yes' }])
      expect(told(await put({ tags: {} }, { 'if-match': headers.etag }))).toEqual([412, 'precondition_failed'])
      for (const [name, value] of Object.entries({ name: 'x', status: 'stopped', base: null, data_mounts: [1] })) {
        const refused = await put({ [name]: value })
        expect(told(refused)).toEqual([400, 'invalid_request'])
        expect(refused.body.errors).toMatchObject([{ pointer: `/${name}` }])
      }
    })

    test.each([
      [{ cpu: 1 }, '/cpu'],
      [{ config: { cpus: 0 } }, '/config/cpus'],
      [{ config: { ram_mb: 15 } }, '/config/ram_mb'],
      [{ config: { region: 'mars' } }, '/config/region'],
      [{ config: { storage_gb: 0 } }, '/config/storage_gb'],
      [{ port: 70_000 }, '/port'],
      [{ port: '80' }, '/port'],
      [{ termination_grace_period_seconds: -1 }, '/termination_grace_period_seconds'],
      [{ url_settings: { auth: 'none' } }, '/url_settings/auth'],
      [{ url_settings: { idle: 3 } }, '/url_settings/idle'],
    ])('of %j is refused, with a pointer to the fault', async (body, pointer) => {
      const refused = await put(body)
      expect(told(refused)).toEqual([400, 'invalid_request'])
      expect(refused.body.errors[0].pointer).toBe(pointer)
    })

    test('of a stopped box holds from its next start on, across stop and resume', async () => {
      await client.post(`${boxes}/web/stop`)
      expect((await put({ config: { ram_mb: 96, cpus: 0.25 } })).body).toMatchObject({
        status: 'stopped',
        config: { ram_mb: 96, cpus: 0.25 },
      })
      await client.post(`${boxes}/web/resume`)
      expect((await shell('dd if=/dev/zero of=/dev/null bs=110M count=1 2>/dev/null && echo fits')).stdout).toBe('')
      expect((await shell('dd if=/dev/zero of=/dev/null bs=40M count=1 2>/dev/null && echo fits')).stdout).toBe(
        'fits\n',
      )
    })

    test('of a box that is not there is not found', async () => {
      expect(told(await put({ tags: {} }, {}, 'missing'))).toEqual([404, 'box_not_found'])
    })

    test('many at once are applied one after another', async () => {
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, i) => put({ config: { ram_mb: 100 + i }, tags: { [`t${i}`]: 'x' } })),
      )
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
      const versions = answers.map(({ headers }) => headers.etag)
      expect(new Set(versions).size).toBe(20)
      const last = (await client.get(`${boxes}/web`)).body
      expect(last.tags).toEqual({ [`t${last.config.ram_mb - 100}`]: 'x' })
    })
  })

  describe('a quota', () => {
    const project = ownName('bounded')
    const quota = `/v1/projects/${project}/quota`
    const bounded = `/v1/projects/${project}/boxes`
    const data = `/v1/projects/${project}/data`
    const set = (allowed: unknown): Promise<Answer> => client.call('PUT', quota, { body: { allowed } })

    afterAll(async () => {
      for (const name of ['one', 'two', 'three']) await client.delete(`${bounded}/${name}`)
      await client.delete(`${data}/vol`)
      await set(null)
    })

    test('is unlimited unless set, and shows the usage', async () => {
      const config = { cpus: 0.5, ram_mb: 64, storage_gb: 1 }
      await client.post(bounded, { name: 'one', config })
      expect((await client.get(quota)).body).toEqual({
        project,
        allowed: { boxes: null, cpus: null, ram_mb: null, storage_gb: null },
        used: { boxes: 1, cpus: 0.5, ram_mb: 64, storage_gb: 1, stored_bytes: expect.any(Number) },
        updated_at: null,
      })
    })

    test('refuses requests beyond it, with figures, and leaves nothing of them', async () => {
      const { etag } = (await client.get(quota)).headers
      expect((await set({ boxes: 2, ram_mb: 200, cpus: 1, storage_gb: 3 })).body.allowed).toEqual({
        boxes: 2,
        cpus: 1,
        ram_mb: 200,
        storage_gb: 3,
      })
      const stale = { body: { allowed: { boxes: 9 } }, headers: { 'if-match': String(etag) } }
      expect(told(await client.call('PUT', quota, stale))).toEqual([412, 'precondition_failed'])
      const create = (config: unknown): Promise<Answer> => client.post(bounded, { name: 'two', config })
      const small = { cpus: 0.5, ram_mb: 64, storage_gb: 1 }
      const refused = await create({ ...small, ram_mb: 137 })
      expect(told(refused)).toEqual([403, 'quota_exceeded'])
      expect(refused.body.detail).toContain('64 of 200 MiB of memory are in use, 137 more were asked for')
      expect(told(await create({ ...small, cpus: 0.6 }))).toEqual([403, 'quota_exceeded'])
      expect(told(await create({ ...small, storage_gb: 2.5 }))).toEqual([403, 'quota_exceeded'])
      const volume = (size_gb: number): Promise<Answer> => client.post(data, { name: 'vol', size_gb })
      expect(told(await volume(2.5))).toEqual([403, 'quota_exceeded'])
      expect((await volume(0.5)).status).toBe(201)
      expect((await create(small)).status).toBe(201)
      expect(told(await client.post(bounded, { name: 'three', config: small }))).toEqual([403, 'quota_exceeded'])
      const more = await client.call('PUT', `${bounded}/one`, { body: { config: { ram_mb: 150 } } })
      expect(told(more)).toEqual([403, 'quota_exceeded'])
      const larger = await client.call('PUT', `${data}/vol`, { body: { size_gb: 1.5 } })
      expect(told(larger)).toEqual([403, 'quota_exceeded'])
      expect((await client.get(quota)).body.used).toMatchObject({ boxes: 2, cpus: 1, ram_mb: 128, storage_gb: 2.5 })
    })

    test('counts processors and memory of running boxes, and is checked at each start', async () => {
      await client.post(`${bounded}/one/stop`)
      const now = (await client.get(quota)).body
      expect(now.used).toMatchObject({ boxes: 2, cpus: 0.5, ram_mb: 64 })
      const before = { ...now, used: { ...now.used, cpus: 1 } }
      expect((await client.put(quota, before)).body).toMatchObject({
        used: { boxes: 2, cpus: 0.5 },
        allowed: now.allowed,
      })
      await set({ cpus: 0.5 })
      expect(told(await client.post(`${bounded}/one/resume`))).toEqual([403, 'quota_exceeded'])
      expect((await client.get(`${bounded}/one`)).body.status).toBe('stopped')
      await set({ cpus: null })
      expect((await client.post(`${bounded}/one/resume`)).body.status).toBe('running')
    })

    test('lets as many of concurrent creates pass as fit', async () => {
      await set({ boxes: 5, cpus: null, ram_mb: null, storage_gb: null })
      const names = Array.from({ length: 12 }, (_, i) => `burst-${i}`)
      const answers = await Promise.all(
        names.map((name) => client.post(bounded, { name, config: { ram_mb: 32, storage_gb: 0.1 } })),
      )
      const statuses = answers.map(({ status }) => status)
      expect([statuses.filter((s) => s === 201).length, statuses.filter((s) => s === 403).length]).toEqual([3, 9])
      await Promise.all(names.map((name) => client.delete(`${bounded}/${name}`)))
    })

    test('that is no number is refused', async () => {
      for (const allowed of [{ boxes: -1 }, { boxes: 'x' }, { disks: 1 }, 3])
        expect(told(await set(allowed))).toEqual([400, 'invalid_request'])
      expect(told(await client.call('PUT', quota, { body: { used: {} } }))).toEqual([400, 'invalid_request'])
    })
  })
}
