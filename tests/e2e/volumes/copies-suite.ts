import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { Answer, Client } from '../../helpers/front/client.ts'

/** Defines the tests of volumes copied from others for any front, with `client` as for the other suites. */
export function defineVolumeCopiesSuite(client: Client): void {
  const boxes = '/v1/projects/copies/boxes'
  const data = '/v1/projects/copies/data'
  const attach = (volume: string, box: string, path: string) => client.post(`${data}/${volume}/attach`, { box, path })
  const detach = (volume: string, box: string) => client.post(`${data}/${volume}/detach`, { box })
  const shell = async (box: string, line: string): Promise<string> => {
    const { stdout, stderr } = (await client.shell('copies', box, line)).body
    return stdout + stderr
  }
  const told = ({ status, body }: Answer): [number, string] => [status, body.code]

  describe('a volume made from another', () => {
    beforeAll(async () => {
      await client.post(boxes, { name: 'box', config: { ram_mb: 64 } })
      await client.post(data, { name: 'source', size_gb: 0.25, tags: { a: '1' } })
      await attach('source', 'box', '/source')
      await shell('box', 'echo one > /source/file; head -c 30000000 /dev/urandom > /source/large; sync')
      await client.post(`${data}/source/snapshots`, { name: 'then' })
      await shell('box', 'echo two > /source/file')
    })

    afterAll(async () => {
      await client.delete(`${boxes}/box`)
      for (const name of ['live', 'past']) await client.delete(`${data}/${name}`)
    })

    test("has the current or a snapshot's content of its source, and changes apart from it", async () => {
      const live = await client.post(data, { name: 'live', from: 'source' })
      expect(live.status).toBe(201)
      expect(live.body).toMatchObject({ from: 'source', size_gb: 0.25, tags: {}, attachments: [] })
      expect(live.body.used_bytes).toBeLessThan(1024 ** 2)
      const past = await client.post(data, { name: 'past', from: 'source', from_snapshot: 'then', size_gb: 0.5 })
      expect(past.body).toMatchObject({ from: 'source@then', size_gb: 0.5 })
      await attach('live', 'box', '/live')
      await attach('past', 'box', '/past')
      expect(await shell('box', 'cat /live/file /past/file; cmp /live/large /past/large')).toBe('two\none\n')
      await shell('box', 'echo mine > /live/file; echo own > /past/file')
      expect(await shell('box', 'cat /source/file')).toBe('two\n')
      expect((await client.get(`${data}/live/snapshots`)).body.snapshots).toEqual([])
    })

    test('must be at least as large as its content', async () => {
      const small = await client.post(data, { name: 'none', from: 'source', size_gb: 0.02 })
      expect(told(small)).toEqual([409, 'volume_too_small'])
      expect(small.body.detail).toMatch(/^`size_gb`: "source" holds 2\d MiB, 21 MiB were asked for/)
      const past = { name: 'none', from: 'source', from_snapshot: 'then', size_gb: 0.02 }
      expect(told(await client.post(data, past))).toEqual([409, 'volume_too_small'])
      expect((await client.post(data, { ...past, size_gb: 0.03 })).status).toBe(201)
      expect((await client.delete(`${data}/none`)).status).toBe(204)
    })

    test('is shown with its unshared size, as a snapshot is', async () => {
      const sizes = async (): Promise<[size: number, unique: number]> => {
        const { size_bytes: size, unique_bytes: unique } = (await client.get(`${data}/live/snapshots/own`)).body
        return [size, unique]
      }
      await client.post(`${data}/live/snapshots`, { name: 'own' })
      const [size, unique] = await sizes()
      expect(size).toBeGreaterThan(28 * 1024 ** 2)
      expect(unique).toBeLessThan(1024 ** 2)
      await shell('box', 'head -c 5000000 /dev/urandom > /live/more; sync')
      expect((await client.get(`${data}/live`)).body.used_bytes).toBeGreaterThan(4 * 1024 ** 2)
      await client.post(`${data}/live/snapshots`, { name: 'next' })
      await shell('box', 'rm /live/more; sync')
      expect((await client.get(`${data}/live`)).body.used_bytes).toBeGreaterThan(4 * 1024 ** 2)
      const next = (await client.get(`${data}/live/snapshots/next`)).body
      expect(next.size_bytes).toBeGreaterThan(size + 4 * 1024 ** 2)
      expect(next.unique_bytes).toBeGreaterThan(4 * 1024 ** 2)
      expect(await sizes()).toEqual([size, unique])
      const listed: { size_bytes: number; unique_bytes: unknown }[] = (await client.get(`${data}/live/snapshots`)).body
        .snapshots
      expect(listed.map((each) => [each.size_bytes, each.unique_bytes])).toEqual([
        [size, null],
        [next.size_bytes, null],
      ])
      for (const name of ['own', 'next']) await client.delete(`${data}/live/snapshots/${name}`)
    })

    test('stays when its source is deleted, with its snapshots', async () => {
      await detach('source', 'box')
      expect((await client.delete(`${data}/source`)).status).toBe(204)
      expect(await shell('box', 'cat /live/file /past/file; cmp /live/large /past/large')).toBe('mine\nown\n')
      expect((await client.get(`${data}/past`)).body.from).toBe('source@then')
    })

    test('counts data as the pool stores it, compressed, against its size', async () => {
      const before = (await client.get(`${data}/live`)).body
      const written = await shell(
        'box',
        'dd if=/dev/zero of=/live/zeros bs=1M count=400 2>&1; sync; wc -c < /live/zeros',
      )
      expect(written).toMatch(new RegExp(`\\b${400 * 1024 ** 2}\\n$`))
      const after = (await client.get(`${data}/live`)).body
      expect([after.size_gb, after.used_bytes - before.used_bytes < 50 * 1024 ** 2]).toEqual([0.25, true])
      const full = await shell('box', 'rm /live/zeros; dd if=/dev/urandom of=/live/random bs=1M count=400 2>&1; sync')
      expect(full).toMatch(/quota|space/i)
      await shell('box', 'rm /live/random; sync')
    })

    test('of a missing source is refused and leaves nothing', async () => {
      const make = async (body: Record<string, unknown>): Promise<[number, string]> =>
        told(await client.post(data, { name: 'none', ...body }))
      expect(await make({ from: 'source' })).toEqual([404, 'volume_not_found'])
      expect(await make({ from: 'live', from_snapshot: 'missing' })).toEqual([404, 'snapshot_not_found'])
      expect(await make({ from_snapshot: 'then' })).toEqual([400, 'invalid_request'])
      expect(await make({ from: 'LIVE' })).toEqual([400, 'invalid_request'])
      expect(told(await client.post(data, { name: 'past', from: 'live' }))).toEqual([409, 'name_taken'])
      expect(told(await client.get(`${data}/none`))).toEqual([404, 'volume_not_found'])
      expect(told(await client.post('/v1/projects/elsewhere/data', { name: 'none', from: 'live' }))).toEqual([
        404,
        'volume_not_found',
      ])
    })
  })
}
