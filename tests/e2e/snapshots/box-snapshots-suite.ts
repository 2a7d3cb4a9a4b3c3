import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { Answer, Client } from '../../helpers/front/client.ts'

/** Defines the tests of box snapshots for any front. `client` holds the admin token of a service whose base is busybox. */
export function defineBoxSnapshotsSuite(client: Client): void {
  const boxes = '/v1/projects/shots/boxes'
  const data = '/v1/projects/shots/data'
  const take = (box: string, body: Record<string, unknown> = {}, headers = {}) =>
    client.call('POST', `${boxes}/${box}/snapshots`, { body, headers })
  const restore = (box: string, body: Record<string, unknown>, query = '') =>
    client.post(`${boxes}/${box}/restore${query}`, body)
  const names = async (box: string, query = ''): Promise<string[]> =>
    (await client.get(`${boxes}/${box}/snapshots${query}`)).body.snapshots.map(({ name }: { name: string }) => name)
  const shell = async (box: string, line: string): Promise<string> => {
    const { stdout, stderr } = (await client.shell('shots', box, line)).body
    return stdout + stderr
  }
  const told = ({ status, body }: Answer): [number, string] => [status, body.code]

  describe('a snapshot of a box', () => {
    beforeAll(async () => {
      await client.post(boxes, { name: 'web', config: { ram_mb: 64, storage_gb: 1 }, tags: { a: 'b' } })
    })
    afterAll(async () => {
      await client.delete(`${boxes}/web`)
    })

    test('is taken of a running and of a stopped box, with a number or a name', async () => {
      await shell('web', 'echo one > /root/file')
      const first = await take('web', { comment: 'Works.' })
      expect(first.status).toBe(201)
      expect(first.headers.location).toBe(`${boxes}/web/snapshots/v0`)
      expect(first.headers.etag).toBe('"1"')
      expect(first.body).toMatchObject({
        name: 'v0',
        project: 'shots',
        box: 'web',
        volume: null,
        comment: 'Works.',
        automatic: false,
        data: [],
      })
      expect(first.body.id).toMatch(/^snp_[0-9a-z]{26}$/)
      await client.post(`${boxes}/web/stop`)
      expect((await take('web', { name: 'at-rest' })).status).toBe(201)
      await client.post(`${boxes}/web/resume`)
      expect((await take('web')).body.name).toBe('v1')
      expect(told(await take('web', { name: 'at-rest' }))).toEqual([409, 'name_taken'])
      expect(await names('web')).toEqual(['v0', 'at-rest', 'v1'])
      expect(await names('web', '?prefix=v')).toEqual(['v0', 'v1'])
      const page = (await client.get(`${boxes}/web/snapshots?max_results=2`)).body
      expect(page).toMatchObject({ has_more: true })
      expect(await names('web', `?continuation_token=${page.next_continuation_token}`)).toEqual(['v1'])
    })

    test('keeps its content when the box changes or is restored, and is a source of forks', async () => {
      await shell('web', 'echo two > /root/file')
      const forked = await client.post(boxes, { name: 'from-shot', fork: 'web@v0' })
      expect(forked.body).toMatchObject({ status: 'running', fork_of: 'web', config: { ram_mb: 64 } })
      expect(await shell('from-shot', 'cat /root/file')).toBe('one\n')
      await shell('from-shot', 'echo three > /root/file')
      expect((await client.delete(`${boxes}/web/snapshots/v0`)).status).toBe(204)
      expect(told(await client.get(`${boxes}/web/snapshots/v0`))).toEqual([404, 'snapshot_not_found'])
      expect(await shell('from-shot', 'cat /root/file')).toBe('three\n')
      await client.delete(`${boxes}/from-shot`)
      expect(told(await client.post(boxes, { name: 'none', fork: 'web@v0' }))).toEqual([404, 'snapshot_not_found'])
      expect((await take('web')).body.name).toBe('v2')
    })

    test('restores a running box, which runs again, and keeps its data as an automatic snapshot', async () => {
      await shell('web', 'echo before > /root/file')
      await take('web', { name: 'good' })
      await shell('web', 'rm /root/file; echo after > /root/other; sleep 600 > /dev/null 2>&1 &')
      const before = (await client.get(`${boxes}/web`)).body
      const restored = await restore('web', { snapshot: 'good' })
      expect(restored.status).toBe(200)
      expect(restored.body).toMatchObject({
        id: before.id,
        status: 'running',
        state: { reason: 'ready' },
        tags: { a: 'b' },
        config: before.config,
      })
      expect(await shell('web', 'cat /root/file; ls /root; pidof sleep')).toBe('before\nfile\n')
      const { snapshots } = (await client.get(`${boxes}/web/snapshots`)).body
      const automatic = snapshots.filter((each: { automatic: boolean }) => each.automatic)
      expect(automatic).toHaveLength(1)
      expect(automatic[0].comment).toBe('Before the restore of "good".')
      await restore('web', { snapshot: automatic[0].name })
      expect(await shell('web', 'ls /root')).toBe('other\n')
    })

    test('restores a stopped box, which stays stopped', async () => {
      await client.post(`${boxes}/web/stop`)
      const restored = await restore('web', { snapshot: 'good' })
      expect(restored.body).toMatchObject({ status: 'stopped', state: { reason: 'stopped_by_request' } })
      expect((await client.post(`${boxes}/web/resume`)).body.status).toBe('running')
      expect(await shell('web', 'cat /root/file')).toBe('before\n')
    })

    test('made by restores are kept only up to the limit', async () => {
      for (let round = 0; round < 4; round++) await restore('web', { snapshot: 'good' })
      const { snapshots } = (await client.get(`${boxes}/web/snapshots`)).body
      const { limits } = (await client.get('/v1/config')).body
      const automatic = snapshots.filter((each: { automatic: boolean }) => each.automatic)
      expect(automatic).toHaveLength(limits.automatic_snapshots_per_owner)
      expect(await names('web')).toEqual(expect.arrayContaining(['at-rest', 'v1', 'v2', 'good']))
    })

    test('shows its size, and what deleting it would free', async () => {
      await shell('web', 'head -c 2000000 /dev/urandom > /root/big; sync')
      await take('web', { name: 'sized' })
      const size = async () => (await client.get(`${boxes}/web/snapshots/sized`)).body
      const before = await size()
      expect(before.size_bytes).toBeGreaterThan(2_000_000)
      expect(before.unique_bytes).toBeLessThan(1_000_000)
      await shell('web', 'rm /root/big; sync')
      const after = await size()
      expect(after.size_bytes).toBe(before.size_bytes)
      expect(after.unique_bytes).toBeGreaterThanOrEqual(2_000_000)
      const { snapshots } = (await client.get(`${boxes}/web/snapshots?prefix=sized`)).body
      expect(snapshots[0]).toMatchObject({ size_bytes: before.size_bytes, unique_bytes: null })
      await client.delete(`${boxes}/web/snapshots/sized`)
    })

    test('goes with its box', async () => {
      await client.post(boxes, { name: 'gone', config: { ram_mb: 64 } })
      await take('gone')
      await client.delete(`${boxes}/gone`)
      expect(told(await client.get(`${boxes}/gone/snapshots`))).toEqual([404, 'box_not_found'])
      await client.post(boxes, { name: 'gone', config: { ram_mb: 64 } })
      expect(await names('gone')).toEqual([])
      expect((await take('gone')).body.name).toBe('v0')
      await client.delete(`${boxes}/gone`)
    })

    test('an invalid request is refused and changes nothing', async () => {
      const before = await names('web')
      for (const body of [
        { name: 'Bad' },
        { name: 'a--b' },
        { name: 'live' },
        { include_data: 'yes' },
        { nmae: 'x' },
        { comment: 7 },
      ])
        expect(told(await take('web', body))).toEqual([400, 'invalid_request'])
      expect(told(await take('nobody'))).toEqual([404, 'box_not_found'])
      expect(told(await restore('nobody', { snapshot: 'v0' }))).toEqual([404, 'box_not_found'])
      expect(told(await restore('web', { snapshot: 'v99' }))).toEqual([404, 'snapshot_not_found'])
      expect(told(await restore('web', {}))).toEqual([400, 'invalid_request'])
      expect(told(await client.delete(`${boxes}/web/snapshots/v99`))).toEqual([404, 'snapshot_not_found'])
      const stale = await client.call('DELETE', `${boxes}/web/snapshots/good`, { headers: { 'if-match': '"7"' } })
      expect(told(stale)).toEqual([412, 'precondition_failed'])
      const staleBox = await client.call('POST', `${boxes}/web/restore`, {
        body: { snapshot: 'good' },
        headers: { 'if-match': '"1"' },
      })
      expect(told(staleBox)).toEqual([412, 'precondition_failed'])
      expect(await names('web')).toEqual(before)
      expect((await client.get(`${boxes}/web`)).body.status).toBe('running')
    })

    test('a repeated create returns the same snapshot', async () => {
      const headers = { 'idempotency-key': 'once' }
      const first = await take('web', {}, headers)
      const again = await take('web', {}, headers)
      expect(again.body.id).toBe(first.body.id)
      expect(again.headers['idempotent-replayed']).toBe('true')
    })

    test('concurrent creates get a name each', async () => {
      const taken = await Promise.all(Array.from({ length: 12 }, () => take('web')))
      expect(new Set(taken.map(({ body }) => body.name)).size).toBe(12)
      expect(taken.map(({ status }) => status)).toEqual(Array(12).fill(201))
    })

    test('one of concurrent restores succeeds, and the others are refused', async () => {
      const answers = await Promise.all(Array.from({ length: 4 }, () => restore('web', { snapshot: 'good' })))
      const codes = answers.map(({ status, body }) => (status === 200 ? 'done' : body.code))
      expect(codes).toContain('done')
      expect(codes.every((code) => code === 'done' || code === 'box_busy')).toBe(true)
      expect((await client.get(`${boxes}/web`)).body.status).toBe('running')
      expect(await shell('web', 'cat /root/file')).toBe('before\n')
    })

    test('a request without a wait gets the address to poll', async () => {
      const answer = await restore('web', { snapshot: 'good' }, '?wait_seconds=0')
      expect([200, 202]).toContain(answer.status)
      const operation = String(answer.headers['operation-location'])
      if (answer.status === 202) {
        expect(answer.body).toMatchObject({ status: 'pending', state: { reason: 'restoring' } })
        const { body } = await client.get(`${operation}?wait_seconds=20`)
        expect(body).toMatchObject({ kind: 'box.restore', status: 'done', error: null })
      }
      expect((await client.get(`${boxes}/web`)).body.status).toBe('running')
    })
  })

  describe('with data volumes', () => {
    beforeAll(async () => {
      await client.post(boxes, { name: 'app', config: { ram_mb: 64 } })
      for (const name of ['one', 'two', 'shared']) await client.post(data, { name, size_gb: 0.25 })
      for (const name of ['one', 'two'])
        await client.post(`${data}/${name}/attach`, { box: 'app', path: `/srv/${name}` })
      await client.post(`${data}/shared/attach`, { box: 'app', path: '/srv/shared', read_only: true })
    })
    afterAll(async () => {
      for (const name of ['app', 'other']) await client.delete(`${boxes}/${name}`)
      for (const name of ['one', 'two', 'shared']) await client.delete(`${data}/${name}`)
    })

    test('root and volumes are of one instant: no file is newer than one written before it', async () => {
      const count = 'while true; do echo >> /srv/one/n; echo >> /root/n; echo >> /srv/two/n; done'
      await shell('app', `sh -c '${count}' > /dev/null 2>&1 & echo $! > /root/pid`)
      await shell('app', 'until [ -s /srv/two/n ]; do sleep 0.01; done')
      for (let round = 0; round < 5; round++) {
        const taken = await take('app', { name: `at-${round}`, include_data: true })
        expect(taken.body.data).toEqual([
          { name: 'one', path: '/srv/one', read_only: false },
          { name: 'two', path: '/srv/two', read_only: false },
          { name: 'shared', path: '/srv/shared', read_only: true },
        ])
      }
      await client.shell('shots', 'app', 'kill $(cat /root/pid)')
      for (let round = 0; round < 5; round++) {
        expect((await restore('app', { snapshot: `at-${round}` })).status).toBe(200)
        const counts = await shell('app', 'for f in /srv/one/n /root/n /srv/two/n; do wc -l < $f; done')
        const [one = 0, root = 0, two = 0] = counts.split('\n').map(Number)
        expect(one).toBeGreaterThan(0)
        expect([0, 1]).toContain(one - root)
        expect([0, 1]).toContain(root - two)
        expect([0, 1]).toContain(one - two)
      }
    })

    test('are restored together, and the earlier data becomes one automatic snapshot', async () => {
      await shell('app', 'for d in /srv/one /srv/two /root; do echo good > $d/state; done')
      await take('app', { name: 'good', include_data: true })
      await shell('app', 'for d in /srv/one /srv/two /root; do echo bad > $d/state; done')
      expect((await restore('app', { snapshot: 'good', include_data: false })).status).toBe(200)
      expect(await shell('app', 'cat /root/state /srv/one/state /srv/two/state')).toBe('good\nbad\nbad\n')
      expect((await restore('app', { snapshot: 'good' })).status).toBe(200)
      expect(await shell('app', 'cat /root/state /srv/one/state /srv/two/state')).toBe('good\ngood\ngood\n')
      expect(await shell('app', 'echo more > /srv/one/more && cat /srv/one/more')).toBe('more\n')
      const automatic = (await client.get(`${boxes}/app/snapshots`)).body.snapshots.findLast(
        (each: { automatic: boolean }) => each.automatic,
      )
      expect(automatic.data.map(({ name }: { name: string }) => name)).toEqual(['one', 'two'])
      expect((await restore('app', { snapshot: automatic.name })).status).toBe(200)
      expect(await shell('app', 'cat /root/state /srv/one/state /srv/two/state')).toBe('good\nbad\nbad\n')
    })

    test('a volume that is gone or in another box stops the restore before any change', async () => {
      await client.post(`${data}/one/detach`, { box: 'app' })
      await client.post(boxes, { name: 'other', config: { ram_mb: 64 } })
      await client.post(`${data}/one/attach`, { box: 'other', path: '/srv/one' })
      expect(told(await restore('app', { snapshot: 'good' }))).toEqual([409, 'volume_in_use'])
      await client.delete(`${boxes}/other`)
      expect((await client.delete(`${data}/one`)).status).toBe(204)
      const refused = await restore('app', { snapshot: 'good' })
      expect(told(refused)).toEqual([404, 'volume_not_found'])
      expect(refused.body.detail).toContain('"one"')
      expect(await shell('app', 'cat /root/state /srv/two/state')).toBe('good\nbad\n')
      expect((await restore('app', { snapshot: 'good', include_data: false })).status).toBe(200)
    })
  })
}
