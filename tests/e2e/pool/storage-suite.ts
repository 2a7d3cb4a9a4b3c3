import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { Client } from '../../helpers/front/client.ts'

/** Defines the tests of the storage report for any front, with `client` as for the other suites. */
export function defineStorageSuite(client: Client): void {
  const boxes = '/v1/projects/space/boxes'
  const data = '/v1/projects/space/data'
  const KIB = 1024
  const shell = async (line: string): Promise<void> => {
    expect((await client.shell('space', 'filled', `${line}; sync`)).body).toMatchObject({ exit_code: 0 })
  }
  const mine = async () => {
    const { status, body } = await client.get('/v1/storage')
    expect(status).toBe(200)
    const isMine = ({ project }: { project: string }): boolean => project === 'space'
    return { body, boxes: body.boxes.filter(isMine), volumes: body.volumes.filter(isMine) }
  }

  describe('the report of the storage', () => {
    beforeAll(async () => {
      await client.post(boxes, { name: 'filled', config: { ram_mb: 64 } })
      await client.post(data, { name: 'disk', size_gb: 0.25 })
      await client.post(`${data}/disk/attach`, { box: 'filled', path: '/disk' })
    })

    afterAll(async () => {
      await client.delete(`${boxes}/filled`)
      await client.delete(`${data}/disk`)
    })

    test('shows the size of each resource and what deleting it would free', async () => {
      await shell('head -c 262144 /dev/urandom > /kept; head -c 131072 /dev/urandom > /disk/own')
      await client.post(`${boxes}/filled/snapshots`, { name: 'first' })
      const shared = await mine()
      const [before] = shared.boxes
      expect(before).toMatchObject({ name: 'filled', snapshots: [{ name: 'first', size_bytes: before.size_bytes }] })
      expect(before.size_bytes).toBeGreaterThanOrEqual(256 * KIB)
      expect(before.unique_bytes).toBeLessThan(64 * KIB)
      expect(shared.volumes).toEqual([
        { project: 'space', name: 'disk', size_bytes: 128 * KIB, unique_bytes: 128 * KIB, snapshots: [] },
      ])
      const { pool, bases, orphans } = shared.body
      expect(pool.used_bytes).toBeGreaterThanOrEqual(pool.data.used_bytes)
      expect(pool.device_errors).toEqual({ writes: 0, reads: 0, flushes: 0, corruptions: 0, generations: 0 })
      expect(bases.map(({ name }: { name: string }) => name)).toContain('busybox')
      expect(orphans).toEqual([])

      await shell('rm /kept')
      const [after] = (await mine()).boxes
      expect(after.snapshots[0].unique_bytes).toBe(before.snapshots[0].unique_bytes + 256 * KIB)
      expect(after.size_bytes).toBeLessThanOrEqual(before.size_bytes - 256 * KIB)
      await client.delete(`${boxes}/filled/snapshots/first`)
      expect((await mine()).boxes[0].snapshots).toEqual([])
    })

    test('is only for admin tokens, and shows each its own projects', async () => {
      const mint = async (project: string, permission: string): Promise<{ token: string }> => {
        const wish = { name: `space-${permission}`, projects: [project], permissions: [permission] }
        const { body } = await client.post('/v1/tokens', { ...wish, expires_in_seconds: 600 })
        return { token: body.token }
      }
      const reader = await mint('space', 'read')
      expect(await client.get('/v1/storage', reader)).toMatchObject({
        status: 403,
        body: { code: 'permission_denied' },
      })
      expect(await client.post('/v1/storage/scrub', undefined, reader)).toMatchObject({ status: 403 })
      const elsewhere = (await client.get('/v1/storage', await mint('elsewhere', 'admin'))).body
      expect(elsewhere).toMatchObject({ boxes: [], volumes: [], projects: [] })
    })

    test('shows what projects share only to tokens of all projects', async () => {
      const body = { name: 'tenant', projects: ['space'], permissions: ['read', 'admin'], expires_in_seconds: 600 }
      const tenant = { token: (await client.post('/v1/tokens', body)).body.token }
      expect((await client.get('/v1/storage', tenant)).body).toMatchObject({
        ...{ pool: null, orphans: [], deleting: null, scrub: null },
        boxes: [{ project: 'space', name: 'filled' }],
        projects: [{ project: 'space', stored_bytes: expect.any(Number) }],
      })
      const denied = { status: 403, body: { code: 'permission_denied' } }
      expect(await client.post('/v1/storage/scrub', undefined, tenant)).toMatchObject(denied)
      const quota = '/v1/projects/space/quota'
      expect(await client.put(quota, { allowed: { boxes: 1000 } }, tenant)).toMatchObject(denied)
      expect((await client.get(quota, tenant)).body.allowed.boxes).toBeNull()
      const health = (await client.get('/healthz', tenant)).body
      expect(health.host).toMatchObject({ storage_mounts: [] })
      expect([health.boxes, health.host.storage]).toEqual([undefined, undefined])
      expect((await client.get('/healthz')).body.host.storage_mounts).toHaveLength(1)
    })

    test('shows a scrub in progress', async () => {
      const started = await client.post('/v1/storage/scrub')
      expect(started.status).toBe(202)
      const ended = async () => {
        for (;;) {
          const { scrub } = (await client.get('/v1/storage')).body
          if (scrub.status !== 'running') return scrub
        }
      }
      const scrub = await ended()
      expect(scrub).toMatchObject({ status: 'done', errors: 0, started_at: started.body.started_at })
      expect(scrub.checked_bytes).toBeGreaterThan(128 * KIB)
    })
  })
}
