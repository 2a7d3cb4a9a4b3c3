import { beforeAll, describe, expect, test } from '@jest/globals'
import { createVisitor, type VisitOptions, visit } from '../../helpers/edge/visitor.ts'
import { eventually } from '../../helpers/eventually.ts'
import { useOwnService } from '../../helpers/own-service.ts'

const { client, service } = useOwnService()
const boxes = '/v1/projects/edge/boxes'
/** Serves a page, and its environment with the request headers at `/cgi-bin/told`. */
const SERVE = `mkdir -p /www/cgi-bin
printf '#!/bin/sh\\necho "Content-Type: text/plain"\\necho\\nenv\\n' > /www/cgi-bin/told
chmod +x /www/cgi-bin/told
echo page > /www/index.html
exec httpd -f -p 8080 -h /www`

async function makeBox(name: string, urlSettings: object = {}): Promise<string> {
  await client.post(boxes, { name, config: { ram_mb: 64 } })
  await client.put(`${boxes}/${name}/services/web`, {
    command: ['/bin/sh', '-c', SERVE],
    port: 8080,
    readiness: { tcp: true },
  })
  const { status, body } = await client.put(`${boxes}/${name}`, { url_settings: urlSettings })
  expect([status, body.detail]).toEqual([200, undefined])
  await eventually(async () => (await client.get(`${boxes}/${name}/services/web`)).body.active?.health === 'healthy')
  return body.url
}

async function mint(projects: string[] = ['edge']): Promise<{ id: string; token: string }> {
  const { body } = await client.post('/v1/tokens', { name: 'visitor', projects, permissions: ['read'] })
  return body
}

const codeOf = async (url: string, options?: VisitOptions): Promise<string> => {
  const { status, headers, text } = await visit(url, options)
  expect(headers['content-type']).toBe('application/problem+json')
  expect(headers['location']).toBeUndefined()
  return `${status} ${JSON.parse(text).code}`
}
const statusOf = async (name: string): Promise<string> => (await client.get(`${boxes}/${name}`)).body.status

describe('a private URL', () => {
  let url: string
  let token: string
  let id: string

  beforeAll(async () => {
    url = await makeBox('private')
    ;({ token, id } = await mint())
  })

  test('answers programs with a token of the project, and no other', async () => {
    expect(await codeOf(url)).toBe('401 token_missing')
    expect(await codeOf(url, { method: 'OPTIONS', headers: { origin: 'https://a.test' } })).toBe('401 token_missing')
    expect(await codeOf(url, { token: `${token}x` })).toBe('401 token_invalid')
    expect(await codeOf(url, { token: (await mint(['other'])).token })).toBe('403 permission_denied')
    for (let round = 0; round < 3; round++) {
      expect(await visit(url, { token })).toMatchObject({ status: 200, text: 'page\n' })
    }
  })

  test('answers people who sign in, at this host only', async () => {
    const person = createVisitor()
    expect(await person.signIn(`${url}cgi-bin/told?a=b`, token)).toMatchObject({
      status: 200,
      url: `${url}cgi-bin/told?a=b`,
    })
    const foreign = { headers: { origin: 'https://evil.test' }, form: { a: 'b' } }
    expect((await person.visit(`${url}cgi-bin/told`, foreign)).status).toBe(403)
    const own = { headers: { origin: new URL(url).origin }, form: { a: 'b' } }
    expect((await person.visit(`${url}cgi-bin/told`, own)).status).toBe(200)
    const api = url.replace('private--', 'web--private--')
    expect((await person.visit(api)).status).toBe(302)
    await person.visit(`${url}.boxyard/sign-out`)
    expect((await person.visit(url)).status).toBe(302)
  })

  test('hands the box neither token nor cookie', async () => {
    const person = createVisitor()
    const { text } = await person.signIn(`${url}cgi-bin/told`, token)
    const shown = await visit(`${url}cgi-bin/told`, { token, headers: { cookie: 'own=1' } })
    expect(shown.text).toContain('own=1')
    for (const told of [text, shown.text]) {
      expect(told).toContain('GATEWAY_INTERFACE')
      expect(told).not.toContain(token)
      expect(told).not.toContain('__Host-boxyard=')
    }
    expect(service().logs.join('\n')).not.toContain(token)
  })

  test('keeps serving without the agent, and with the next one', async () => {
    const person = createVisitor()
    await person.signIn(url, token)
    await visit(url, { token })
    await service().killAgent()
    try {
      expect((await person.visit(url)).text).toBe('page\n')
      expect((await visit(url, { token })).text).toBe('page\n')
    } finally {
      await service().startAgent()
    }
    expect((await person.visit(url)).text).toBe('page\n')
    expect((await visit(url, { token })).text).toBe('page\n')
    // The session and the grant also survive a restart.
    await service().restart()
    expect((await person.visit(url)).text).toBe('page\n')
  })

  test('refuses a revoked token and the sessions made with it', async () => {
    const person = createVisitor()
    await person.signIn(url, token)
    expect((await visit(url, { token })).status).toBe(200)
    expect((await client.delete(`/v1/tokens/${id}`)).status).toBe(204)
    expect(await codeOf(url, { token })).toBe('401 token_revoked')
    expect((await person.visit(url)).status).toBe(302)
  })

  test('answers like a host without a box', async () => {
    const headers = { 'x-request-id': 'req_same' }
    const unknown = url.replace('private--', 'nobody--')
    const [known, other] = [await visit(url, { headers }), await visit(unknown, { headers })]
    expect(other.text).toBe(known.text)
    expect(await codeOf(unknown, { token: (await mint()).token })).toBe('404 box_not_found')
  })

  test('becomes public and private again by an update', async () => {
    await client.put(`${boxes}/private`, { url_settings: { auth: 'public' } })
    expect((await visit(url)).text).toBe('page\n')
    await client.put(`${boxes}/private`, { url_settings: { auth: 'token' } })
    expect(await codeOf(url)).toBe('401 token_missing')
  })
})

describe('the URL of a stopped box', () => {
  let url: string
  let token: string

  beforeAll(async () => {
    url = await makeBox('sleeper', { wake: true })
    token = (await mint()).token
  })

  test('wakes it once for concurrent requests with permission', async () => {
    await client.post(`${boxes}/sleeper/stop`)
    expect(await codeOf(url)).toBe('401 token_missing')
    expect(await codeOf(url, { token: 'x' })).toBe('401 token_invalid')
    expect(await statusOf('sleeper')).toBe('stopped')
    const answers = await Promise.all(Array.from({ length: 20 }, () => visit(url, { token })))
    expect(answers.map(({ text }) => text)).toEqual(answers.map(() => 'page\n'))
    expect(await statusOf('sleeper')).toBe('running')
  })

  test('wakes a box that is being stopped', async () => {
    await client.put(`${boxes}/sleeper`, { termination_grace_period_seconds: 30 })
    const stubborn = 'trap "" TERM; while :; do sleep 0.1; done'
    const begun = await client.post(`${boxes}/sleeper/exec?wait_seconds=0`, { shell: stubborn, no_hup: true })
    expect(begun.status).toBe(202)
    await client.post(`${boxes}/sleeper/stop?wait_seconds=0`)
    await eventually(async () => (await statusOf('sleeper')) === 'pending')
    expect(await visit(url, { token })).toMatchObject({ status: 200, text: 'page\n' })
    expect(await statusOf('sleeper')).toBe('running')
  })

  test('answers with the reason if waking is off', async () => {
    await client.put(`${boxes}/sleeper`, { url_settings: { wake: false } })
    await client.post(`${boxes}/sleeper/stop`)
    expect(await codeOf(url, { token })).toBe('409 box_not_running')
    const page = await visit(url, { token, headers: { accept: 'text/html' } })
    expect([page.status, page.headers['content-type']]).toEqual([409, 'text/html; charset=utf-8'])
    expect(await statusOf('sleeper')).toBe('stopped')
  })

  test('of a box that is gone is not found', async () => {
    await client.delete(`${boxes}/sleeper`)
    expect(await codeOf(url, { token })).toBe('404 box_not_found')
  })
})
