import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { endOf } from '../../helpers/backups/lab.ts'
import type { Answer, Client } from '../../helpers/front/client.ts'

/** Defines the tests of backups for any store. `client` holds the admin token of a service whose base is busybox. */
export function defineBackupsSuite(client: Client): void {
  const boxes = '/v1/projects/baks/boxes'
  const data = '/v1/projects/baks/data'
  const shell = async (line: string): Promise<string> => {
    const { stdout, stderr } = (await client.shell('baks', 'keeper', line)).body
    return stdout + stderr
  }
  const back = (volume = 'db') => client.post(`${data}/${volume}/backups`)
  const attach = (volume: string, path: string) => client.post(`${data}/${volume}/attach`, { box: 'keeper', path })
  const ids = ({ body }: Answer): string[] => body.backups.map(({ id }: { id: string }) => id)
  const told = ({ status, body }: Answer): [number, string] => [status, body.code]
  const readBack = async (volume: string): Promise<string> => {
    expect((await attach(volume, `/${volume}`)).status).toBe(200)
    return shell(`cd /${volume} && find . | sort && cat file && sha256sum random | cut -c1-64`)
  }

  describe('backups of a data volume', () => {
    const made: string[] = []
    const contents: string[] = []

    beforeAll(async () => {
      await client.post(boxes, { name: 'keeper', config: { ram_mb: 64 } })
      await client.post(data, { name: 'db', size_gb: 0.25, tags: { a: 'b' } })
      await attach('db', '/db')
      await shell('cd /db && mkdir -p deep/er && echo one > file && head -c 3000000 /dev/urandom > random')
    })

    afterAll(async () => {
      await client.delete(`${boxes}/keeper`)
      for (const { name } of (await client.get(data)).body.volumes) await client.delete(`${data}/${name}`)
    })

    test('are full at first and incremental after that', async () => {
      for (const line of ['true', 'echo two >> /db/file', 'echo three >> /db/file; rm -r /db/deep; echo x > /db/new']) {
        await shell(line)
        const answer = await back()
        expect([answer.status, answer.body.status, answer.body.error]).toEqual([201, 'done', null])
        expect(answer.headers.location).toBe(`${data}/db/backups/${answer.body.id}`)
        expect(answer.body).toMatchObject({ volume: 'db', project: 'baks', size_gb: 0.25, automatic: false })
        expect(answer.body.sha256).toMatch(/^[0-9a-f]{64}$/)
        expect(answer.body.incremental_of).toBe(made.at(-1) ?? null)
        if (made.length === 0) expect(answer.body.size_bytes).toBeGreaterThan(3_000_000)
        else expect(answer.body.size_bytes).toBeLessThan(20_000)
        made.push(answer.body.id)
        contents.push(await shell(READ))
        expect((await client.get(`${data}/db/backups/${answer.body.id}`)).body).toEqual(answer.body)
      }
      expect(ids(await client.get(`${data}/db/backups`))).toEqual(made)
      const first = await client.get(`${data}/db/backups?max_results=2`)
      expect([ids(first), first.body.has_more]).toEqual([made.slice(0, 2), true])
      const rest = `max_results=2&continuation_token=${first.body.next_continuation_token}`
      expect(ids(await client.get(`${data}/db/backups?${rest}`))).toEqual(made.slice(2))
      expect(ids(await client.get('/v1/projects/baks/backups'))).toEqual(made)
      expect(ids(await client.get('/v1/projects/-/backups?max_results=1000'))).toEqual(expect.arrayContaining(made))
    })

    test('are restored as new volumes with the content of their time', async () => {
      for (const [index, id] of made.entries()) {
        const restored = await client.post(`${data}/db/backups/${id}/restore`, { as: `old-${index}` })
        expect([restored.status, restored.body.name, restored.body.size_gb]).toEqual([200, `old-${index}`, 0.25])
        expect(restored.body.from).toBe(`backup:${id}`)
        expect(await readBack(`old-${index}`)).toBe(contents[index])
        expect(await shell(`echo mine > /old-${index}/file && cat /old-${index}/file`)).toBe('mine\n')
      }
      expect(await shell('cat /db/file')).toBe('one\ntwo\nthree\n')
    })

    test('are restored as new volumes with other settings', async () => {
      const body = { name: 'sized', size_gb: 0.5, tags: { c: 'd' }, from_backup: made[1] }
      const created = await client.post(data, body)
      expect([created.status, created.headers.location]).toEqual([201, `${data}/sized`])
      expect(created.body).toMatchObject({ size_gb: 0.5, tags: { c: 'd' } })
      expect(told(await client.post(data, body))).toEqual([409, 'name_taken'])
      expect(told(await client.post(data, { ...body, name: 'small', size_gb: 0.001 }))).toEqual([
        409,
        'volume_too_small',
      ])
      expect(told(await client.post(data, { ...body, name: 'both', from: 'db' }))).toEqual([400, 'invalid_request'])
      const nobody = `bak_${'0'.repeat(26)}`
      expect(told(await client.post(data, { name: 'no', from_backup: nobody }))).toEqual([404, 'backup_not_found'])
      for (const path of [`${data}/db/backups/${nobody}`, `${data}/old-0/backups/${made[0]}`]) {
        expect(told(await client.get(path))).toEqual([404, 'backup_not_found'])
        expect(told(await client.delete(path))).toEqual([404, 'backup_not_found'])
        expect(told(await client.post(`${path}/restore`, { as: 'no' }))).toEqual([404, 'backup_not_found'])
      }
      expect(told(await client.get(`${data}/nothing/backups`))).toEqual([404, 'volume_not_found'])
      expect(told(await client.post(`${data}/nothing/backups`))).toEqual([404, 'volume_not_found'])
    })

    test('are restored over an attached volume, whose earlier content is kept as a snapshot', async () => {
      const { body: before } = await client.get(`${data}/db`)
      const over = (id: string | undefined, query = '', options = {}) =>
        client.post(`${data}/db/backups/${id}/restore${query}`, {}, options)
      await shell('sleep 1000 >/dev/null 2>&1 & echo $! > /root/pid')
      const stale = await over(made[0], '', { headers: { 'if-match': '"0"' } })
      expect(told(stale)).toEqual([412, 'precondition_failed'])
      expect((await over(made[0])).body).toMatchObject({ id: before.id, name: 'db', size_gb: 0.25, tags: { a: 'b' } })
      expect(await shell(READ)).toBe(contents[0])
      expect(await shell('echo mine >> /db/file && cat /db/file && kill -0 $(cat /root/pid)')).toBe('one\nmine\n')

      await shell('cd /db; sleep 1000 >/dev/null 2>&1 & echo $! >> /root/pid')
      const busy = await over(made[1], '?wait_seconds=2')
      // On a busy machine the response comes before the restore has given up.
      const { code } = busy.status === 202 ? (await endOf(client, busy.body.id)).body.error : busy.body
      expect(code).toBe('volume_busy')
      expect(await shell('cat /db/file')).toBe('one\nmine\n')
      await shell('kill $(cat /root/pid)')
      expect((await client.put(`${data}/db`, { size_gb: 0.002 })).status).toBe(200)
      expect(told(await over(made[0]))).toEqual([409, 'volume_too_small'])
      expect((await client.put(`${data}/db`, { size_gb: 0.25 })).status).toBe(200)
      expect(await shell('cat /db/file')).toBe('one\nmine\n')

      const { snapshots } = (await client.get(`${data}/db/snapshots`)).body
      expect(snapshots).toHaveLength(1)
      expect(snapshots[0]).toMatchObject({ automatic: true, comment: `Before the restore of "backup:${made[0]}".` })
      expect((await client.post(`${data}/db/restore`, { snapshot: snapshots[0].name })).status).toBe(200)
      expect(await shell(READ)).toBe(contents[2])
    })

    test('can be deleted when others build on them, which stay restorable', async () => {
      expect((await client.delete(`${data}/db/backups/${made[0]}`)).status).toBe(204)
      expect(told(await client.get(`${data}/db/backups/${made[0]}`))).toEqual([404, 'backup_not_found'])
      expect(told(await client.post(data, { name: 'no', from_backup: made[0] }))).toEqual([404, 'backup_not_found'])
      expect(ids(await client.get(`${data}/db/backups`))).toEqual(made.slice(1))
      expect(ids(await client.get('/v1/projects/baks/backups'))).toEqual(made.slice(1))
      const restored = await client.post(`${data}/db/backups/${made[2]}/restore`, { as: 'after' })
      expect(restored.status).toBe(200)
      expect(await readBack('after')).toBe(contents[2])
    })

    test('wait no longer than requested, report progress, and are made once for an Idempotency-Key', async () => {
      const options = { headers: { 'idempotency-key': 'backup-once' } }
      const begun = await client.post(`${data}/db/backups?wait_seconds=0`, undefined, options)
      if (begun.status === 201) expect(begun.body.status).toBe('done')
      else {
        expect([begun.status, begun.body.kind]).toEqual([202, 'backup.create'])
        expect(begun.headers['operation-location']).toBe(`/v1/operations/${begun.body.id}`)
        const ended = await client.get(`/v1/operations/${begun.body.id}?wait_seconds=20`)
        expect(ended.body).toMatchObject({ status: 'done', error: null })
        expect((await client.get(ended.body.resource)).body.status).toBe('done')
      }
      const again = await client.post(`${data}/db/backups?wait_seconds=0`, undefined, options)
      expect(again.body).toEqual(begun.body)
      expect(ids(await client.get(`${data}/db/backups`))).toHaveLength(3)
    })

    test('are made by a schedule, which shows in the volume', async () => {
      const schedule = { interval_seconds: 3600, keep_count: 2, keep_seconds: null }
      const set = await client.put(`${data}/db/backup-schedule`, { interval_seconds: 3600, keep_count: 2 })
      expect([set.status, set.body.backup_schedule]).toEqual([200, schedule])
      const { body: volume } = await client.get(`${data}/db`)
      expect(volume.backup_schedule).toEqual(schedule)
      expect((await client.put(`${data}/db`, { ...volume, size_gb: 0.3 })).status).toBe(200)
      const isMade = (each: { automatic: boolean; status: string }) => each.automatic && each.status === 'done'
      await client.until(`${data}/db/backups`, ({ body }) => body.backups.filter(isMade).length === 1)
      const cleared = await client.put(`${data}/db/backup-schedule`, { interval_seconds: null })
      expect(cleared.body.backup_schedule).toBeNull()
      const refused = await client.put(`${data}/db/backup-schedule`, { interval_seconds: 1 })
      expect(told(refused)).toEqual([400, 'invalid_request'])
    })

    test('outlive their volume, and leave the store once no backup builds on them', async () => {
      await client.post(`${data}/db/detach`, { box: 'keeper' })
      expect((await client.delete(`${data}/db`)).status).toBe(204)
      const left = ids(await client.get('/v1/projects/baks/backups'))
      expect(left).toHaveLength(4)
      const path = `${data}/db/backups/${made[1]}`
      expect(told(await client.post(`${path}/restore`, {}))).toEqual([404, 'volume_not_found'])
      expect((await client.post(`${path}/restore`, { as: 'back-again' })).status).toBe(200)
      expect(await readBack('back-again')).toBe(contents[1])
      for (const id of left) expect((await client.delete(`${data}/db/backups/${id}`)).status).toBe(204)
      expect(ids(await client.get('/v1/projects/baks/backups'))).toEqual([])
      expect(told(await client.get(path))).toEqual([404, 'backup_not_found'])
    })

    test('are deleted once by many concurrent requests', async () => {
      await client.post(data, { name: 'twice', size_gb: 0.1 })
      for (let round = 0; round < 3; round++) {
        const made = await back('twice')
        expect(told(made)).toEqual([201, undefined])
        const { id } = made.body
        const answers = await Promise.all(Array.from({ length: 5 }, () => client.delete(`${data}/twice/backups/${id}`)))
        expect(answers.map(({ status }) => status).toSorted()).toEqual([204, 404, 404, 404, 404])
      }
      expect(ids(await client.get(`${data}/twice/backups`))).toEqual([])
    })

    test('have an entity tag, on which a read and a delete may depend', async () => {
      const { headers, body } = await back('twice')
      const path = `${data}/twice/backups/${body.id}`
      const etag = String(headers.etag)
      expect((await client.get(path, { headers: { 'if-none-match': etag } })).status).toBe(304)
      const stale = await client.delete(path, { headers: { 'if-match': '"1"' } })
      expect(told(stale)).toEqual([412, 'precondition_failed'])
      const { body: next } = await back('twice')
      expect((await client.get(path)).headers.etag).not.toBe(etag)
      expect(told(await client.delete(path, { headers: { 'if-match': etag } }))).toEqual([412, 'precondition_failed'])
      expect((await client.delete(path, { headers: { 'if-match': '*' } })).status).toBe(204)
      expect((await client.delete(`${data}/twice/backups/${next.id}`)).status).toBe(204)
    })
  })
}

const READ = 'cd /db && find . | sort && cat file && sha256sum random | cut -c1-64'
