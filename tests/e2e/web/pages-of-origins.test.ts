import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, describe, expect, test } from '@jest/globals'
import { useBrowser } from '../../helpers/edge/browser.ts'
import { useOwnService } from '../../helpers/own-service.ts'

let pages: Server
/** Port of an empty page, which is two origins under `127.0.0.1` and `localhost`. */
let port: number

const { client, service } = useOwnService(async () => {
  pages = createServer((_, outgoing) => {
    outgoing.setHeader('content-type', 'text/html')
    outgoing.end('<title>App</title>')
  })
  await new Promise<void>((resolve) => {
    pages.listen(0, '127.0.0.1', resolve)
  })
  port = (pages.address() as AddressInfo).port
  return { settings: { BOXYARD_CORS_ORIGINS: `https://app.example.com,http://127.0.0.1:${port}` } }
})
const { newUser } = useBrowser('pages.test')

afterAll(() => {
  pages.close()
})

/** Sends requests from the page at `origin` in a browser, and returns what its script sees of each. */
async function fetchFrom(origin: string, requests: [url: string, init: RequestInit][]): Promise<unknown[]> {
  const { page } = await newUser()
  await page.goto(origin)
  return page.evaluate(async (text) => {
    const seen: unknown[] = []
    for (const [url, init] of JSON.parse(text) as [string, RequestInit][]) {
      try {
        const answer = await fetch(url, init)
        const names = ['x-request-id', 'etag', 'retry-after', 'location', 'idempotent-replayed']
        const headers = Object.fromEntries(names.map((name) => [name, answer.headers.get(name)]))
        seen.push({ status: answer.status, headers, body: await answer.text() })
      } catch (error) {
        seen.push((error as Error).name)
      }
    }
    return seen
  }, JSON.stringify(requests))
}

describe('a page in a browser', () => {
  const boxes = '/v1/projects/pages/boxes'

  test('of an origin that is named makes a box, reads its headers, and is told of its faults', async () => {
    const headers = { authorization: `Bearer ${service().adminToken}`, 'content-type': 'application/json' }
    const make: RequestInit = {
      method: 'POST',
      headers: { ...headers, 'idempotency-key': 'once', 'x-request-id': 'of-a-page' },
      body: JSON.stringify({ name: 'web', config: { ram_mb: 64 } }),
    }
    const seen = await fetchFrom(`http://127.0.0.1:${port}`, [
      [`${service().url}${boxes}`, make],
      [`${service().url}${boxes}`, make],
      [`${service().url}${boxes}/none`, { headers }],
      [`${service().url}/v1/me`, {}],
    ])
    expect(seen).toMatchObject([
      { status: 201, headers: { 'x-request-id': 'of-a-page', etag: expect.any(String), location: `${boxes}/web` } },
      { status: 201, headers: { 'idempotent-replayed': 'true' } },
      { status: 404, body: expect.stringContaining('box_not_found') },
      { status: 401, body: expect.stringContaining('token_missing') },
    ])
  })

  test('of any origin writes and reads a file at the data address with tickets', async () => {
    const ask = async (operation: string): Promise<string> => {
      const query = { path: '/root/from-a-page' }
      return (await client.post(`${boxes}/web/tickets`, { operation, query })).body.url
    }
    const bytes = { 'content-type': 'application/octet-stream' }
    const seen = await fetchFrom(`http://localhost:${port}`, [
      [await ask('writeFile'), { method: 'PUT', headers: bytes, body: 'hello' }],
      [await ask('readFile'), {}],
    ])
    expect(seen).toMatchObject([{ status: 200 }, { status: 200, body: 'hello' }])
  })

  test('of another origin sees nothing, and changes nothing', async () => {
    const headers = { authorization: `Bearer ${service().adminToken}` }
    const seen = await fetchFrom(`http://localhost:${port}`, [
      [`${service().url}/v1/me`, { headers }],
      [`${service().url}/healthz`, {}],
      [`${service().url}${boxes}/web`, { method: 'DELETE', headers }],
    ])
    expect(seen).toEqual(['TypeError', 'TypeError', 'TypeError'])
    expect((await client.get(`${boxes}/web`)).status).toBe(200)
  })
})
