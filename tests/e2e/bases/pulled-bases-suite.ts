import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { tarOf } from '../../helpers/bases/hostile-tar.ts'
import { type LayoutDescriptor, newImage } from '../../helpers/bases/image-archive.ts'
import type { TestRegistry } from '../../helpers/bases/registry.ts'
import type { Answer, Client } from '../../helpers/front/client.ts'
import { ownName } from '../../helpers/front/own-name.ts'

/**
 * Defines the tests of bases pulled from a registry, for any front. `client` holds the admin token of a service whose base is busybox and
 * whose settings name the registry.
 */
export function definePulledBasesSuite(client: Client, registry: () => TestRegistry): void {
  const owner = ownName('pulls')
  const project = `/v1/projects/${owner}`
  const bases = `${project}/bases`
  const pull = (body: Record<string, unknown>, query = '') => client.post(`${bases}${query}`, body)
  const codeOf = ({ status, body }: Answer): [number, string] => [status, body.code]
  let index: LayoutDescriptor

  describe('a base of an image of a registry', () => {
    beforeAll(async () => {
      await client.post(`${project}/boxes`, { name: 'packed', base: 'busybox' })
      await client.shell(owner, 'packed', 'echo lower > /root/lower; echo gone > /root/gone')
      const root = (await client.get(`${project}/boxes/packed/files/archive?path=/`)).bytes
      await client.delete(`${project}/boxes/packed`)
      const image = newImage()
      const upper = tarOf([{ name: 'root/.wh.gone' }, { name: 'root/upper', body: 'upper\n' }])
      const layers = [image.addLayer(root, 'gzip'), image.addLayer(upper, 'zstd')]
      const of = (architecture: string) => ({ platform: { os: 'linux', architecture } })
      const here = image.addManifest(layers, of(process.arch === 'x64' ? 'amd64' : process.arch))
      index = image.addIndex([image.addManifest([], of('s390x')), here])
      await registry().push('library/tool', image, { tag: '1.0', top: index })
    })

    afterAll(async () => {
      for (const name of ['tool', 'later', 'shared']) await client.delete(`${bases}/${name}`)
    })

    test('is pulled by its tag, and boxes are made from it', async () => {
      const reference = `${registry().host}/library/tool:1.0`
      const made = await pull({ name: 'tool', image: reference })
      expect([made.status, made.headers['location']]).toEqual([201, `${bases}/tool`])
      const source = `oci:${reference}@${index.digest}`
      expect(made.body).toMatchObject({ name: 'tool', project: owner, version: 1, source, unpacked: { refused: [] } })
      expect((await client.post(`${project}/boxes`, { name: 'user', base: 'tool' })).body.status).toBe('running')
      const line = 'cd /root; ls; cat lower upper; echo new > new && cat new; echo "<$SECRET>"'
      expect((await client.shell(owner, 'user', line)).body.stdout).toBe('lower\nupper\nlower\nupper\nnew\n<>\n')
      await client.delete(`${project}/boxes/user`)
    })

    test('is pulled by digest, and followed by its operation', async () => {
      const reference = `${registry().host}/library/tool@${index.digest}`
      const later = await pull({ name: 'later', image: reference }, '?wait_seconds=0')
      expect([later.status, later.body]).toMatchObject([202, { kind: 'base.import', resource: `${bases}/later` }])
      const path = String(later.headers['operation-location'])
      expect((await client.get(`${path}?wait_seconds=25`)).body).toMatchObject({ status: 'done', error: null })
      expect((await client.get(`${bases}/later`)).body.source).toBe(`oci:${reference}`)
    })

    test('can be made for all projects with admin on all of them', async () => {
      const body = { name: 'pulled', image: `${registry().host}/library/tool:1.0`, shared: true }
      const wish = {
        name: 'some',
        projects: [owner],
        permissions: ['read', 'write', 'admin'],
        expires_in_seconds: 600,
      }
      const { token } = (await client.post('/v1/tokens', wish)).body
      expect(codeOf(await client.post(bases, body, { token }))).toEqual([403, 'permission_denied'])
      expect((await pull(body)).body).toMatchObject({ project: null, name: 'pulled' })
      expect((await client.delete(`${bases}/pulled?shared=true`)).status).toBe(204)
    })

    test('is refused: missing, at an address that is not public, with an invalid reference', async () => {
      const refusal = async (image: string): Promise<string> => {
        const answer = await pull({ name: 'bad', image })
        expect(codeOf(answer)).toEqual([400, 'invalid_request'])
        expect(answer.body.errors).toMatchObject([{ pointer: '/image' }])
        return answer.body.errors[0].detail
      }
      const { host } = registry()
      expect(await refusal(`${host}/library/tool:none`)).toContain('has no such image')
      expect(await refusal(`${host}/library/none`)).toContain('has no such image')
      for (const inner of [
        host.replace('127.0.0.1', 'localhost'),
        '127.0.0.1:1',
        '169.254.169.254',
        '[::1]:80',
        '10.0.0.1',
      ])
        expect(await refusal(`${inner}/library/tool:1.0`)).toContain('not public')
      for (const odd of ['docker://tool', 'Tool', `${host}/tool@sha256:1`, 'a'.repeat(300)])
        expect(await refusal(odd)).toContain('Expected a reference such as')
      expect(await refusal('')).toBeDefined()
      expect((await client.get(`${bases}/bad`)).status).toBe(404)
    })

    test('is refused beside a box, with a snapshot, under a name that is taken', async () => {
      const image = `${registry().host}/library/tool:1.0`
      for (const more of [{ box: 'user' }, { snapshot: 'v0' }, { tag: '1.0' }])
        expect(codeOf(await pull({ name: 'bad', image, ...more }))).toEqual([400, 'invalid_request'])
      expect(codeOf(await pull({ name: 'bad', image }, '?image=true'))).toEqual([400, 'invalid_request'])
      expect(codeOf(await pull({ name: 'tool', image }))).toEqual([409, 'name_taken'])
    })
  })
}
