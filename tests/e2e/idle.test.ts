import { describe, expect, test } from '@jest/globals'
import { eventually } from '../helpers/eventually.ts'
import { useOwnService } from '../helpers/own-service.ts'
import { openTerminal } from '../helpers/terminal.ts'
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
