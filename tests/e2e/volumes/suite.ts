import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { Answer, Client } from '../../helpers/front/client.ts'

/** Defines the tests of data volumes for any front. `client` holds the admin token of a service whose base is busybox. */
export function defineVolumesSuite(client: Client): void {
  const boxes = '/v1/projects/vols/boxes'
  const data = '/v1/projects/vols/data'
  const put = (path: string, body: unknown, headers = {}) => client.call('PUT', path, { body, headers })
  const attach = (volume: string, box: string, path: string, more: Record<string, unknown> = {}) =>
    client.post(`${data}/${volume}/attach?wait_seconds=2`, { box, path, ...more })
  const detach = (volume: string, box: string) => client.post(`${data}/${volume}/detach?wait_seconds=1`, { box })
  const shell = (box: string, line: string): Promise<string> =>
    client.shell('vols', box, line).then(({ body }) => body.stdout + body.stderr)
  const told = ({ status, body }: Answer): [number, string] => [status, body.code]

  describe('a data volume', () => {
    test('is created, listed, changed and deleted', async () => {
      const created = await client.post(data, { name: 'life', size_gb: 0.5, tags: { a: '1' } })
      expect(created.status).toBe(201)
      expect(created.headers.location).toBe(`${data}/life`)
      expect(created.body).toMatchObject({ name: 'life', project: 'vols', size_gb: 0.5, attachments: [], from: null })
      expect(created.body.id).toMatch(/^vol_[0-9a-z]{26}$/)
      expect(told(await client.post(data, { name: 'life' }))).toEqual([409, 'name_taken'])
      expect((await client.post(data, { name: 'other' })).body.size_gb).toBe(10)
      const names = async (query: string): Promise<string[]> =>
        (await client.get(`${data}?${query}`)).body.volumes.map(({ name }: { name: string }) => name)
      expect([await names(''), await names('prefix=o'), await names('tag=a%3D1')]).toEqual([
        ['life', 'other'],
        ['other'],
        ['life'],
      ])
      const { body: read, headers } = await client.get(`${data}/life`)
      const changed = await put(`${data}/life`, { ...read, size_gb: 1, tags: null }, { 'if-match': headers.etag })
      expect(changed.body).toMatchObject({ size_gb: 1, tags: {} })
      expect(told(await put(`${data}/life`, { size_gb: 2 }, { 'if-match': headers.etag }))).toEqual([
        412,
        'precondition_failed',
      ])
      expect(told(await put(`${data}/life`, { name: 'renamed' }))).toEqual([400, 'invalid_request'])
      for (const name of ['life', 'other']) expect((await client.delete(`${data}/${name}`)).status).toBe(204)
      expect(told(await client.get(`${data}/life`))).toEqual([404, 'volume_not_found'])
      expect(told(await client.delete(`${data}/life`))).toEqual([404, 'volume_not_found'])
    })

    test('of an invalid size is refused', async () => {
      for (const size_gb of [0, -1, '1', 1e12])
        expect(told(await client.post(data, { name: 'bad', size_gb }))).toEqual([400, 'invalid_request'])
      expect(told(await client.post(data, { name: 'bad', source: 'x' }))).toEqual([400, 'invalid_request'])
    })
  })

  describe('attached to a running box', () => {
    let pid: string

    beforeAll(async () => {
      for (const name of ['one', 'two']) await client.post(boxes, { name, config: { ram_mb: 64 } })
      for (const name of ['db', 'logs']) await client.post(data, { name, size_gb: 0.25 })
      await client.shell('vols', 'one', 'sleep 600 >/dev/null 2>&1 </dev/null & echo $! > /root/pid')
      pid = await shell('one', 'cat /root/pid')
    })

    afterAll(async () => {
      for (const name of ['one', 'two']) await client.delete(`${boxes}/${name}`)
      for (const name of ['db', 'logs']) expect((await client.delete(`${data}/${name}`)).status).toBe(204)
    })

    test('it is there at once, at any path and without a restart', async () => {
      const attached = await attach('db', 'one', '/srv/deep/er/db')
      expect(attached.status).toBe(200)
      expect(attached.body).toMatchObject({
        name: 'one',
        status: 'running',
        data_mounts: [{ name: 'db', path: '/srv/deep/er/db', read_only: false }],
      })
      expect(await shell('one', 'echo row > /srv/deep/er/db/table && ls -ln /srv/deep/er/db')).toMatch(
        / 0 +0 +4 .* table\n$/,
      )
      expect(await shell('one', `kill -0 ${pid.trim()} && echo alive`)).toBe('alive\n')
      expect((await client.get(`${data}/db`)).body.attachments).toEqual([
        { box: 'one', path: '/srv/deep/er/db', read_only: false },
      ])
      expect((await attach('db', 'one', '/srv/deep/er/db')).body).toEqual(attached.body)
    })

    test('one box writes and any number read', async () => {
      const second = await attach('db', 'two', '/db')
      expect(told(second)).toEqual([409, 'volume_in_use'])
      expect(second.body.detail).toContain('"one"')
      expect((await attach('db', 'two', '/db', { read_only: true })).body.data_mounts).toEqual([
        { name: 'db', path: '/db', read_only: true },
      ])
      expect(await shell('two', 'cat /db/table; echo x > /db/new')).toMatch(/^row\n.*Read-only file system/)
      await shell('one', 'echo more >> /srv/deep/er/db/table')
      expect(await shell('two', 'cat /db/table')).toBe('row\nmore\n')
    })

    test('a path takes one volume, and a volume has one path in a box', async () => {
      expect(told(await attach('logs', 'two', '/db'))).toEqual([409, 'mount_path_taken'])
      expect(told(await attach('db', 'two', '/elsewhere', { read_only: true }))).toEqual([409, 'volume_in_use'])
      expect((await attach('logs', 'two', '/db/inner')).status).toBe(400)
      expect((await attach('logs', 'two', '/var/log/deep')).status).toBe(200)
      await client.post(data, { name: 'third', size_gb: 0.1 })
      expect(told(await attach('third', 'two', '/var/log'))).toEqual([409, 'mount_path_taken'])
      await client.delete(`${data}/third`)
    })

    test('its quota holds, grows and shrinks while it is used, but not below that', async () => {
      const fill = await shell('two', 'dd if=/dev/urandom of=/var/log/deep/fill bs=1M count=400 2>&1; sync')
      expect(fill).toMatch(/quota|space/i)
      expect((await client.get(`${data}/logs`)).body.used_bytes).toBeGreaterThan(200 * 1024 ** 2)
      expect((await put(`${data}/logs`, { size_gb: 0.5 })).body.size_gb).toBe(0.5)
      const seen = await client.get(`${data}/logs`)
      expect(await shell('two', 'echo fits > /var/log/deep/more && cat /var/log/deep/more')).toBe('fits\n')
      await shell('two', 'head -c 1000000 /dev/urandom > /var/log/deep/grown; sync; rm /var/log/deep/grown')
      const again = { body: seen.body, headers: { 'if-match': String(seen.headers['etag']) } }
      expect((await client.call('PUT', `${data}/logs`, again)).status).toBe(200)
      const below = await put(`${data}/logs`, { size_gb: 0.1 })
      expect(told(below)).toEqual([409, 'below_use'])
      expect(below.body.detail).toMatch(/\d+ MiB are in use, 103 MiB were asked for/)
      expect((await client.get(`${data}/logs`)).body.size_gb).toBe(0.5)
    })

    test('comes back after stop and resume, in every box that has it', async () => {
      for (const name of ['one', 'two']) {
        await client.post(`${boxes}/${name}/stop`)
        expect((await client.post(`${boxes}/${name}/resume`)).body.status).toBe('running')
      }
      expect(await shell('one', 'cat /srv/deep/er/db/table')).toBe('row\nmore\n')
      expect(await shell('two', 'cat /db/table; cat /var/log/deep/more; echo x > /db/new')).toMatch(
        /^row\nmore\nfits\n.*Read-only/,
      )
    })

    test("is busy while it is a shell's directory, then is detached without a trace", async () => {
      const sitting = client.shell('vols', 'two', 'cd /var/log/deep && echo $$ > /root/sits && exec sleep 600')
      await shell('two', 'until grep -qs "^Name:.sleep" /proc/$(cat /root/sits)/status; do sleep 0.02; done')
      const busy = await detach('logs', 'two')
      expect(told(busy)).toEqual([409, 'volume_busy'])
      expect(busy.body.detail).toMatch(/\b\d+\b.*sleep/)
      expect((await client.get(`${boxes}/two`)).body.data_mounts).toHaveLength(2)
      expect(await shell('two', 'cat /var/log/deep/more')).toBe('fits\n')
      await shell('two', 'kill $(cat /root/sits)')
      await sitting
      const detached = await detach('logs', 'two')
      expect(detached.body.data_mounts).toEqual([{ name: 'db', path: '/db', read_only: true }])
      expect(await shell('two', 'ls /var/log/deep')).toBe('')
      expect(told(await detach('logs', 'two'))).toEqual([409, 'not_attached'])
      expect((await attach('logs', 'one', '/logs')).status).toBe(200)
      expect(await shell('one', 'cat /logs/more')).toBe('fits\n')
    })

    test('waits for a process that is about to leave it', async () => {
      const stay = 'until [ -e /root/leave ]; do sleep 0.05; done'
      const sitting = client.shell('vols', 'one', `cd /logs && touch /root/sits && ${stay}`)
      await shell('one', 'until [ -e /root/sits ]; do sleep 0.02; done')
      const detaching = client.post(`${data}/logs/detach?wait_seconds=25`, { box: 'one' })
      // Gives the request time to find the volume busy.
      await shell('one', 'sleep 0.4; touch /root/leave')
      expect((await detaching).status).toBe(200)
      await sitting
    })

    test('is not deleted while a box has it, and outlives the box', async () => {
      const refused = await client.delete(`${data}/db`)
      expect(told(refused)).toEqual([409, 'volume_in_use'])
      expect(refused.body.detail).toContain('"one"')
      await client.delete(`${boxes}/one`)
      await client.post(boxes, { name: 'one', data_mounts: [{ name: 'db', path: '/new' }] })
      expect(await shell('one', 'cat /new/table')).toBe('row\nmore\n')
    })
  })

  describe('invalid mount paths', () => {
    beforeAll(async () => {
      await client.post(boxes, { name: 'odd', config: { ram_mb: 64 } })
      await client.post(data, { name: 'vol', size_gb: 0.1 })
      await client.shell(
        'vols',
        'odd',
        `mkdir -p /safe; echo x > /file; ln -s / /root/top; ln -s /proc /root/proc; ln -s ../../../../../../../tmp /root/up;
         ln -s /nowhere/at/all /root/dangling; ln -s loop /root/loop; ln -s /dev /root/dev`,
      )
    })

    afterAll(async () => {
      await client.delete(`${boxes}/odd`)
      await client.delete(`${data}/vol`)
    })

    test.each([
      '/',
      '/proc',
      '/proc/self',
      '/sys/fs/cgroup',
      '/dev',
      '/dev/shm',
      '/a/../b',
      '/a//b',
      '/a/',
      '/./a',
      `/${'x'.repeat(256)}`,
      '/file',
      '/file/below',
      '/root/proc',
      '/root/proc/1',
      '/root/dev/shm',
      '/root/dangling',
      '/root/loop',
      '/root/loop/x',
      '/root/top',
    ])('%s is refused, and nothing is attached', async (path) => {
      expect(told(await attach('vol', 'odd', path))).toEqual([400, 'path_invalid'])
      expect((await client.get(`${boxes}/odd`)).body.data_mounts).toEqual([])
      expect((await client.get(`${data}/vol`)).body.attachments).toEqual([])
    })

    test('a path that was refused is checked again, also for the same Idempotency-Key', async () => {
      await shell('odd', 'echo x > /soon')
      const again = () =>
        client.post(`${data}/vol/attach`, { box: 'odd', path: '/soon' }, { headers: { 'idempotency-key': 'soon' } })
      expect(told(await again())).toEqual([400, 'path_invalid'])
      await shell('odd', 'rm /soon')
      expect((await again()).status).toBe(200)
      await detach('vol', 'odd')
    })

    test('relative paths and unknown fields are refused', async () => {
      expect(told(await attach('vol', 'odd', 'relative'))).toEqual([400, 'invalid_request'])
      expect(told(await attach('vol', 'odd', '/a', { mode: 'rw' }))).toEqual([400, 'invalid_request'])
    })

    test('a link that leads up and out ends inside the box', async () => {
      expect((await attach('vol', 'odd', '/root/up')).status).toBe(200)
      expect(await shell('odd', 'echo in > /root/up/side; cat /tmp/side')).toBe('in\n')
      expect((await detach('vol', 'odd')).status).toBe(200)
      expect(await shell('odd', 'ls /tmp')).toBe('')
    })

    test('a volume or box that is not there is not found', async () => {
      expect(told(await attach('missing', 'odd', '/a'))).toEqual([404, 'volume_not_found'])
      expect(told(await attach('vol', 'missing', '/a'))).toEqual([404, 'box_not_found'])
      await client.post('/v1/projects/vols2/boxes', { name: 'foreign' })
      expect(told(await attach('vol', 'foreign', '/a'))).toEqual([404, 'box_not_found'])
      await client.delete('/v1/projects/vols2/boxes/foreign')
    })

    test('a box that renames or replaces the mount path keeps its volume, and detach finds it', async () => {
      await attach('vol', 'odd', '/safe/place/vol')
      await shell('odd', 'echo held > /safe/place/vol/file')
      for (const line of [
        'umount /safe/place/vol',
        'mount -o remount,ro /safe/place/vol',
        'mv /safe/place/vol /safe/v',
      ])
        expect((await client.shell('vols', 'odd', line)).body.exit_code).not.toBe(0)
      expect(await shell('odd', 'mv /safe/place /safe/moved && cat /safe/moved/vol/file')).toBe('held\n')
      expect((await attach('vol', 'odd', '/safe/place/vol')).status).toBe(200)
      expect(await shell('odd', 'cat /safe/moved/vol/file')).toBe('held\n')
      expect((await detach('vol', 'odd')).status).toBe(200)
      expect(await shell('odd', 'ls /safe/moved/vol')).toBe('')
    })

    test('a create with invalid mounts is refused like an attach, and leaves no box', async () => {
      const create = async (mounts: unknown): Promise<[number, string]> =>
        told(await client.post(boxes, { name: 'none', data_mounts: mounts }))
      expect(await create([{ name: 'vol', path: '/proc/x' }])).toEqual([400, 'path_invalid'])
      expect(await create([{ name: 'missing', path: '/x' }])).toEqual([404, 'volume_not_found'])
      const twice = { name: 'vol', path: '/x' }
      expect(await create([twice, { ...twice, path: '/y' }])).toEqual([400, 'invalid_request'])
      await client.post(data, { name: 'second', size_gb: 0.1 })
      expect(await create([twice, { name: 'second', path: '/x' }])).toEqual([409, 'mount_path_taken'])
      await attach('vol', 'odd', '/x')
      expect(await create([twice])).toEqual([409, 'volume_in_use'])
      expect((await client.get(`${boxes}/none`)).status).toBe(404)
      const second = { name: 'second', path: '/x/y' }
      const nested = [second, { ...twice, read_only: true }]
      const made = await client.post(boxes, { name: 'none', data_mounts: nested })
      expect([...told(made), made.body.status]).toEqual([201, undefined, 'stopped'])
      await client.delete(`${boxes}/none`)
      await client.delete(`${data}/second`)
    })

    test('a stopped box takes attach and detach, and reports mounts that fail at its start', async () => {
      await detach('vol', 'odd')
      await client.post(`${boxes}/odd/stop`)
      expect((await attach('vol', 'odd', '/file')).body.data_mounts).toHaveLength(1)
      // On a busy node, starting a pod takes longer than the request.
      const resume = async () => {
        await client.post(`${boxes}/odd/resume`)
        return (await client.until(`${boxes}/odd`, ({ body }) => body.status !== 'pending')).body
      }
      const state = { reason: 'failed', message: expect.stringContaining('/file') }
      expect(await resume()).toMatchObject({ status: 'stopped', state })
      expect((await detach('vol', 'odd')).body.data_mounts).toEqual([])
      expect((await resume()).status).toBe('running')
    })
  })
}
