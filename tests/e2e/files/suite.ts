import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { extract } from 'tar-stream'
import type { Answer, Client } from '../../helpers/front/client.ts'

/** Defines the tests of files, for running and stopped boxes. */
export function defineFilesSuite(client: Client): void {
  const boxes = '/v1/projects/files/boxes'
  const files = (box: string, what: string, path?: string): string =>
    `${boxes}/${box}/files/${what}${path === undefined ? '' : `?path=${encodeURIComponent(path)}`}`
  const upload = (url: string, raw: Uint8Array, headers: Record<string, string> = {}): Promise<Answer> =>
    client.call('PUT', url, { raw, headers: { 'content-type': 'application/octet-stream', ...headers } })
  const write = (box: string, path: string, text: string, headers?: Record<string, string>): Promise<Answer> =>
    upload(files(box, 'write', path), Buffer.from(text), headers)
  const read = (box: string, path: string, headers: Record<string, string> = {}): Promise<Answer> =>
    client.get(files(box, 'read', path), { headers })

  describe('files', () => {
    beforeAll(async () => {
      for (const name of ['runs', 'stopped']) await client.post(boxes, { name })
      await client.post('/v1/projects/files/data', { name: 'disk', size_gb: 1 })
      await client.post('/v1/projects/files/data', { name: 'cold', size_gb: 1 })
      await client.post('/v1/projects/files/data/disk/attach', { box: 'runs', path: '/mnt/disk' })
      await client.post('/v1/projects/files/data/cold/attach', { box: 'stopped', path: '/mnt/disk' })
      await client.post(`${boxes}/stopped/stop`)
    })
    afterAll(async () => {
      for (const name of ['runs', 'stopped']) await client.delete(`${boxes}/${name}`)
      for (const name of ['disk', 'cold']) await client.delete(`/v1/projects/files/data/${name}`)
    })

    test('a list longer than a function can carry arrives whole', async () => {
      // JSON needs six characters for each of these bytes.
      const name = `'${'\x01'.repeat(45)}'`
      const line = `mkdir /root/long && cd /root/long && i=10000; while [ $i -lt 19999 ]; do : > ${name}$i; i=$((i+1)); done`
      expect((await client.shell('files', 'runs', line)).body.exit_code).toBe(0)
      const answer = await client.get(`${files('runs', 'list', '/root/long')}&max_results=10000`)
      expect([answer.status, answer.body.files?.length, answer.body.has_more]).toEqual([200, 9999, false])
      expect(answer.bytes.length).toBeGreaterThan(4 * 1024 ** 2)
      expect((await client.shell('files', 'runs', 'rm -r /root/long')).body.exit_code).toBe(0)
    })

    describe.each(['runs', 'stopped'])('of a box that is %s', (box) => {
      test('any bytes are read as they were written', async () => {
        const bytes = randomBytes(300_000)
        const written = await upload(files(box, 'write', '/root/bytes'), bytes)
        expect(written.status).toBe(200)
        expect(written.body).toMatchObject({ path: '/root/bytes', type: 'file', size_bytes: 300_000, mode: '0644' })
        expect(written.body).toMatchObject({ uid: 0, gid: 0, target: null, path_base64: null })
        const found = await read(box, '/root/bytes')
        expect(found.bytes.equals(bytes)).toBe(true)
        expect(found.headers).toMatchObject({ 'content-length': '300000', 'accept-ranges': 'bytes' })
        expect(found.headers.etag).toBe(written.body.etag)
      })

      test('JSON writes and reads text, base64, modes and missing directories', async () => {
        const target = `${boxes}/${box}/files/write`
        const made = await client.put(target, { path: '/srv/a/b/c.txt', content: 'ä\n', mode: '0600', parents: true })
        expect([made.status, made.body.mode]).toEqual([200, '0600'])
        const json = { accept: 'application/json' }
        expect((await read(box, '/srv/a/b/c.txt', json)).body).toMatchObject({ content: 'ä\n', encoding: 'utf-8' })
        const content = Buffer.from([0xff, 0, 1]).toString('base64')
        await client.put(target, { path: '/srv/a/b/raw', content, encoding: 'base64' })
        expect((await read(box, '/srv/a/b/raw', json)).body).toMatchObject({ content, encoding: 'base64' })
        const lost = await client.put(target, { path: '/no/where/x', content: '' })
        expect([lost.status, lost.body.code]).toEqual([404, 'file_not_found'])
        const wrong = await client.put(target, { path: '/srv/x', content: '!', encoding: 'base64' })
        expect(wrong.body.errors[0].pointer).toBe('/content')
      })

      test('ranges and conditions follow HTTP', async () => {
        const { body } = await write(box, '/root/range', '0123456789')
        const part = await read(box, '/root/range', { range: 'bytes=2-4' })
        expect([part.status, part.text, part.headers['content-range']]).toEqual([206, '234', 'bytes 2-4/10'])
        expect((await read(box, '/root/range', { range: 'bytes=-3' })).text).toBe('789')
        const after = await read(box, '/root/range', { range: 'bytes=10-' })
        expect([after.status, after.headers['content-range']]).toEqual([416, 'bytes */10'])
        const known = await read(box, '/root/range', { 'if-none-match': body.etag })
        expect([known.status, known.text]).toEqual([304, ''])
        expect((await write(box, '/root/range', 'x', { 'if-none-match': '*' })).body.code).toBe('precondition_failed')
        expect((await write(box, '/root/range', 'new', { 'if-match': body.etag })).status).toBe(200)
        expect((await write(box, '/root/range', 'old', { 'if-match': body.etag })).status).toBe(412)
        expect((await read(box, '/root/range')).text).toBe('new')
        expect((await client.call('HEAD', files(box, 'read', '/root/range'))).headers['content-length']).toBe('3')
      })

      test('a volume appears at its mount path', async () => {
        await write(box, '/mnt/disk/on-volume', box)
        expect((await read(box, '/mnt/disk/on-volume')).text).toBe(box)
        const gone = await client.delete(files(box, 'list', '/mnt/disk').replace('/list', ''))
        expect([gone.status, gone.body.code]).toEqual([400, 'path_invalid'])
      })

      test('a directory is listed by name, by page and recursively', async () => {
        await client.post(`${boxes}/${box}/files/mkdir`, { path: '/root/tree/in/deep', parents: true })
        for (const name of ['b', 'a', 'in/c', 'in/deep/d']) await write(box, `/root/tree/${name}`, name)
        const list = async (more: string): Promise<Answer> => client.get(`${files(box, 'list', '/root/tree')}${more}`)
        const paths = (answer: Answer): string[] => answer.body.files.map(({ path }: { path: string }) => path)
        expect(paths(await list(''))).toEqual(['a', 'b', 'in'])
        expect(paths(await list('&recursive=true'))).toEqual(['a', 'b', 'in', 'in/c', 'in/deep', 'in/deep/d'])
        expect(paths(await list('&depth=2'))).toEqual(['a', 'b', 'in', 'in/c', 'in/deep'])
        const seen: string[] = []
        let token = ''
        do {
          const page = await list(`&recursive=true&max_results=2${token}`)
          seen.push(...paths(page))
          token = page.body.has_more ? `&continuation_token=${page.body.next_continuation_token}` : ''
        } while (token !== '')
        expect(seen).toEqual(['a', 'b', 'in', 'in/c', 'in/deep', 'in/deep/d'])
      })

      test('files are moved and deleted', async () => {
        await write(box, '/root/one', '1')
        await write(box, '/root/two', '2')
        const move = (body: object): Promise<Answer> => client.post(`${boxes}/${box}/files/move`, body)
        expect((await move({ from: '/root/one', to: '/root/two' })).body.code).toBe('name_taken')
        expect((await move({ from: '/root/one', to: '/root/two', overwrite: true })).body.path).toBe('/root/two')
        expect((await read(box, '/root/two')).text).toBe('1')
        expect((await read(box, '/root/one')).body.code).toBe('file_not_found')
        await client.post(`${boxes}/${box}/files/mkdir`, { path: '/root/full/of', parents: true })
        const remove = (path: string, more = ''): Promise<Answer> =>
          client.delete(`${files(box, 'list', path).replace('/list', '')}${more}`)
        expect((await remove('/root/full')).body.code).toBe('directory_not_empty')
        expect((await remove('/root/full', '&recursive=true')).status).toBe(204)
        expect((await remove('/root/full')).status).toBe(404)
        expect((await remove('/', '&recursive=true')).body.code).toBe('path_invalid')
      })

      test('a tar is unpacked and packed, and refused entries are listed', async () => {
        await client.post(`${boxes}/${box}/files/mkdir`, { path: '/root/tar' })
        const tar = tarOf([
          { name: 'a.txt', body: 'alpha' },
          { name: '../out', body: 'no' },
          { name: '/abs', body: 'no' },
          { name: 'dir/b.txt', body: 'beta' },
        ])
        const put = await client.call('PUT', files(box, 'archive', '/root/tar'), {
          raw: tar,
          headers: { 'content-type': 'application/x-tar' },
        })
        expect(put.status).toBe(200)
        expect(put.body.refused.map(({ path }: { path: string }) => path)).toEqual(['../out', '/abs'])
        expect((await read(box, '/root/tar/dir/b.txt')).text).toBe('beta')
        expect((await read(box, '/root/out')).status).toBe(404)
      })

      test('a path that is no file is refused, and no path leads out', async () => {
        expect((await read(box, '/root')).body.code).toBe('is_a_directory')
        expect((await read(box, '/etc/passwd/x')).body.code).toBe('not_a_directory')
        expect((await read(box, 'root')).body.errors[0].pointer).toBe('/query/path')
        const both = await client.get(`${files(box, 'read', '/etc/passwd')}&path_base64=Lw==`)
        expect(both.body.code).toBe('invalid_request')
        expect((await read(box, '/../../../../etc/hostname')).text).not.toContain('Debian')
        expect((await client.get(files(box, 'stat', '/proc'))).status).toBe(box === 'runs' ? 400 : 200)
      })

      test('names that are not UTF-8 are returned as base64', async () => {
        const path = Buffer.from([0x2f, 0x72, 0x6f, 0x6f, 0x74, 0x2f, 0xff, 0x0a]).toString('base64url')
        const written = await upload(`${boxes}/${box}/files/write?path_base64=${path}`, Buffer.from('odd'))
        expect(written.status).toBe(200)
        expect(Buffer.from(written.body.path_base64, 'base64url').toString('base64url')).toBe(path)
        expect((await client.get(`${boxes}/${box}/files/read?path_base64=${path}`)).text).toBe('odd')
        expect((await client.delete(`${boxes}/${box}/files?path_base64=${path}`)).status).toBe(204)
      })
    })

    test('commands and the API see the same files', async () => {
      await client.shell(
        'files',
        'runs',
        'echo by-command >/root/c; chown 7:8 /root/c; chmod 4750 /root/c; ln -s c /root/l',
      )
      expect((await client.get(files('runs', 'stat', '/root/c'))).body).toMatchObject({ uid: 7, gid: 8, mode: '4750' })
      expect((await client.get(files('runs', 'stat', '/root/l'))).body).toMatchObject({ type: 'symlink', target: 'c' })
      expect((await read('runs', '/root/l')).text).toBe('by-command\n')
      await write('runs', '/root/l', 'by-api')
      const { body } = await client.shell('files', 'runs', 'cat /root/c; stat -c " %u:%g %a" /root/c; readlink /root/l')
      expect(body.stdout).toBe('by-api 7:8 4750\nc\n')
    })

    test('a tar of a directory has its content', async () => {
      await client.shell(
        'files',
        'runs',
        'mkdir -p /root/t/d; echo x >/root/t/d/f; ln -s d/f /root/t/l; ln /root/t/d/f /root/t/h',
      )
      const answer = await client.get(files('runs', 'archive', '/root/t'))
      expect(answer.headers['content-type']).toBe('application/x-tar')
      expect(await namesIn(answer.bytes)).toEqual(['d/', 'd/f', 'h', 'l'])
    })

    test('files need their own permissions', async () => {
      const mint = async (permissions: string[]): Promise<string> =>
        (await client.post('/v1/tokens', { name: 'files', projects: ['files'], permissions })).body.token
      const [reader, writer] = [await mint(['read']), await mint(['write'])]
      expect((await client.get(files('runs', 'read', '/etc/passwd'), { token: writer })).status).toBe(403)
      expect((await client.get(files('runs', 'read', '/etc/passwd'), { token: reader })).status).toBe(200)
      const body = { path: '/root/x', content: '' }
      expect((await client.put(`${boxes}/runs/files/write`, body, { token: reader })).status).toBe(403)
      expect((await client.put(`${boxes}/runs/files/write`, body, { token: writer })).status).toBe(200)
    })
  })
}

function tarOf(entries: { name: string; body: string }[]): Buffer {
  const blocks = entries.flatMap(({ name, body }) => {
    const header = Buffer.alloc(512)
    header.write(name, 0)
    header.write('0000644\0', 100)
    header.write('0000000\0', 108)
    header.write('0000000\0', 116)
    header.write(`${body.length.toString(8).padStart(11, '0')}\0`, 124)
    header.write('00000000000\0', 136)
    header.write('        ', 148)
    header.write('0', 156)
    header.write('ustar\0', 257)
    header.write('00', 263)
    const sum = header.reduce((total, byte) => total + byte, 0)
    header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
    return [header, Buffer.concat([Buffer.from(body), Buffer.alloc((512 - (body.length % 512)) % 512)])]
  })
  return Buffer.concat([...blocks, Buffer.alloc(1024)])
}

async function namesIn(tar: Buffer): Promise<string[]> {
  const names: string[] = []
  const reader = extract()
  reader.end(tar)
  for await (const entry of reader) {
    names.push(entry.header.name)
    entry.resume()
  }
  return names.sort()
}
