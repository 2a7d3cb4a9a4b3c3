import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { Answer, Client } from '../../helpers/front/client.ts'

/** Defines the tests of volume snapshots for any front, with `client` as for the other suites. */
export function defineVolumeSnapshotsSuite(client: Client): void {
  const boxes = '/v1/projects/snaps/boxes'
  const data = '/v1/projects/snaps/data'
  const attach = (volume: string, box: string, path: string, more: Record<string, unknown> = {}) =>
    client.post(`${data}/${volume}/attach`, { box, path, ...more })
  const detach = (volume: string, box: string) => client.post(`${data}/${volume}/detach`, { box })
  const restore = (volume: string, snapshot: string, query = '') =>
    client.post(`${data}/${volume}/restore${query}`, { snapshot })
  const shell = async (box: string, line: string): Promise<string> => {
    const { stdout, stderr } = (await client.shell('snaps', box, line)).body
    return stdout + stderr
  }
  const told = ({ status, body }: Answer): [number, string] => [status, body.code]
  const snapshotsOf = async (volume: string): Promise<SnapshotView[]> =>
    (await client.get(`${data}/${volume}/snapshots`)).body.snapshots

  describe('snapshots of a data volume', () => {
    beforeAll(async () => {
      await client.post(boxes, { name: 'writer', config: { ram_mb: 64 } })
      await client.post(boxes, { name: 'reader', config: { ram_mb: 64 } })
    })

    afterAll(async () => {
      for (const name of ['writer', 'reader']) await client.delete(`${boxes}/${name}`)
    })

    test('are taken of a volume in use, named or numbered, listed by age and deleted', async () => {
      await client.post(data, { name: 'life', size_gb: 0.25 })
      await attach('life', 'writer', '/life')
      await shell('writer', 'echo one > /life/file')
      const created = await client.post(`${data}/life/snapshots`, { name: 'first', comment: 'Before all.' })
      expect(created.status).toBe(201)
      expect(created.headers).toMatchObject({ location: `${data}/life/snapshots/first`, etag: '"1"' })
      expect(created.body).toMatchObject({
        ...{ name: 'first', project: 'snaps', box: null, volume: 'life', comment: 'Before all.' },
        ...{ automatic: false, data: [], unique_bytes: null },
      })
      expect(created.body.id).toMatch(/^snp_[0-9a-z]{26}$/)
      expect(told(await client.post(`${data}/life/snapshots`, { name: 'first' }))).toEqual([409, 'name_taken'])
      expect((await client.post(`${data}/life/snapshots`, {})).body).toMatchObject({ name: 'v0', comment: null })
      expect((await client.post(`${data}/life/snapshots`, { name: 'v7' })).body.name).toBe('v7')
      expect((await client.post(`${data}/life/snapshots`, {})).body.name).toBe('v8')
      const names = async (query: string): Promise<string[]> =>
        (await client.get(`${data}/life/snapshots?${query}`)).body.snapshots.map(({ name }: SnapshotView) => name)
      expect(await names('')).toEqual(['first', 'v0', 'v7', 'v8'])
      expect(await names('prefix=v')).toEqual(['v0', 'v7', 'v8'])
      const page = (await client.get(`${data}/life/snapshots?max_results=3`)).body
      expect(page).toMatchObject({ has_more: true })
      expect(await names(`max_results=3&continuation_token=${page.next_continuation_token}`)).toEqual(['v8'])

      const one = `${data}/life/snapshots/v7`
      expect((await client.get(one)).body).toMatchObject({ name: 'v7', volume: 'life' })
      expect(page.snapshots[0]).toMatchObject({ size_bytes: null, unique_bytes: null })
      expect((await client.get(one, { headers: { 'if-none-match': '"1"' } })).status).toBe(304)
      expect(told(await client.delete(one, { headers: { 'if-match': '"2"' } }))).toEqual([412, 'precondition_failed'])
      expect((await client.delete(one, { headers: { 'if-match': '"1"' } })).status).toBe(204)
      expect(told(await client.delete(one))).toEqual([404, 'snapshot_not_found'])
      expect(told(await client.get(one))).toEqual([404, 'snapshot_not_found'])
      expect((await client.post(`${data}/life/snapshots`, {})).body.name).toBe('v9')
      await detach('life', 'writer')
      expect((await client.delete(`${data}/life`)).status).toBe(204)
      expect(told(await client.get(`${data}/life/snapshots`))).toEqual([404, 'volume_not_found'])
    })

    test('restore the content of that instant in all boxes that have the volume', async () => {
      await client.post(data, { name: 'db', size_gb: 0.25 })
      await attach('db', 'writer', '/srv/db')
      await attach('db', 'reader', '/db', { read_only: true })
      await shell('writer', 'mkdir /srv/db/deep; echo old > /srv/db/deep/table; chown -R 33:33 /srv/db/deep; sleep 0.1')
      await client.post(`${data}/db/snapshots`, { name: 'good' })
      await shell('writer', 'echo new > /srv/db/deep/table; echo more > /srv/db/more')
      const { body: before, headers } = await client.get(`${data}/db`)
      const writer = (await client.get(`${boxes}/writer`)).body

      const restored = await restore('db', 'good')
      expect(restored.status).toBe(200)
      expect(restored.body).toMatchObject({ id: before.id, name: 'db', attachments: before.attachments })
      expect(restored.headers['etag']).not.toBe(headers['etag'])
      expect(await shell('writer', 'cat /srv/db/deep/table; ls -ln /srv/db/deep; ls /srv/db')).toMatch(
        /^old\n.* 33 +33 .* table\ndeep\n$/s,
      )
      expect(await shell('reader', 'cat /db/deep/table; echo x > /db/x')).toMatch(/^old\n.*Read-only file system/)
      expect(await shell('writer', 'echo on > /srv/db/deep/table; sleep 0.1')).toBe('')
      expect(await shell('reader', 'cat /db/deep/table')).toBe('on\n')
      expect((await client.get(`${boxes}/writer`)).body).toMatchObject({
        ...{ status: 'running', state: writer.state, data_mounts: writer.data_mounts },
      })

      const [good, kept] = await snapshotsOf('db')
      expect(good).toMatchObject({ name: 'good', automatic: false })
      expect(kept).toMatchObject({
        name: 'v0',
        automatic: true,
        volume: 'db',
        comment: 'Before the restore of "good".',
      })
      expect((await restore('db', 'v0')).status).toBe(200)
      expect(await shell('writer', 'cat /srv/db/deep/table /srv/db/more')).toBe('new\nmore\n')
    })

    test('made by restores are kept three at most, and others stay', async () => {
      for (let round = 0; round < 4; round++) expect((await restore('db', 'good')).status).toBe(200)
      const kept = (await snapshotsOf('db')).map(({ name, automatic }) => [name, automatic])
      expect(kept).toEqual([
        ['good', false],
        ['v3', true],
        ['v4', true],
        ['v5', true],
      ])
      expect(await shell('reader', 'cat /db/deep/table')).toBe('old\n')
    })

    test('are restored only while no process uses the volume, else nothing changes', async () => {
      await shell('writer', 'echo kept > /srv/db/deep/table; rm -f /root/sits')
      const sitting = client.shell('snaps', 'reader', 'cd /db/deep && echo $$ > /root/sits && exec sleep 600')
      await shell('reader', 'until grep -qs "^Name:.sleep" /proc/$(cat /root/sits)/status; do sleep 0.02; done')
      const versions = async (): Promise<unknown> => [(await client.get(`${data}/db`)).headers['etag']]
      const before = [await versions(), await snapshotsOf('db')]
      const busy = await restore('db', 'good', '?wait_seconds=0')
      expect(told(busy)).toEqual([409, 'volume_busy'])
      expect(busy.body.detail).toMatch(/\b\d+\b.*sleep/)
      expect([await versions(), await snapshotsOf('db')]).toEqual(before)
      expect(await shell('writer', 'cat /srv/db/deep/table')).toBe('kept\n')
      expect(await shell('reader', 'cat /db/deep/table')).toBe('kept\n')
      const restoring = restore('db', 'good', '?wait_seconds=25')
      // Gives the request time to find the volume busy.
      await shell('reader', 'sleep 0.5; kill $(cat /root/sits)')
      expect((await restoring).status).toBe(200)
      await sitting
      expect(await shell('reader', 'cat /db/deep/table')).toBe('old\n')
    })

    test('are restored under If-Match, and for boxes that do not run as well', async () => {
      await client.post(`${boxes}/reader/stop`)
      const stale = { headers: { 'if-match': '"1"' } }
      const again = await client.post(`${data}/db/restore`, { snapshot: 'good' }, stale)
      expect(told(again)).toEqual([412, 'precondition_failed'])
      await shell('writer', 'echo gone > /srv/db/deep/table')
      const { headers } = await client.get(`${data}/db`)
      const fresh = { headers: { 'if-match': String(headers['etag']) } }
      expect((await client.post(`${data}/db/restore`, { snapshot: 'good' }, fresh)).status).toBe(200)
      await client.post(`${boxes}/reader/resume`)
      expect(await shell('reader', 'cat /db/deep/table')).toBe('old\n')
      expect(await shell('writer', 'cat /srv/db/deep/table')).toBe('old\n')
    })

    test('appear where the box has moved the volume', async () => {
      await shell('writer', 'mkdir -p /srv/deep && mv /srv /moved')
      expect((await restore('db', 'good')).status).toBe(200)
      expect(await shell('writer', 'cat /moved/db/deep/table; ls /srv')).toMatch(/^old\nls: /)
      await detach('db', 'reader')
      expect((await detach('db', 'writer')).status).toBe(200)
      expect(await shell('writer', 'ls /moved/db')).toBe('')
    })

    test('of a volume with another mounted inside cannot be restored, those of the inner one can', async () => {
      await client.post(data, { name: 'inner', size_gb: 0.1 })
      const nested = [
        { name: 'db', path: '/outer' },
        { name: 'inner', path: '/outer/deep/inner' },
      ]
      await client.post(boxes, { name: 'nest', config: { ram_mb: 64 }, data_mounts: nested })
      await shell('nest', 'echo kept > /outer/deep/inner/file; sync')
      await client.post(`${data}/inner/snapshots`, { name: 'then' })
      await shell('nest', 'echo lost > /outer/deep/inner/file')
      const refused = await restore('db', 'good', '?wait_seconds=0')
      expect(told(refused)).toEqual([409, 'volume_busy'])
      expect(refused.body.detail).toContain('/outer/deep/inner')
      expect(await shell('nest', 'cat /outer/deep/inner/file')).toBe('lost\n')
      expect((await restore('inner', 'then')).status).toBe(200)
      expect(await shell('nest', 'cat /outer/deep/inner/file /outer/deep/table')).toBe('kept\nold\n')
      await client.delete(`${boxes}/nest`)
      expect((await client.delete(`${data}/inner`)).status).toBe(204)
    })

    test("bound the volume's later writes by its size", async () => {
      await attach('db', 'writer', '/quota')
      await client.call('PUT', `${data}/db`, { body: { size_gb: 0.1 } })
      expect((await restore('db', 'good')).body.size_gb).toBe(0.1)
      const fill = await shell('writer', 'dd if=/dev/urandom of=/quota/fill bs=1M count=200 2>&1; sync')
      expect(fill).toMatch(/quota|space/i)
      await detach('db', 'writer')
      expect((await client.delete(`${data}/db`)).status).toBe(204)
    })
  })

  describe('an invalid request about snapshots', () => {
    beforeAll(async () => {
      await client.post(data, { name: 'vol', size_gb: 0.1 })
    })

    afterAll(async () => {
      await client.delete(`${data}/vol`)
    })

    test.each([
      { name: 'UPPER' },
      { name: '' },
      { name: 1 },
      { name: 'a'.repeat(64) },
      { comment: 1 },
      { comment: 'x'.repeat(1025) },
      { comment: 'a\0b' },
      { include_data: true },
    ])('to make one of %j is refused', async (body) => {
      expect(told(await client.post(`${data}/vol/snapshots`, body))).toEqual([400, 'invalid_request'])
      expect(await snapshotsOf('vol')).toEqual([])
    })

    test('is refused, and changes nothing', async () => {
      for (const body of [{}, { snapshot: null }, { snapshot: 'a', force: true }, { snapshot: '../x' }])
        expect(told(await client.post(`${data}/vol/restore`, body))).toEqual([400, 'invalid_request'])
      expect(told(await restore('vol', 'missing'))).toEqual([404, 'snapshot_not_found'])
      expect(told(await restore('missing', 'v0'))).toEqual([404, 'volume_not_found'])
      expect(told(await client.post(`${data}/missing/snapshots`, {}))).toEqual([404, 'volume_not_found'])
      expect(told(await client.get(`${data}/vol/snapshots?continuation_token=x`))).toEqual([400, 'invalid_request'])
      expect(told(await client.get(`${data}/vol/snapshots?max_results=0`))).toEqual([400, 'invalid_request'])
      expect((await client.get(`${data}/vol`)).headers['etag']).toBe('"1"')
    })
  })
}

interface SnapshotView {
  name: string
  automatic: boolean
}
