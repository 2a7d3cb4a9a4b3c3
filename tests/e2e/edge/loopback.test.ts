import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { askUrl } from '../../helpers/edge/url-client.ts'
import { eventually } from '../../helpers/eventually.ts'
import { restartAgent } from '../../helpers/fault-steps.ts'
import { type Client, createClient } from '../../helpers/front/client.ts'
import { startService, type TestService } from '../../helpers/service.ts'

const boxes = '/v1/projects/inside/boxes'
const web = `${boxes}/web`
let service: TestService
const client: Client = createClient(
  () => service.url,
  () => service.adminToken,
)

beforeAll(async () => {
  service = await startService()
  for (const name of ['web', 'other']) await client.post(boxes, { name, config: { ram_mb: 128 } })
  await client.put(web, { url_settings: { auth: 'public', wake: true } })
  await client.put(`${boxes}/other`, { url_settings: { auth: 'public' } })
})

afterAll(async () => {
  await service.close()
})

/** Returns the command of a server that listens only at this address and serves this page. */
function serve(at: string, page: string): string[] {
  const directory = `/srv/${page}`
  return [
    '/bin/sh',
    '-c',
    `mkdir -p ${directory}; echo ${page} > ${directory}/index.html; exec httpd -f -p ${at} -h ${directory}`,
  ]
}

const urlOf = async (path: string): Promise<string> => {
  const { body } = await client.get(path)
  return body.active_url ?? body.url
}
const detailAt = async (url: string): Promise<string> => JSON.parse((await askUrl(url)).text).detail

describe('a server on the loopback of a box', () => {
  test.each([
    ['127.0.0.1', '127.0.0.1:5173', 5173],
    ['::1', '[::1]:5174', 5174],
  ])('at %s is ready, and answers at its URL', async (_address, at, port) => {
    const name = `at-${port}`
    const readiness = { http: '/index.html' }
    const made = await client.put(`${web}/services/${name}`, { command: serve(at, name), port, readiness })
    expect(made.body).toMatchObject({ state: 'running', active: { health: 'healthy' } })
    expect(await askUrl(await urlOf(`${web}/services/${name}`))).toMatchObject({ status: 200, text: `${name}\n` })
  })

  test('answers at the URL of its box, and wakes with it', async () => {
    await client.put(web, { port: 5173, url_settings: { auth: 'public', wake: true } })
    const url = await urlOf(web)
    expect((await askUrl(url)).text).toBe('at-5173\n')
    await client.post(`${web}/stop`)
    expect(await askUrl(url)).toMatchObject({ status: 200, text: 'at-5173\n' })
    expect((await client.get(web)).body.status).toBe('running')
  })

  test('answers again once the agent has been restarted', async () => {
    const url = await urlOf(web)
    await restartAgent(service, 'SIGKILL')
    await eventually(async () => (await askUrl(url)).text === 'at-5173\n')
  })

  test('is that of the box alone, and of the ports that its URLs lead to', async () => {
    const other = await urlOf(`${boxes}/other`)
    await client.put(`${boxes}/other`, { port: 5173, url_settings: { auth: 'public' } })
    expect(await detailAt(other)).toBe('Nothing answers on port 5173 of this box.')
    // The port of a listener on the host's own loopback, here the API.
    const { port } = new URL(service.url)
    await client.put(`${boxes}/other`, { port: Number(port), url_settings: { auth: 'public' } })
    expect(await detailAt(other)).toBe(`Nothing answers on port ${port} of this box.`)
  })

  test('that is replaced leaves the URL to its next version', async () => {
    const next = serve('127.0.0.1:$PORT', 'next')
    const deployed = await client.post(`${web}/services/at-5173/deploy`, { command: next })
    expect(deployed.body.preview).toMatchObject({ state: 'running' })
    expect((await askUrl(deployed.body.preview_url)).text).toBe('next\n')
    await client.post(`${web}/services/at-5173/promote`)
    expect((await askUrl(await urlOf(web))).text).toBe('next\n')
  })
})

describe('a service that does not run', () => {
  const name = 'resting'
  const path = `${web}/services/${name}`

  test('is named as the cause at its URL, and at the URL of its box', async () => {
    const server = serve('127.0.0.1:5180', name)
    const command = ['/bin/sh', '-c', `[ -e /srv/broken ] && exit 3; ${server.at(-1)}`]
    await client.put(path, { command, port: 5180, readiness: { http: '/index.html' }, restart: 'never' })
    await client.put(web, { port: 5180, url_settings: { auth: 'public', wake: true } })
    const urls = [await urlOf(path), await urlOf(web)]
    for (const url of urls) expect((await askUrl(url)).text).toBe(`${name}\n`)

    await client.post(`${path}/stop`)
    for (const url of urls) {
      expect((await askUrl(url)).status).toBe(502)
      expect(await detailAt(url)).toBe('The service on port 5180 of this box is stopped.')
    }
    await client.shell('inside', 'web', 'touch /srv/broken')
    await client.post(`${path}/start`)
    await eventually(async () => (await client.get(path)).body.state === 'failed')
    for (const url of urls) expect(await detailAt(url)).toBe('The service on port 5180 of this box has ended.')
  })

  test('is no cause for a client that its private URL does not admit', async () => {
    const url = await urlOf(path)
    await client.put(web, { url_settings: { auth: 'token', wake: true } })
    const refused = await askUrl(url)
    expect([refused.status, refused.text]).toEqual([401, expect.not.stringMatching(/stopped|ended/)])
    await client.put(web, { port: 5173, url_settings: { auth: 'public', wake: true } })
    await client.delete(path)
  })
})

describe('a port of HTTP/2 without TLS', () => {
  // This server sends fixed frames. They are SETTINGS, their acknowledgement, and HEADERS of stream 1 with the status 200.
  const settings = "printf '\\0\\0\\0\\4\\0\\0\\0\\0\\0\\0\\0\\0\\4\\1\\0\\0\\0\\0'"
  const script = `${settings}; sleep 0.1; printf '\\0\\0\\1\\1\\5\\0\\0\\0\\1\\210'; exec cat >/dev/null`
  const words = 'speaks only HTTP/2 without TLS (h2c)'

  beforeAll(() => client.shell('inside', 'web', `cat >/srv/rpc <<'END'\n${script}\nEND`))

  test('has a URL once its protocol is set', async () => {
    const definition = { command: ['nc', '-ll', '-p', '7002', '-e', '/bin/sh', '/srv/rpc'], port: 7002 }
    const wrong = await client.put(`${web}/services/rpc`, definition)
    expect(wrong.body.spec.protocol).toBe('http')
    const url = await urlOf(`${web}/services/rpc`)
    await eventually(async () => (await detailAt(url)).includes(words))
    await client.put(`${web}/services/rpc`, { ...definition, protocol: 'h2c', readiness: { http: '/' } })
    await client.post(`${web}/services/rpc/stop`)
    const right = await client.post(`${web}/services/rpc/start`)
    expect(right.body).toMatchObject({ state: 'running', spec: { protocol: 'h2c' }, active: { health: 'healthy' } })
    expect((await askUrl(url)).status).toBe(200)
  })

  test('may be that of a box, which publish and an update change', async () => {
    await client.shell('inside', 'web', 'nc -ll -p 7003 -e /bin/sh /srv/rpc >/dev/null 2>&1 &')
    const at = { port: 7003, url_settings: { auth: 'public', wake: true } }
    const url = await urlOf(web)
    const changed = await client.put(web, { ...at, protocol: 'h2c' })
    expect(changed.body).toMatchObject({ port: 7003, protocol: 'h2c' })
    await eventually(async () => (await askUrl(url)).status === 200)
    expect((await client.put(web, { tags: { a: 'b' } })).body.protocol).toBe('h2c')
    expect((await client.post(`${web}/publish`, { protocol: 'http' })).body.protocol).toBe('http')
    expect(await detailAt(url)).toContain(words)
    expect((await client.post(`${web}/publish`, { protocol: 'h2c' })).body.protocol).toBe('h2c')
    expect((await client.put(web, { protocol: null })).body.protocol).toBe('http')
    const refused = await client.put(web, { protocol: 'grpc' })
    expect([refused.status, refused.body.errors[0].pointer]).toEqual([400, '/protocol'])
  })
})

describe('a service that is not ready', () => {
  test('says that its server is not one of HTTP', async () => {
    const greet = "printf '220 ready\\r\\n'; exec cat >/dev/null"
    const command = ['nc', '-ll', '-p', '7001', '-e', '/bin/sh', '-c', greet]
    const wish = { command, port: 7001, readiness: { http: '/' } }
    await client.put(`${web}/services/smtp?wait_seconds=1`, wish)
    await eventually(async () => {
      const { message } = (await client.get(`${web}/services/smtp`)).body
      return /port 7001 of this box answered with something that is not HTTP/.test(message)
    })
    expect(await detailAt(await urlOf(`${web}/services/smtp`))).toContain('something that is not HTTP')
  })
})
