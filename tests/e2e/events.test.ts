import { describe, expect, test } from '@jest/globals'
import { eventually } from '../helpers/eventually.ts'
import { useOwnService } from '../helpers/own-service.ts'
import { defineEventsSuite } from './events-suite.ts'

const { client, service } = useOwnService()
const FEED = '/v1/projects/streamed/events'

interface Stream {
  text(): string
  ids(): string[]
  isOver(): boolean
  leave(): void
}

async function follow(url: string, headers: Record<string, string>): Promise<Stream> {
  const leaving = new AbortController()
  const accept = { accept: 'text/event-stream', ...headers }
  const response = await fetch(url, { headers: accept, signal: leaving.signal })
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
  let [text, isOver] = ['', false]
  const read = async (): Promise<void> => {
    const decoder = new TextDecoder()
    for await (const piece of response.body ?? []) text += decoder.decode(piece as Uint8Array, { stream: true })
  }
  void read()
    .catch(() => undefined)
    .then(() => {
      isOver = true
    })
  const ids = (): string[] => [...text.matchAll(/^id: (.*)$/gm)].map(([, id]) => String(id))
  return { text: () => text, ids, isOver: () => isOver, leave: () => leaving.abort() }
}

describe('through the standalone front', () => {
  defineEventsSuite(client)
})

describe('streams of events', () => {
  const bearer = (): Record<string, string> => ({ authorization: `Bearer ${service().adminToken}` })

  test('tell at once, and go on from the last id', async () => {
    const stream = await follow(`${service().url}${FEED}`, bearer())
    await client.post('/v1/projects/streamed/boxes', { name: 'it' })
    await eventually(() => stream.text().includes('box.running'))
    stream.leave()
    const [first = ''] = stream.ids()
    const next = await follow(`${service().url}${FEED}`, { ...bearer(), 'last-event-id': first })
    await client.delete('/v1/projects/streamed/boxes/it')
    await eventually(() => next.text().includes('box.deleted'))
    next.leave()
    expect(next.text()).not.toContain('"box.created"')
    expect(next.ids().slice(0, 1)).toEqual(stream.ids().slice(1, 2))
  })

  test('are opened by ticket, and end when their token is revoked', async () => {
    const minted = (await client.post('/v1/tokens', { name: 't', projects: ['streamed'], permissions: ['read'] })).body
    const wanted = { operation: 'listEvents', query: { type: 'box.*', since: 'now' } }
    const ticket = await client.post('/v1/projects/streamed/tickets', wanted, { token: minted.token })
    expect(ticket.body.url).toContain(service().dataUrl)
    const stream = await follow(ticket.body.url, {})
    await client.delete(`/v1/tokens/${minted.id}`)
    await eventually(() => stream.isOver())
    expect(stream.text()).toContain('"token_revoked"')
  })

  test('lead a function that cannot carry them to the data address', async () => {
    const headers = { ...bearer(), accept: 'text/event-stream', prefer: 'answer-bytes-max=1000' }
    const { status, headers: answered } = await fetch(`${service().url}${FEED}`, { headers, redirect: 'manual' })
    expect([status, answered.get('location')]).toEqual([307, expect.stringContaining(service().dataUrl)])
    const stream = await follow(String(answered.get('location')), {})
    await eventually(() => stream.text().includes('box.created'))
    stream.leave()
  })

  test('end when the agent stops, which waits for none', async () => {
    const stream = await follow(`${service().url}${FEED}`, bearer())
    const stopping = service().killAgent('SIGTERM')
    await eventually(() => stream.isOver())
    await stopping
    await service().startAgent()
  })
})
