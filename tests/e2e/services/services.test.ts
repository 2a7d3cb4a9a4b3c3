import { describe, expect, test } from '@jest/globals'
import { followEvents } from '../../helpers/event-stream.ts'
import { eventually } from '../../helpers/eventually.ts'
import { useSharedService } from '../../helpers/own-service.ts'
import { defineServicesSuite } from './suite.ts'

const { client, service } = useSharedService()

describe('through the standalone front', () => {
  defineServicesSuite(client)
})

describe('the log as a stream', () => {
  const boxes = '/v1/projects/logs/boxes'
  const app = `${boxes}/host/services/app`
  const bearer = (): Record<string, string> => ({ authorization: `Bearer ${service().adminToken}` })
  const sent = (text: string): string =>
    [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(String(data)).data).join('')

  test('arrives as it is written, goes on from an offset, and ends with its token or its service', async () => {
    await client.post(boxes, { name: 'host', config: { ram_mb: 64 } })
    const line = 'i=0; while :; do i=$((i+1)); echo line $i; sleep 0.2; done'
    await client.put(app, { command: ['/bin/sh', '-c', line] })
    const stream = await followEvents(`${service().url}${app}/logs?offset=0`, bearer())
    await eventually(() => sent(stream.text()).includes('line 3\n'))
    stream.leave()
    expect(sent(stream.text())).toMatch(/^line 1\nline 2\nline 3\n/)
    const [first = ''] = stream.ids()
    const next = await followEvents(`${service().url}${app}/logs`, { ...bearer(), 'last-event-id': first })
    // The first event holds one line or more.
    await eventually(() => sent(next.text()).includes('\n'))
    const shown = sent(next.text())
    expect(shown).toBe((await client.get(`${app}/logs?offset=${first}`)).body.data.slice(0, shown.length))
    next.leave()

    const minted = (await client.post('/v1/tokens', { name: 't', projects: ['logs'], permissions: ['exec'] })).body
    const wanted = { operation: 'getServiceLogs', service: 'app', query: { offset: '0' } }
    const ticket = await client.post(`${boxes}/host/tickets`, wanted, { token: minted.token })
    expect(ticket.body.url).toContain(service().dataUrl)
    const ticketed = await followEvents(ticket.body.url, {})
    await eventually(() => sent(ticketed.text()).startsWith('line 1\n'))
    await client.delete(`/v1/tokens/${minted.id}`)
    await eventually(() => ticketed.isOver())
    expect(ticketed.text()).toContain('"token_revoked"')

    const last = await followEvents(`${service().url}${app}/logs`, bearer())
    await client.delete(app)
    await eventually(() => last.isOver())
    expect(last.text()).toContain('"service_not_found"')
    await client.delete(`${boxes}/host`)
  })

  test('takes a ticket for that service, and redirects a function to the data address', async () => {
    await client.post(boxes, { name: 'host', config: { ram_mb: 64 } })
    await client.put(app, { command: ['sleep', '1000'] })
    for (const wanted of [{ operation: 'getServiceLogs' }, { operation: 'readFile', service: 'app' }]) {
      const { status, body } = await client.post(`${boxes}/host/tickets`, wanted)
      expect([status, body.errors[0].pointer]).toEqual([400, '/service'])
    }
    const headers = { ...bearer(), accept: 'text/event-stream', prefer: 'answer-bytes-max=1000' }
    const answer = await fetch(`${service().url}${app}/logs`, { headers, redirect: 'manual' })
    expect([answer.status, answer.headers.get('location')]).toEqual([307, expect.stringContaining(service().dataUrl)])
    expect((await fetch(`${service().url}/v1/projects/logs/boxes/host/services/no/logs`, { headers })).status).toBe(404)
    await client.delete(`${boxes}/host`)
  })
})
