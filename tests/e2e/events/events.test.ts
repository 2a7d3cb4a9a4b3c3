import { describe, expect, test } from '@jest/globals'
import { followEvents } from '../../helpers/event-stream.ts'
import { eventually } from '../../helpers/eventually.ts'
import { useOwnService } from '../../helpers/own-service.ts'
import { defineEventsSuite } from './suite.ts'

const { client, service } = useOwnService()
const FEED = '/v1/projects/streamed/events'

describe('through the standalone front', () => {
  defineEventsSuite(client)
})

describe('streams of events', () => {
  const bearer = (): Record<string, string> => ({ authorization: `Bearer ${service().adminToken}` })

  test('arrive at once, and go on from the last id', async () => {
    const stream = await followEvents(`${service().url}${FEED}`, bearer())
    await client.post('/v1/projects/streamed/boxes', { name: 'it' })
    await eventually(() => stream.text().includes('box.running'))
    stream.leave()
    const [first = ''] = stream.ids()
    const next = await followEvents(`${service().url}${FEED}`, { ...bearer(), 'last-event-id': first })
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
    const stream = await followEvents(ticket.body.url, {})
    await client.delete(`/v1/tokens/${minted.id}`)
    await eventually(() => stream.isOver())
    expect(stream.text()).toContain('"token_revoked"')
  })

  test('lead a function that cannot carry them to the data address', async () => {
    const headers = { ...bearer(), accept: 'text/event-stream', prefer: 'answer-bytes-max=1000' }
    const { status, headers: answered } = await fetch(`${service().url}${FEED}`, { headers, redirect: 'manual' })
    expect([status, answered.get('location')]).toEqual([307, expect.stringContaining(service().dataUrl)])
    const stream = await followEvents(String(answered.get('location')), {})
    await eventually(() => stream.text().includes('box.created'))
    stream.leave()
  })

  test('end when the agent stops, which waits for none', async () => {
    const stream = await followEvents(`${service().url}${FEED}`, bearer())
    const stopping = service().killAgent('SIGTERM')
    await eventually(() => stream.isOver())
    await stopping
    await service().startAgent()
  })
})
