import { readFileSync } from 'node:fs'
import { expect } from '@jest/globals'
import { eventually } from '../eventually.ts'
import type { Client } from '../front/client.ts'

/** Path of the boxes that `makeSites` creates. */
export const SITES = '/v1/projects/browser/boxes'

/** Creates boxes whose service `web` is tests/fixtures/site.sh, with this `auth` for each box's URLs. Waits until they serve. */
export async function makeSites(client: Client, auths: Record<string, 'token' | 'public'>): Promise<void> {
  await Promise.all(Object.entries(auths).map(([name, auth]) => makeSite(client, name, auth)))
}

/** Returns and clears the requests that a site received, one per line. */
export async function takeHeard(client: Client, name: string): Promise<string> {
  const line = 'touch /tmp/heard; cat /tmp/heard; : >/tmp/heard'
  return (await client.shell('browser', name, line)).body.stdout
}

async function makeSite(client: Client, name: string, auth: string): Promise<void> {
  const at = `${SITES}/${name}`
  expect((await client.post(SITES, { name, config: { ram_mb: 64 } })).status).toBe(201)
  expect((await client.put(at, { url_settings: { auth } })).status).toBe(200)
  const write = `cat >/site <<'END'\n${SITE}END\nchmod +x /site\nexec nc -ll -p 8080 -e /site`
  const spec = { command: ['/bin/sh', '-c', write], port: 8080, readiness: { tcp: true } }
  expect(await client.put(`${at}/services/web`, spec)).toMatchObject({ status: 201 })
  await eventually(async () => (await client.get(`${at}/services/web`)).body.active?.health === 'healthy')
}

const SITE = readFileSync(new URL('../../fixtures/site.sh', import.meta.url), 'utf8')
