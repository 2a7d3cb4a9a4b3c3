import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { extract } from 'tar-stream'
import type { Answer, Client } from '../../helpers/front/client.ts'

/** Defines the tests of files in snapshots, for running and stopped boxes. */
export function defineSnapshotFilesSuite(client: Client): void {
  const boxes = '/v1/projects/past/boxes'
  const data = '/v1/projects/past/data'
  const files = (box: string, what: string, query: Record<string, string>): string =>
    `${boxes}/${box}/files/${what}?${new URLSearchParams(query).toString()}`
  const read = (box: string, path: string, snapshot?: string, headers: Record<string, string> = {}): Promise<Answer> =>
    client.get(files(box, 'read', snapshot === undefined ? { path } : { path, snapshot }), { headers })
  const write = (box: string, path: string, content: string): Promise<Answer> =>
    client.put(`${boxes}/${box}/files/write`, { path, content, parents: true })
  const take = (box: string, body: Record<string, unknown>): Promise<Answer> =>
    client.post(`${boxes}/${box}/snapshots`, body)
  const told = ({ status, body }: Answer): [number, string] => [status, body.code]

  describe.each(['runs', 'stopped'])('files in a snapshot of a box that is %s', (box) => {
    beforeAll(async () => {
      await client.post(boxes, { name: box, config: { ram_mb: 64, storage_gb: 1 } })
      await client.post(data, { name: `${box}-disk`, size_gb: 1 })
      await client.post(`${data}/${box}-disk/attach`, { box, path: '/srv/disk' })
      await write(box, '/root/dir/file', 'before')
      await write(box, '/srv/disk/file', 'before on the volume')
      const made = 'head -c 7000000 /dev/zero | tr "\\0" x >/root/large; ln -s file /root/dir/link'
      expect((await client.shell('past', box, made)).body.exit_code).toBe(0)
      await take(box, { name: 'then' })
      await take(box, { name: 'both', include_data: true })
      for (const path of ['/root/dir/file', '/srv/disk/file', '/root/large']) await write(box, path, 'after')
      if (box === 'stopped') await client.post(`${boxes}/${box}/stop`)
    })

    afterAll(async () => {
      await client.delete(`${boxes}/${box}`)
      await client.delete(`${data}/${box}-disk`)
    })

    test('are read, listed and packed as they were', async () => {
      expect((await read(box, '/root/dir/file', 'then')).text).toBe('before')
      expect((await read(box, '/root/dir/file')).text).toBe('after')
      const stat = await client.get(files(box, 'stat', { path: '/root/dir/link', snapshot: 'then' }))
      expect(stat.body).toMatchObject({ path: '/root/dir/link', type: 'symlink', target: 'file', uid: 0 })
      const list = await client.get(files(box, 'list', { path: '/root/dir', snapshot: 'then' }))
      expect(list.body.files.map(({ path }: { path: string }) => path)).toEqual(['file', 'link'])
      const tar = await client.get(files(box, 'archive', { path: '/root/dir', snapshot: 'then' }))
      expect(await textsIn(tar.bytes)).toEqual({ file: 'before', link: '' })
    })

    test('answer ranges and conditions at any length', async () => {
      const { body, headers } = await read(box, '/root/dir/file', 'then', { accept: 'application/json' })
      expect(body).toMatchObject({ content: 'before', size_bytes: 6 })
      expect((await read(box, '/root/dir/file', 'then', { 'if-none-match': String(headers.etag) })).status).toBe(304)
      expect((await read(box, '/root/dir/file', undefined, { 'if-none-match': String(headers.etag) })).status).toBe(200)
      const part = await read(box, '/root/large', 'then', { range: 'bytes=6999998-' })
      expect([part.status, part.text, part.headers['content-range']]).toEqual([
        206,
        'xx',
        'bytes 6999998-6999999/7000000',
      ])
      const whole = await read(box, '/root/large', 'then')
      expect([whole.status, whole.bytes.length]).toEqual([200, 7_000_000])
      const query = { path: '/root/large', snapshot: 'then' }
      const ticket = await client.post(`${boxes}/${box}/tickets`, { operation: 'readFile', query })
      expect((await fetch(ticket.body.url)).headers.get('content-length')).toBe('7000000')
    })

    test('include those of volumes that the snapshot contains', async () => {
      expect((await read(box, '/srv/disk/file', 'both')).text).toBe('before on the volume')
      expect((await read(box, '/srv/disk/file')).text).toBe('after')
      expect(told(await read(box, '/srv/disk/file', 'then'))).toEqual([404, 'file_not_found'])
    })

    test('are restored one by one or as a directory, and nothing else is', async () => {
      const restore = (body: Record<string, unknown>): Promise<Answer> =>
        client.post(`${boxes}/${box}/files/restore`, { snapshot: 'then', ...body })
      await write(box, '/root/dir/new', 'new')
      const file = await restore({ path: '/root/dir/file' })
      expect([file.status, file.body.path, file.body.type, file.body.size_bytes]).toEqual([
        200,
        '/root/dir/file',
        'file',
        6,
      ])
      const back = await read(box, '/root/dir/file')
      expect([back.text, back.headers.etag]).toEqual(['before', file.body.etag])
      expect((await read(box, '/root/dir/new')).text).toBe('new')
      await client.delete(files(box, '', { path: '/root/dir/link' }).replace('/?', '?'))
      expect((await restore({ path: '/root/dir' })).body).toMatchObject({ type: 'directory' })
      const list = await client.get(files(box, 'list', { path: '/root/dir' }))
      expect(list.body.files.map(({ path }: { path: string }) => path)).toEqual(['file', 'link'])
      expect((await restore({ path_base64: Buffer.from('/root/large').toString('base64') })).body.size_bytes).toBe(
        7_000_000,
      )
      expect((await restore({ snapshot: 'both', path: '/srv/disk/file' })).status).toBe(200)
      expect((await read(box, '/srv/disk/file')).text).toBe('before on the volume')
      await write(box, '/srv/disk/file', 'after')
    })

    test('do not come back where they were not, or something is mounted', async () => {
      const restore = async (body: Record<string, unknown>): Promise<[number, string]> =>
        told(await client.post(`${boxes}/${box}/files/restore`, { snapshot: 'then', path: '/root', ...body }))
      expect(await restore({ path: '/root/never' })).toEqual([404, 'file_not_found'])
      expect(await restore({ snapshot: 'never' })).toEqual([404, 'snapshot_not_found'])
      for (const path of ['/', '/srv', '/srv/disk']) expect(await restore({ path })).toEqual([400, 'path_invalid'])
      expect(await restore({ path: 'root' })).toEqual([400, 'invalid_request'])
      expect(await restore({ other: true })).toEqual([400, 'invalid_request'])
      const { body } = await client.post('/v1/tokens', { name: 'past', projects: ['past'], permissions: ['read'] })
      const answer = await client.post(
        `${boxes}/${box}/files/restore`,
        { snapshot: 'then', path: '/root/dir/file' },
        { token: body.token },
      )
      expect(told(answer)).toEqual([403, 'permission_denied'])
    })

    test('are not found in a snapshot that is not there, and not written', async () => {
      for (const what of ['read', 'stat', 'list', 'archive']) {
        const answer = await client.get(files(box, what, { path: '/root', snapshot: 'never' }))
        expect(told(answer)).toEqual([404, 'snapshot_not_found'])
      }
      const written = await client.call('PUT', files(box, 'write', { path: '/root/x', snapshot: 'then' }), {
        body: { content: '' },
      })
      expect(told(written)).toEqual([400, 'invalid_request'])
    })
  })
}

async function textsIn(tar: Buffer): Promise<Record<string, string>> {
  const texts: Record<string, string> = {}
  const reader = extract()
  reader.end(tar)
  for await (const entry of reader) {
    const pieces: Buffer[] = []
    for await (const piece of entry) pieces.push(piece as Buffer)
    texts[entry.header.name] = Buffer.concat(pieces).toString()
  }
  return texts
}
