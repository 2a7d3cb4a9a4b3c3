import { gzipSync, zstdCompressSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { entryOf, tarOf } from '../../helpers/bases/hostile-tar.ts'
import { newImage } from '../../helpers/bases/image-archive.ts'
import type { Answer, CallOptions, Client } from '../../helpers/front/client.ts'
import { ownName } from '../../helpers/front/own-name.ts'

/** Defines the tests of bases for any front. `client` holds the admin token of a service whose base is busybox. */
export function defineBasesSuite(client: Client): void {
  const owner = ownName('bases')
  const project = `/v1/projects/${owner}`
  const bases = `${project}/bases`
  const create = (body: Record<string, unknown>, options?: CallOptions) => client.post(bases, body, options)
  const box = (name: string, base: string, within = project) => client.post(`${within}/boxes`, { name, base })
  const output = async (name: string, line: string): Promise<string> =>
    (await client.shell(owner, name, line)).body.stdout
  const names = async (path: string): Promise<string[]> =>
    (await client.get(path)).body.bases.map(({ name }: { name: string }) => name)
  const tokenOf = async (permissions: string[], projects: string[] | '*' = [owner]): Promise<string> =>
    (await client.post('/v1/tokens', { name: 'some', projects, permissions, expires_in_seconds: 600 })).body.token
  const codeOf = ({ status, body }: Answer): [number, string] => [status, body.code]

  describe('a base of a box', () => {
    beforeAll(async () => {
      await box('source', 'busybox')
      await client.shell(owner, 'source', 'echo first > /root/file; mkdir /opt/tool')
    })
    afterAll(async () => {
      for (const name of ['ready', 'rest']) await client.delete(`${bases}/${name}`)
      for (const name of ['source', 'copy', 'fork', 'second']) await client.delete(`${project}/boxes/${name}`)
    })

    test('is made of the current root of a running box, and boxes are made from it', async () => {
      const made = await create({ name: 'ready', box: 'source' })
      expect([made.status, made.headers['location']]).toEqual([201, `${bases}/ready`])
      expect(made.body).toMatchObject({
        name: 'ready',
        project: owner,
        version: 1,
        source: 'box:source',
        used_by: { boxes: [], count: 0 },
      })
      expect(made.body.id).toMatch(/^bas_/)
      await client.shell(owner, 'source', 'echo later > /root/file')
      const copy = await box('copy', 'ready')
      expect(copy.body).toMatchObject({ status: 'running', base: 'ready', fork_of: null })
      expect(await output('copy', 'cat /root/file; ls -d /opt/tool; echo w > /opt/tool/new && hostname')).toBe(
        'first\n/opt/tool\ncopy\n',
      )
      expect((await client.get(`${bases}/ready`)).body).toMatchObject({ id: made.body.id, name: 'ready', version: 1 })
    })

    test('shows its size once that was measured', async () => {
      const size = async (path: string): Promise<number> => {
        for (;;) {
          const { size_bytes: bytes } = (await client.get(path)).body
          if (bytes !== null) return bytes
        }
      }
      expect(await size(`${bases}/ready`)).toBeGreaterThan(100_000)
      expect(await size(`${bases}/busybox?shared=true`)).toBeGreaterThan(100_000)
    })

    test('lists the boxes made from it, forks of them included', async () => {
      await client.post(`${project}/boxes`, { name: 'fork', fork: 'copy' })
      const { body } = await client.get(`${bases}/ready`)
      const users = ['copy', 'fork'].map((name) => ({ project: owner, name }))
      expect(body.used_by).toEqual({ boxes: users, count: 2 })
      expect((await client.get(bases)).body.bases[0]).toMatchObject({ name: 'ready', used_by: null })
    })

    test('can be deleted while boxes made from it stay, and its version is never reused', async () => {
      const etag = String((await client.get(`${bases}/ready`)).headers.etag)
      const unchanged = await client.get(`${bases}/ready`, { headers: { 'if-none-match': etag } })
      expect([unchanged.status, unchanged.headers.etag]).toEqual([304, etag])
      const stale = await client.delete(`${bases}/ready`, { headers: { 'if-match': '"bas_other"' } })
      expect(codeOf(stale)).toEqual([412, 'precondition_failed'])
      const gone = await client.delete(`${bases}/ready`, { headers: { 'if-match': etag } })
      expect([gone.status, gone.headers['x-used-by-count']]).toEqual([204, '2'])
      expect(codeOf(await client.get(`${bases}/ready`))).toEqual([404, 'base_not_found'])
      expect(codeOf(await client.delete(`${bases}/ready`))).toEqual([404, 'base_not_found'])
      expect(codeOf(await box('none', 'ready'))).toEqual([404, 'base_not_found'])
      await client.post(`${project}/boxes/copy/stop`)
      expect((await client.post(`${project}/boxes/copy/resume`)).body.status).toBe('running')
      expect(await output('copy', 'cat /root/file')).toBe('first\n')
      expect((await create({ name: 'ready', box: 'source' })).body.version).toBe(2)
    })

    test('can be of a stopped box, and outlives it', async () => {
      await client.post(`${project}/boxes/source/stop`)
      expect((await create({ name: 'rest', box: 'source' })).status).toBe(201)
      await client.delete(`${project}/boxes/source`)
      await box('second', 'rest')
      expect(await output('second', 'cat /root/file')).toBe('later\n')
    })

    test('hides a shared base of the same name in its project only', async () => {
      expect((await create({ name: 'busybox', box: 'second' })).status).toBe(201)
      expect((await client.get(`${bases}/busybox`)).body.project).toBe(owner)
      expect((await client.get(`${bases}/busybox?shared=true`)).body).toMatchObject({ project: null, source: 'host' })
      expect((await client.get('/v1/projects/foreign/bases/busybox')).body.project).toBeNull()
      await client.post(`${project}/boxes`, { name: 'hidden', base: 'busybox' })
      expect(await output('hidden', 'cat /root/file')).toBe('later\n')
      await client.delete(`${project}/boxes/hidden`)
      await client.delete(`${bases}/busybox`)
      expect((await client.get(`${bases}/busybox`)).body.project).toBeNull()
    })

    test('is listed by name, a page at a time', async () => {
      expect(await names(bases)).toEqual(['ready', 'rest'])
      expect(await names(`${bases}?prefix=res`)).toEqual(['rest'])
      const first = (await client.get(`${bases}?max_results=1`)).body
      expect([first.bases[0].name, first.has_more]).toEqual(['ready', true])
      expect(await names(`${bases}?continuation_token=${first.next_continuation_token}`)).toEqual(['rest'])
      expect(await names('/v1/projects/-/bases')).toEqual(expect.arrayContaining(['ready', 'rest']))
      expect(await names('/v1/projects/foreign/bases')).toEqual([])
      expect(await names('/v1/bases')).toContain('busybox')
      expect(await names('/v1/bases')).not.toContain('ready')
      expect((await client.get('/v1/config')).body.bases).not.toContain('ready')
    })

    test('is made once for an Idempotency-Key', async () => {
      const options = { headers: { 'idempotency-key': 'base-1' } }
      const first = await create({ name: 'once', box: 'second' }, options)
      const again = await create({ name: 'once', box: 'second' }, options)
      expect([again.status, again.headers['idempotent-replayed']]).toEqual([201, 'true'])
      expect(again.body.id).toBe(first.body.id)
      await client.delete(`${bases}/once`)
    })
  })

  describe('a base that all projects share', () => {
    test('is made and deleted with admin on all projects only, and used by all projects', async () => {
      await box('origin', 'busybox')
      const common = ownName('common')
      const body = { name: common, box: 'origin', shared: true }
      for (const token of [await tokenOf(['read', 'write'], '*'), await tokenOf(['read', 'write', 'admin'])]) {
        expect(codeOf(await create(body, { token }))).toEqual([403, 'permission_denied'])
      }
      const made = await create(body)
      expect([made.status, made.headers['location']]).toEqual([201, `${bases}/${common}?shared=true`])
      expect(made.body).toMatchObject({ project: null, name: common, version: 1, source: 'box:origin' })
      await client.post('/v1/projects/foreign/boxes', { name: 'user', base: common })
      await box('user', common)
      const used = { boxes: [owner, 'foreign'].map((where) => ({ project: where, name: 'user' })), count: 2 }
      expect((await client.get(`${bases}/${common}`)).body.used_by).toEqual(used)
      const reader = await tokenOf(['read', 'write'])
      expect((await client.get(`${bases}/${common}`, { token: reader })).body.used_by.count).toBe(1)
      expect(await names('/v1/bases')).toEqual(expect.arrayContaining(['busybox', common]))
      expect(codeOf(await client.delete(`${bases}/${common}`))).toEqual([404, 'base_not_found'])
      expect(codeOf(await client.delete(`${bases}/${common}?shared=true`, { token: reader }))).toEqual([
        403,
        'permission_denied',
      ])
      const gone = await client.delete(`${bases}/${common}?shared=true`)
      expect([gone.status, gone.headers['x-used-by-count']]).toEqual([204, '2'])
      for (const where of [project, '/v1/projects/foreign']) await client.delete(`${where}/boxes/user`)
      await client.delete(`${project}/boxes/origin`)
    })
  })

  describe('a base of the tar of a root filesystem', () => {
    let root: Buffer = Buffer.alloc(0)
    const TAR = { 'content-type': 'application/x-tar' }
    // serverless-offline treats a body of any other type as text.
    const BYTES = { 'content-type': 'application/octet-stream' }
    const upload = (query: string, raw: Uint8Array, options: CallOptions = {}) =>
      client.call('POST', `${bases}?${query}`, { raw, headers: BYTES, ...options })

    beforeAll(async () => {
      await box('packed', 'busybox')
      await client.shell(owner, 'packed', 'echo packed > /root/file; chmod 700 /root/file; ln -s /root/file /srv/link')
      root = (await client.get(`${project}/boxes/packed/files/archive?path=/`)).bytes
      await client.delete(`${project}/boxes/packed`)
    })

    test('is unpacked, lists the refused entries, and boxes are made from it', async () => {
      const evil = [
        { name: '../../escaped', body: 'evil' },
        { name: 'dev/mem', flag: '3' },
      ]
      const made = await upload('name=unpacked', Buffer.concat([...evil.map(entryOf), root]))
      expect([made.status, made.headers['location']]).toEqual([201, `${bases}/unpacked`])
      expect(made.body).toMatchObject({ name: 'unpacked', source: 'tar', version: 1, project: owner })
      const { entries, refused, refused_count: count } = made.body.unpacked
      expect(entries).toBeGreaterThan(100)
      expect(refused.map(({ path }: { path: string }) => path)).toEqual(['../../escaped', 'dev/mem'])
      expect(count).toBe(2)
      expect((await client.get(`${bases}/unpacked`)).body.unpacked).toBeUndefined()
      expect((await box('user', 'unpacked')).body.status).toBe('running')
      expect(await output('user', 'cat /srv/link; stat -c %a%u /root/file; ls /dev/mem /escaped 2>/dev/null')).toBe(
        'packed\n7000\n',
      )
      await client.delete(`${project}/boxes/user`)
    })

    test.each([
      ['gzip', gzipSync],
      ['zstd', zstdCompressSync],
    ])('may be compressed with %s, and come by ticket', async (kind, compress) => {
      const ticket = await client.post(`${project}/tickets`, { operation: 'createBase', query: { name: kind } })
      expect([ticket.status, ticket.body.method]).toEqual([201, 'POST'])
      const body = new Uint8Array(compress(root))
      const answer = await fetch(ticket.body.url, { method: 'POST', headers: TAR, body })
      expect([answer.status, await answer.json()]).toMatchObject([201, { name: kind, unpacked: { refused: [] } }])
      expect((await fetch(ticket.body.url, { method: 'POST', headers: TAR, body })).status).toBe(401)
      await box('user', kind)
      expect(await output('user', 'cat /root/file')).toBe('packed\n')
      await client.delete(`${project}/boxes/user`)
      await client.delete(`${bases}/${kind}`)
    })

    test('is refused and leaves nothing if it is no tar or no root filesystem, or its name is taken or missing', async () => {
      const small = tarOf([{ name: 'bin/sh' }])
      expect(codeOf(await upload('name=bad', Buffer.from('nothing of the kind')))).toEqual([400, 'invalid_request'])
      expect(codeOf(await upload('name=bad', tarOf([{ name: 'etc/passwd' }])))).toEqual([400, 'invalid_request'])
      expect(codeOf(await upload('name=bad', root.subarray(0, 100_000)))).toEqual([400, 'invalid_request'])
      expect((await upload('', small)).body.errors).toMatchObject([{ pointer: '/query/name' }])
      expect((await client.post(`${bases}?name=x`, { name: 'x', box: 'none' })).body.code).toBe('invalid_request')
      expect(codeOf(await upload('name=unpacked', small))).toEqual([409, 'name_taken'])
      const token = await tokenOf(['read', 'write', 'admin'])
      expect(codeOf(await upload('name=bad&shared=true', small, { token }))).toEqual([403, 'permission_denied'])
      expect(await names(bases)).toEqual(['unpacked'])
    })

    test('may be an image of layers; a client waits for it or follows its operation', async () => {
      const image = newImage()
      const layers = [root, tarOf([{ name: 'root/.wh.file' }, { name: 'root/upper', body: 'upper\n' }])]
      const archive = image.archive([image.addManifest(layers.map((layer) => image.addLayer(layer, 'zstd')))])
      const made = await upload('name=layers&image=true', archive)
      expect([made.status, made.body]).toMatchObject([
        201,
        { name: 'layers', source: 'oci', unpacked: { refused: [] } },
      ])
      await box('user', 'layers')
      expect(await output('user', 'cd /root; ls; cat upper; echo $SECRET')).toBe('upper\nupper\n\n')
      await client.delete(`${project}/boxes/user`)

      const later = await upload('name=later&image=true&wait_seconds=0', archive)
      const followed = `${String(later.headers['operation-location'])}?wait_seconds=25`
      expect(later.body).toMatchObject(later.status === 201 ? { name: 'later' } : { kind: 'base.import' })
      if (later.status === 202) expect((await client.get(followed)).body).toMatchObject({ status: 'done' })
      expect((await client.get(`${bases}/later`)).body.source).toBe('oci')

      const taken = await upload('name=later&image=true', archive)
      expect(codeOf(taken)).toEqual([409, 'name_taken'])
      expect(codeOf(await upload('name=bad&image=true', tarOf([{ name: 'bin/sh' }])))).toEqual([400, 'invalid_request'])
      for (const name of ['layers', 'later']) await client.delete(`${bases}/${name}`)
    })

    test('gets tickets only for callers that may make it', async () => {
      const wish = { operation: 'createBase', query: { name: 'x' } }
      const ask = async (permissions: string[], where = project) =>
        codeOf(await client.post(`${where}/tickets`, wish, { token: await tokenOf(permissions) }))
      expect(await ask(['read', 'exec', 'admin'])).toEqual([403, 'permission_denied'])
      expect(await ask(['write'], '/v1/projects/foreign')).toEqual([403, 'permission_denied'])
      expect((await client.post(`${project}/tickets`, { operation: 'writeFile' })).body.code).toBe('invalid_request')
      await client.delete(`${bases}/unpacked`)
    })
  })

  describe('an invalid base', () => {
    test('is refused: without a source, with a name that is taken, with unknown fields', async () => {
      await box('it', 'busybox')
      expect(codeOf(await create({ name: 'x', box: 'missing' }))).toEqual([404, 'box_not_found'])
      expect(codeOf(await create({ name: 'x', box: 'it', snapshot: 'v0' }))).toEqual([404, 'snapshot_not_found'])
      expect((await create({ name: 'x', box: 'it' })).status).toBe(201)
      expect(codeOf(await create({ name: 'x', box: 'it' }))).toEqual([409, 'name_taken'])
      for (const body of [{ name: 'y' }, { box: 'it' }, { name: '-', box: 'it' }, { name: 'y', box: 'it', tag: 1 }])
        expect(codeOf(await create(body))).toEqual([400, 'invalid_request'])
      expect(codeOf(await create({ name: 'y', box: 'it' }, { token: await tokenOf(['read']) }))).toEqual([
        403,
        'permission_denied',
      ])
      await client.delete(`${bases}/x`)
      await client.delete(`${project}/boxes/it`)
    })

    test('leaves nothing', async () => {
      expect(await names(bases)).toEqual([])
    })
  })
}
