import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { eventually } from '../../helpers/eventually.ts'
import { createClient } from '../../helpers/front/client.ts'
import { startService, type TestService } from '../../helpers/service.ts'

let service: TestService
const client = createClient(
  () => service.url,
  () => service.adminToken,
)
const boxes = '/v1/projects/full/boxes'
const data = '/v1/projects/full/data'

beforeAll(async () => {
  service = await startService({
    settings: { BOXYARD_POOL_GB: '0.5', BOXYARD_POOL_STEP_GB: '0', BOXYARD_POOL_RESERVE_PERCENT: '0' },
  })
})

afterAll(async () => {
  await service.close()
})

async function shell(line: string): Promise<string> {
  const { stdout, stderr } = (await client.shell('full', 'box', line)).body
  return stdout + stderr
}

test('a full pool refuses snapshots, copies and restores of volumes whole, or makes them whole, and deletes make room', async () => {
  await client.post(boxes, { name: 'box', config: { storage_gb: 1 } })
  for (const name of ['vol', 'spare']) await client.post(data, { name, size_gb: 5 })
  await client.post(`${data}/vol/attach`, { box: 'box', path: '/vol' })
  await shell('echo good > /vol/file; sync')
  expect((await client.post(`${data}/vol/snapshots`, { name: 'good' })).status).toBe(201)
  await shell('echo later > /vol/file; sync')
  expect(await shell('dd if=/dev/urandom of=/vol/fill bs=1M count=1000 2>&1')).toMatch(/No space left/)

  const made = await client.post(`${data}/vol/snapshots`, { name: 'full' })
  const copied = await client.post(data, { name: 'copy', from: 'vol', from_snapshot: 'good' })
  const restored = await client.post(`${data}/vol/restore`, { snapshot: 'good' })
  for (const { status, body } of [made, copied, restored])
    expect(status < 300 || [status, body.code].join() === '507,storage_full').toBe(true)
  expect(await shell('cat /vol/file')).toBe(restored.status === 200 ? 'good\n' : 'later\n')
  const names = async (): Promise<string[]> =>
    (await client.get(`${data}/vol/snapshots`)).body.snapshots.map(({ name }: { name: string }) => name)
  expect(await names()).toEqual([
    'good',
    ...(made.status === 201 ? ['full'] : []),
    ...(restored.status === 200 ? ['v0'] : []),
  ])

  // The snapshots share the blocks that fill the pool, so they go first.
  for (const name of (await names()).filter((each) => each !== 'good'))
    expect((await client.delete(`${data}/vol/snapshots/${name}`)).status).toBe(204)
  await shell('rm -f /vol/fill; sync')
  // btrfs frees empty block groups when a subvolume is deleted, otherwise only every 30 s.
  expect((await client.delete(`${data}/spare`)).status).toBe(204)
  const wrote = async (): Promise<boolean> => (await shell('echo on > /vol/on && cat /vol/on')) === 'on\n'
  await eventually(wrote, 100)
  expect(await shell('cat /vol/on')).toBe('on\n')
  expect((await client.post(`${data}/vol/restore`, { snapshot: 'good' })).status).toBe(200)
  expect(await shell('cat /vol/file')).toBe('good\n')
  const { body: health } = await client.get('/healthz')
  expect(health.errors).toEqual([])
})
