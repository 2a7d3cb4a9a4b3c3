import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { eventually } from '../../helpers/eventually.ts'
import { createClient } from '../../helpers/front/client.ts'
import { startService, type TestService } from '../../helpers/service.ts'

describe('what boxes may read and write on the disk', () => {
  let service: TestService
  const boxes = '/v1/projects/disks/boxes'
  const client = createClient(
    () => service.url,
    () => service.adminToken,
  )
  const create = (name: string, config: object = {}) => client.post(boxes, { name, config: { ram_mb: 64, ...config } })
  const disk = ({ body }: { body: { config: Record<string, unknown> } }) => [
    body.config.disk_mbps,
    body.config.disk_iops,
  ]
  const pausedSeconds = async (): Promise<number> => {
    const text = await (await fetch(service.metricsUrl)).text()
    return Number(/^boxyard_boxes_paused_seconds_total (\S+)$/m.exec(text)?.[1])
  }
  const writes = (box: string) =>
    client.shell('disks', box, 'while :; do dd if=/dev/urandom of=/root/f bs=1M count=8 conv=fsync; done', {
      no_hup: true,
    })

  beforeAll(async () => {
    service = await startService({ settings: { BOXYARD_DISK_MBPS: '0', BOXYARD_DISK_IOPS: '0' } })
  })

  afterAll(() => service.close())

  test('has no bound by default, may get one, and changes at once', async () => {
    expect((await client.get('/v1/config')).body.defaults.config).toMatchObject({ disk_mbps: null, disk_iops: null })
    expect(disk(await create('web'))).toEqual([null, null])
    await client.put(`${boxes}/web`, { termination_grace_period_seconds: 0 })
    await writes('web')
    expect(await pausedSeconds()).toBe(0)
    expect(disk(await client.put(`${boxes}/web`, { config: { disk_mbps: 2 } }))).toEqual([2, null])
    await eventually(async () => (await pausedSeconds()) > 0)
    expect((await client.shell('disks', 'web', 'echo on')).body.stdout).toBe('on\n')
    expect((await client.post(`${boxes}/web/snapshots`, { name: 'meanwhile' })).status).toBe(201)
    expect(disk(await client.post(boxes, { name: 'fork', fork: 'web' }))).toEqual([2, null])
    expect(disk(await client.put(`${boxes}/web`, { config: { disk_mbps: null } }))).toEqual([null, null])
  })

  test('is bounded by the deployment, in boxes of before as well', async () => {
    await service.killAgent()
    await service.startAgent({ BOXYARD_DISK_MBPS: '5', BOXYARD_DISK_IOPS: '500' })
    expect((await client.get('/v1/config')).body.defaults.config).toMatchObject({ disk_mbps: 5, disk_iops: 500 })
    await eventually(async () => (await pausedSeconds()) > 0)
    expect(disk(await create('small'))).toEqual([5, 500])
    for (const [name, most] of [
      ['disk_mbps', 5],
      ['disk_iops', 500],
    ] as const) {
      const refused = [
        await create('large', { [name]: most + 1 }),
        await client.put(`${boxes}/small`, { config: { [name]: most + 1 } }),
      ]
      for (const { status, body } of refused) {
        const errors = [{ pointer: `/config/${name}`, detail: `must be at most ${most} in this deployment` }]
        expect([status, body.errors]).toEqual([400, errors])
      }
    }
    expect(disk(await client.put(`${boxes}/small`, { config: { disk_mbps: 1, disk_iops: 50 } }))).toEqual([1, 50])
    for (const box of ['web', 'fork', 'small']) expect((await client.delete(`${boxes}/${box}`)).status).toBe(204)
  })
})
