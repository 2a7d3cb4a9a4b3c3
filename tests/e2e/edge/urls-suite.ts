import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { askUrl, type UrlAnswer } from '../../helpers/edge/url-client.ts'
import { eventually } from '../../helpers/eventually.ts'
import type { Answer, Client } from '../../helpers/front/client.ts'

/** Defines the tests of URLs for any front. `client` holds the admin token of a service whose base is busybox. */
export function defineUrlsSuite(client: Client): void {
  const boxes = '/v1/projects/urls/boxes'
  const web = `${boxes}/web`
  let token: string
  let url: string
  /** Returns the edge's address with another host name. */
  const at = (host: string): string => {
    const { port } = new URL(url)
    return `http://${host}:${port}/`
  }
  const codeOf = ({ text }: UrlAnswer): string => (JSON.parse(text) as { code: string }).code
  const mint = async (project: string, permissions = ['read']): Promise<string> => {
    const wanted = { name: 'visitor', projects: [project], permissions, expires_in_seconds: 600 }
    return (await client.post('/v1/tokens', wanted)).body.token
  }
  const serve = (page: string, port: number): string[] => {
    const line = `mkdir -p /srv/${port}; echo ${page} > /srv/${port}/index.html; exec httpd -f -p ${port} -h /srv/${port}`
    return ['/bin/sh', '-c', line]
  }
  const put = (name: string, page: string, port: number): Promise<Answer> =>
    client.put(`${web}/services/${name}`, { command: serve(page, port), port, readiness: { tcp: true } })

  beforeAll(async () => {
    for (const name of ['web', 'other']) await client.post(boxes, { name, config: { ram_mb: 128 } })
    await put('page', 'hello', 8080)
    token = await mint('urls')
    url = (await client.get(web)).body.url
  })

  afterAll(async () => {
    for (const name of ['web', 'other']) await client.delete(`${boxes}/${name}`)
  })

  describe('the URL of a box', () => {
    test('forwards requests with a token of its project to port 8080', async () => {
      expect(url).toMatch(/^http:\/\/web--urls\.localhost:\d+\/$/)
      const answer = await askUrl(url, { token })
      expect([answer.status, answer.text]).toEqual([200, 'hello\n'])
    })

    test('follows the active version of the service that has its port', async () => {
      const read = async (): Promise<string> => (await askUrl(url, { token })).text
      const next = 'mkdir /srv/next; echo again > /srv/next/index.html; exec httpd -f -p $PORT -h /srv/next'
      const deployed = await client.post(`${web}/services/page/deploy`, { command: ['/bin/sh', '-c', next] })
      expect(deployed.body.preview.state).toBe('running')
      expect(await read()).toBe('hello\n')
      await client.post(`${web}/services/page/promote`)
      expect(await read()).toBe('again\n')
      await client.post(`${web}/services/page/rollback`)
      expect(await read()).toBe('hello\n')
    })

    test('refuses other requests with a problem, and redirects browsers to the sign-in', async () => {
      const anonymous = await askUrl(url)
      expect([anonymous.status, codeOf(anonymous)]).toEqual([401, 'token_missing'])
      expect(anonymous.headers['content-type']).toContain('application/problem+json')
      const foreign = await askUrl(url, { token: await mint('elsewhere') })
      expect([foreign.status, codeOf(foreign)]).toEqual([403, 'permission_denied'])
      const writer = await askUrl(url, { token: await mint('urls', ['write']) })
      expect(writer.status).toBe(403)
      const person = await askUrl(url, { headers: { accept: 'text/html', 'sec-fetch-mode': 'navigate' } })
      expect([person.status, person.headers.location]).toEqual([302, expect.stringContaining('//sign-in.localhost')])
    })

    test('explains its problems at the host of the box', async () => {
      const { type, code, title } = JSON.parse((await askUrl(url)).text)
      expect(type).toBe('/.boxyard/problems/token_missing')
      const told = await askUrl(new URL(type, url).href)
      expect([told.status, JSON.parse(told.text)]).toEqual([200, expect.objectContaining({ type, code, title })])
      const page = await askUrl(new URL(type, url).href, { headers: { accept: 'text/html' } })
      expect([page.status, page.text]).toEqual([200, expect.stringContaining(title)])
      expect((await askUrl(new URL('/.boxyard/problems', url).href)).status).toBe(200)
    })

    test('refuses a token once that is revoked', async () => {
      const made = (await client.post('/v1/tokens', { name: 'brief', projects: ['urls'], permissions: ['read'] })).body
      expect((await askUrl(url, { token: made.token })).status).toBe(200)
      expect((await askUrl(url, { token: made.token })).status).toBe(200)
      expect((await client.delete(`/v1/tokens/${made.id}`)).status).toBe(204)
      const refused = await askUrl(url, { token: made.token })
      expect([refused.status, codeOf(refused)]).toEqual([401, 'token_revoked'])
    })

    test('names the port that is tried where nothing listens', async () => {
      await client.put(web, { port: 4000 })
      const answer = await askUrl(url, { token })
      expect([answer.status, codeOf(answer)]).toEqual([502, 'port_unreachable'])
      expect(answer.text).toContain('4000')
      const page = await askUrl(url, { token, headers: { accept: 'text/html' } })
      expect([page.status, page.headers['content-type']]).toEqual([502, expect.stringContaining('text/html')])
      expect(page.text).toContain('4000')
      await client.put(web, { port: null })
      expect((await askUrl(url, { token })).status).toBe(200)
    })

    test('is open to all once set public, and private again at once', async () => {
      const published = await client.post(`${web}/publish`, { auth: 'public' })
      expect(published.body).toMatchObject({ url, url_settings: { auth: 'public' }, published_domains: [] })
      expect((await askUrl(url)).text).toBe('hello\n')
      await client.put(web, { url_settings: { auth: 'token' } })
      expect((await askUrl(url)).status).toBe(401)
    })
  })

  describe('a published domain', () => {
    test('belongs to one box until it gives it up', async () => {
      const domains = ['shop.example.org', 'Shop.localhost']
      const published = await client.post(`${web}/publish`, { domains, auth: 'public' })
      expect(published.body.published_domains).toEqual(['shop.example.org', 'shop.localhost'])
      for (const host of ['shop.example.org', 'SHOP.localhost']) expect((await askUrl(at(host))).text).toBe('hello\n')
      const taken = await client.post(`${boxes}/other/publish`, { domains: ['shop.example.org'] })
      expect([taken.status, taken.body.code]).toEqual([409, 'domain_taken'])
      expect((await client.get(`${boxes}/other`)).body.published_domains).toEqual([])
      const left = await client.post(`${web}/unpublish`, { domains: ['shop.localhost'] })
      expect(left.body.published_domains).toEqual(['shop.example.org'])
      expect((await askUrl(at('shop.example.org'))).status).toBe(200)
      expect((await client.post(`${web}/unpublish`, {})).body.published_domains).toEqual([])
      expect((await askUrl(at('shop.example.org'))).status).toBe(404)
      expect((await client.post(`${boxes}/other/publish`, { domains: ['shop.example.org'] })).status).toBe(200)
      await client.put(web, { url_settings: { auth: 'token' } })
    })

    test.each([
      [{ domains: ['not a name'] }, '/domains/0'],
      [{ domains: ['single'] }, '/domains/0'],
      [{ domains: ['10.0.0.1'] }, '/domains/0'],
      [{ domains: ['ok.example.org', 'a--b.localhost'] }, '/domains/1'],
      [{ domains: ['sign-in.localhost'] }, '/domains/0'],
      [{ port: 70_000 }, '/port'],
      [{ auth: 'none' }, '/auth'],
      [{ domain: 'a.example.org' }, '/domain'],
    ])('%j is refused', async (body, pointer) => {
      const { status, body: problem } = await client.post(`${web}/publish`, body)
      expect([status, problem.code, problem.errors[0].pointer]).toEqual([400, 'invalid_request', pointer])
    })
  })

  describe('a service', () => {
    test('has a URL and domains of its own', async () => {
      const { active_url: own } = (await put('api', 'api', 9000)).body
      expect(own).toBe(at('api--web--urls.localhost'))
      expect((await askUrl(own, { token })).text).toBe('api\n')
      const published = await client.post(`${web}/services/api/publish`, { domains: ['api.example.org'] })
      expect(published.body.published_domains).toEqual(['api.example.org'])
      expect((await askUrl(at('api.example.org'), { token })).text).toBe('api\n')
      const taken = await client.post(`${web}/publish`, { domains: ['api.example.org'] })
      expect(taken.body.code).toBe('domain_taken')
      await client.delete(`${web}/services/api`)
      expect((await askUrl(at('api.example.org'), { token })).status).toBe(404)
      expect((await askUrl(own, { token })).status).toBe(404)
    })
  })

  describe('a stopped box', () => {
    test('answers that it is stopped, or is woken by a request if it may be', async () => {
      await client.post(`${web}/stop`)
      const refused = await askUrl(url, { token })
      expect([refused.status, codeOf(refused)]).toEqual([409, 'box_not_running'])
      await client.put(web, { url_settings: { wake: true } })
      expect((await askUrl(url)).status).toBe(401)
      expect((await client.get(web)).body.status).toBe('stopped')
      const answers = await Promise.all([1, 2, 3, 4].map(() => askUrl(url, { token })))
      expect(answers.map(({ status, text }) => [status, text])).toEqual(answers.map(() => [200, 'hello\n']))
      expect((await client.get(web)).body.status).toBe('running')
    })

    test('that is deleted is not found', async () => {
      await client.delete(web)
      expect((await askUrl(url)).status).toBe(401)
      const gone = await askUrl(url, { token })
      expect([gone.status, codeOf(gone)]).toEqual([404, 'box_not_found'])
      await client.post(boxes, { name: 'web', config: { ram_mb: 128 } })
      await put('page', 'second', 8080)
      await eventually(async () => (await askUrl(url, { token })).text === 'second\n')
    })
  })
}
