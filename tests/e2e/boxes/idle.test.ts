import { describe, expect, test } from '@jest/globals'
import { askUrl } from '../../helpers/edge/url-client.ts'
import { eventually } from '../../helpers/eventually.ts'
import { openTerminal } from '../../helpers/exec/terminal.ts'
import { useOwnService } from '../../helpers/own-service.ts'
import { createIdleBox, defineIdleSuite } from './idle-suite.ts'

const { client, service } = useOwnService()
const boxes = '/v1/projects/idle/boxes'
const statusOf = async (name: string): Promise<string> => (await client.get(`${boxes}/${name}`)).body.status

describe('through the standalone front', () => {
  defineIdleSuite(client)

  test('a client at a console keeps a box awake, a console that was left does not', async () => {
    await client.post(boxes, { name: 'watched' })
    const url = `${service().url}${boxes}/watched/console?session=it`
    const terminal = await openTerminal(url, { token: service().adminToken })
    await createIdleBox(client, 'watched')
    await createIdleBox(client, 'other')
    await eventually(async () => (await statusOf('other')) === 'stopped')
    expect(await statusOf('watched')).toBe('running')
    terminal.leave()
    await eventually(async () => (await statusOf('watched')) === 'stopped')
  })

  test('a request that is open keeps a box awake, and one for a box that sleeps wakes it', async () => {
    const box = `${boxes}/visited`
    await client.post(boxes, { name: 'visited' })
    const web = { command: ['/bin/sh', '-c', SLOW_SERVER], port: 8080, readiness: { tcp: true } }
    expect((await client.put(`${box}/services/web`, web)).body.state).toBe('running')
    const { url } = (await client.put(box, { url_settings: { auth: 'public', wake: true } })).body
    const answer = askUrl(`${url}cgi-bin/slow`)
    await createIdleBox(client, 'visited')
    await client.post(`${boxes}/other/resume`)
    await eventually(async () => (await statusOf('other')) === 'stopped')
    expect(await statusOf('visited')).toBe('running')
    await client.shell('idle', 'visited', 'touch /tmp/end')
    expect(await answer).toMatchObject({ status: 200, text: 'slow\n' })
    await eventually(async () => (await statusOf('visited')) === 'stopped')
    expect(await askUrl(url)).toMatchObject({ status: 200, text: 'quick\n' })
    await eventually(async () => (await statusOf('visited')) === 'stopped')
  })

  test('a lease, and a command that goes on, keep boxes awake over a crash of the agent', async () => {
    for (const name of ['leased-on', 'held-on']) await client.post(boxes, { name })
    await client.post(`${boxes}/leased-on/lease`, { seconds: 600 })
    await client.shell('idle', 'held-on', 'sleep 600', { no_hup: true })
    for (const name of ['leased-on', 'held-on']) await createIdleBox(client, name)
    await client.post(`${boxes}/other/resume`)
    await service().killAgent()
    await service().startAgent()
    await eventually(async () => (await statusOf('other')) === 'stopped')
    expect([await statusOf('leased-on'), await statusOf('held-on')]).toEqual(['running', 'running'])
  })
})

// Answers /cgi-bin/slow once it is told to.
const SLOW_SERVER = `mkdir -p /srv/cgi-bin
echo quick > /srv/index.html
cat > /srv/cgi-bin/slow <<'END'
#!/bin/sh
until [ -e /tmp/end ]; do sleep 0.1; done
printf 'Content-Type: text/plain\\r\\n\\r\\n'
echo slow
END
chmod +x /srv/cgi-bin/slow
exec httpd -f -p 8080 -h /srv`
