import { askUrl } from '../../helpers/edge/url-client.ts'
import { openStream } from '../../helpers/exec/stream-client.ts'
import { type Answer, type Client, createClient } from '../../helpers/front/client.ts'

/** A tenant with typical requests and its own token. It is never refused while the service is healthy. */
export interface QuietTenant {
  /** Each does one thing. It rejects on failure or an unexpected result. */
  acts: Record<ActName, (index: number) => Promise<void>>
  /** URL of its page at the edge. */
  pageUrl: string
}

export type ActName =
  | 'exec'
  | 'create'
  | 'delete'
  | 'edge'
  | 'read'
  | 'version'
  | 'files'
  | 'snapshot'
  | 'terminal'
  | 'ticket'
  | 'events'

/** Creates the tenant, with a box whose page is public. */
export async function openQuietTenant(url: string, admin: Client): Promise<QuietTenant> {
  const body = { name: 'quiet', projects: ['quiet'], permissions: ['read', 'write', 'exec'] }
  const { token } = (await admin.post('/v1/tokens', body)).body
  const client = createClient(
    () => url,
    () => token,
  )
  const get = async (path: string): Promise<Answer> => expectStatus(await client.get(path), 200)
  const post = async (path: string, sent?: unknown, status = 201): Promise<Answer> =>
    expectStatus(await client.post(path, sent), status)
  await post(QUIET, { name: 'it' })
  expectStatus(await client.put(`${BOX}/services/page`, PAGE), 201)
  await post(`${BOX}/publish`, { auth: 'public' }, 200)
  const pageUrl = (await get(`${BOX}/services/page`)).body.active_url
  const exec = async (command: string[], stdout: string): Promise<void> => {
    const answer = await client.post(`${BOX}/exec`, { command })
    if (answer.body?.stdout !== stdout) throw new Error(`exec: ${answer.status} ${answer.text}`)
  }
  return {
    pageUrl,
    acts: {
      exec: () => exec(['echo', 'hi'], 'hi\n'),
      create: async (index) => {
        const { body: box, text } = await post(QUIET, { name: `new-${index}` })
        if (box.status !== 'running') throw new Error(`create: ${text}`)
      },
      delete: async (index) => void expectStatus(await client.delete(`${QUIET}/new-${index}`), 204),
      edge: async () => {
        const { status, text } = await askUrl(pageUrl)
        if (status !== 200 || text !== 'page\n') throw new Error(`edge: ${status} ${text}`)
      },
      read: async () => void (await get(BOX)),
      version: async () => void (await get('/version')),
      files: async (index) => {
        const path = `${BOX}/files/write?path=/root/note`
        const sent = { raw: `note ${index}`, headers: { 'content-type': 'application/octet-stream' } }
        const { status } = await client.call('PUT', path, sent)
        if (status >= 300) throw new Error(`files: ${status}`)
        const { text } = await get(`${BOX}/files/read?path=/root/note`)
        if (text !== `note ${index}`) throw new Error(`files: ${text}`)
      },
      snapshot: async (index) => {
        await post(`${BOX}/snapshots`, { name: `s-${index}` })
        expectStatus(await client.delete(`${BOX}/snapshots/s-${index}`), 204)
      },
      terminal: () => exec(['sh', '-c', 'exec 3<>/dev/ptmx && echo a terminal'], 'a terminal\n'),
      ticket: async () => {
        const query = { command: ['echo', 'hi'] }
        const answer = await post(`${BOX}/tickets`, { operation: 'streamExec', query })
        const stream = await openStream(answer.body.url)
        await stream.closed
        if (stream.text(1) !== 'hi\n') throw new Error(`ticket: ${stream.text(1)}`)
      },
      events: async () => {
        const answer = await fetch(`${url}/v1/projects/quiet/events?since=now`, {
          headers: { authorization: `Bearer ${token}`, accept: 'text/event-stream' },
        })
        await answer.body?.cancel()
        if (answer.status !== 200) throw new Error(`events: ${answer.status}`)
      },
    },
  }
}

function expectStatus(answer: Answer, status: number): Answer {
  if (answer.status !== status) throw new Error(`${answer.status} in place of ${status}: ${answer.text}`)
  return answer
}

const QUIET = '/v1/projects/quiet/boxes'
const BOX = `${QUIET}/it`
const PAGE = {
  command: ['/bin/sh', '-c', 'mkdir -p /srv; echo page >/srv/index.html; exec httpd -f -p $PORT -h /srv'],
  port: 8080,
  readiness: { tcp: true, interval_seconds: 0.1 },
}
