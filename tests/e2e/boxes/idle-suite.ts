import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { eventually } from '../../helpers/eventually.ts'
import type { Answer, Client } from '../../helpers/front/client.ts'

const PROJECT = 'idle'
const boxes = `/v1/projects/${PROJECT}/boxes`

/** Creates a box that stops after a second without use. */
export async function createIdleBox(client: Client, name: string): Promise<void> {
  await client.post(boxes, { name })
  await client.put(`${boxes}/${name}`, { url_settings: { idle_stop_seconds: 1 }, termination_grace_period_seconds: 0 })
}

/** Defines the tests of idle stops for any front. `client` holds the admin token. */
export function defineIdleSuite(client: Client): void {
  const box = async (name: string) => (await client.get(`${boxes}/${name}`)).body
  const stops = (name: string): Promise<Answer> =>
    client.until(`${boxes}/${name}`, ({ body }) => body.status === 'stopped')
  const lease = (name: string, body: unknown): Promise<Answer> => client.post(`${boxes}/${name}/lease`, body)
  /** Checks that `names` keep running while an idle box stops twice. */
  const passWith = async (...names: string[]): Promise<void> => {
    for (let times = 0; times < 2; times++) {
      expect((await client.post(`${boxes}/control/resume`)).body.status).toBe('running')
      await stops('control')
    }
    for (const name of names) expect([name, (await box(name)).status]).toEqual([name, 'running'])
  }

  describe('a box with idle stop', () => {
    beforeAll(async () => {
      await createIdleBox(client, 'control')
    })
    afterAll(async () => {
      for (const name of ['control', 'leased', 'busy', 'held', 'served', 'plain'])
        await client.delete(`${boxes}/${name}`)
    })

    test('stops with the reason, and can be resumed', async () => {
      await stops('control')
      expect((await box('control')).state).toMatchObject({
        reason: 'idle',
        message: 'Stopped after 1 s without use (url_settings.idle_stop_seconds).',
      })
      const resumed = await client.post(`${boxes}/control/resume`)
      expect([resumed.status, resumed.body.status, resumed.body.state.message]).toEqual([200, 'running', null])
      const asked = await client.post(`${boxes}/control/stop`)
      expect(asked.body.state.reason).toBe('stopped_by_request')
      await client.post(`${boxes}/control/resume`)
      await stops('control')
      expect((await box('control')).state.reason).toBe('idle')
    })

    test('runs on while it is leased or runs a command, attached or detached, and without the setting', async () => {
      for (const name of ['leased', 'busy', 'held', 'plain']) await client.post(boxes, { name })
      const asked = Date.now()
      const leased = await lease('leased', { seconds: 600 })
      const end = Date.parse(leased.body.lease_until)
      expect(leased.status).toBe(200)
      expect(end).toBeGreaterThan(asked + 590_000)
      expect(end).toBeLessThan(Date.now() + 610_000)
      expect((await lease('leased', { seconds: 5 })).body.lease_until).toBe(leased.body.lease_until)
      const waited = client.shell(PROJECT, 'busy', 'until [ -e /tmp/end ]; do sleep 0.2; done', {})
      const { id } = (await client.shell(PROJECT, 'held', 'sleep 600', { no_hup: true })).body
      for (const name of ['leased', 'busy', 'held']) await createIdleBox(client, name)
      await passWith('leased', 'busy', 'held', 'plain')
      expect((await lease('leased', { seconds: 0 })).body.lease_until).toBeNull()
      await client.shell(PROJECT, 'busy', 'touch /tmp/end')
      expect((await waited).body.exit_code).toBe(0)
      await client.post(`${boxes}/held/exec/${id}/signal`, { signal: 'SIGKILL' })
      for (const name of ['leased', 'busy', 'held']) await stops(name)
    })

    test('stops in spite of running services, which start again with it', async () => {
      await client.post(boxes, { name: 'served' })
      const service = `${boxes}/served/services/web`
      expect((await client.put(service, { command: ['/bin/sleep', '600'] })).body.state).toBe('running')
      await createIdleBox(client, 'served')
      await stops('served')
      await client.put(`${boxes}/served`, { url_settings: { idle_stop_seconds: null } })
      await client.post(`${boxes}/served/resume`)
      await eventually(async () => (await client.get(service)).body.state === 'running')
    })

    test('refuses invalid times and leases', async () => {
      const told = ({ status, body }: Answer) => [status, body.code, body.errors?.[0].pointer]
      for (const seconds of [-1, 1.5, 604_801, null, '60'])
        expect(told(await lease('control', { seconds }))).toEqual([400, 'invalid_request', '/seconds'])
      const zero = await client.put(`${boxes}/control`, { url_settings: { idle_stop_seconds: 0 } })
      expect(told(zero)).toEqual([400, 'invalid_request', '/url_settings/idle_stop_seconds'])
      expect(told(await lease('nobody', { seconds: 1 })).slice(0, 2)).toEqual([404, 'box_not_found'])
    })

    test('refuses a lease with a stale ETag', async () => {
      const { headers } = await client.get(`${boxes}/control`)
      const condition = { headers: { 'if-match': String(headers['etag']) } }
      const leased = await client.post(`${boxes}/control/lease`, { seconds: 1 }, condition)
      expect([leased.status, leased.headers['etag'] === headers['etag']]).toEqual([200, false])
      const stale = await client.post(`${boxes}/control/lease`, { seconds: 2 }, condition)
      expect([stale.status, stale.body.code]).toEqual([412, 'precondition_failed'])
    })
  })
}
