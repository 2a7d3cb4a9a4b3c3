import { describe, expect, test } from '@jest/globals'
import { SLOW_SERVER } from '../../helpers/edge/slow-server.ts'
import { askUrl } from '../../helpers/edge/url-client.ts'
import { connectTerminal } from '../../helpers/exec/terminal.ts'
import type { Answer } from '../../helpers/front/client.ts'
import { useOwnService } from '../../helpers/own-service.ts'
import { createIdleBox, defineIdleSuite } from './idle-suite.ts'

const { client, service } = useOwnService()
const boxes = '/v1/projects/idle/boxes'
const statusOf = async (name: string): Promise<string> => (await client.get(`${boxes}/${name}`)).body.status
const becomes = (name: string, status: string): Promise<Answer> =>
  client.until(`${boxes}/${name}`, ({ body }) => body.status === status)

describe('through the standalone front', () => {
  defineIdleSuite(client)

  test('a console with a client and an open request keep a box awake, and a request for a stopped box wakes it', async () => {
    for (const name of ['watched', 'visited']) await client.post(boxes, { name })
    const console = `${service().url}${boxes}/watched/console?session=it`
    const terminal = await connectTerminal(console, { token: service().adminToken })
    const box = `${boxes}/visited`
    const web = { command: ['/bin/sh', '-c', SLOW_SERVER], port: 8080, readiness: { tcp: true } }
    expect((await client.put(`${box}/services/web`, web)).body.state).toBe('running')
    const { url } = (await client.put(box, { url_settings: { auth: 'public', wake: true } })).body
    const answer = askUrl(`${url}cgi-bin/slow`)
    for (const name of ['watched', 'visited', 'other']) await createIdleBox(client, name)
    await becomes('other', 'stopped')
    expect([await statusOf('watched'), await statusOf('visited')]).toEqual(['running', 'running'])
    terminal.leave()
    await client.shell('idle', 'visited', 'touch /tmp/end')
    expect(await answer).toMatchObject({ status: 200, text: 'slow\n' })
    for (const name of ['watched', 'visited']) await becomes(name, 'stopped')
    expect(await askUrl(url)).toMatchObject({ status: 200, text: 'quick\n' })
    await becomes('visited', 'stopped')
  })

  test('a lease and a running command keep boxes awake across a crash of the agent', async () => {
    for (const name of ['leased-on', 'held-on']) await client.post(boxes, { name })
    await client.post(`${boxes}/leased-on/lease`, { seconds: 600 })
    await client.shell('idle', 'held-on', 'sleep 600', { no_hup: true })
    for (const name of ['leased-on', 'held-on']) await createIdleBox(client, name)
    await client.post(`${boxes}/other/resume`)
    await service().killAgent()
    await service().startAgent()
    await becomes('other', 'stopped')
    expect([await statusOf('leased-on'), await statusOf('held-on')]).toEqual(['running', 'running'])
  })
})
