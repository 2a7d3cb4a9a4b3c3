import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { eventually } from '../../helpers/eventually.ts'
import { createClient } from '../../helpers/front/client.ts'
import { startService, type TestService } from '../../helpers/service.ts'

let service: TestService
const client = createClient(
  () => service.url,
  () => service.adminToken,
)
const boxes = (project: string): string => `/v1/projects/${project}/boxes`

beforeAll(async () => {
  const settings = {
    ...{ BOXYARD_POOL_GB: '1.5', BOXYARD_POOL_STEP_GB: '0', BOXYARD_POOL_RESERVE_PERCENT: '20' },
    BOXYARD_DEFAULT_QUOTA: 'boxes=2,storage_gb=20',
  }
  service = await startService({ settings })
  for (const project of ['hog', 'small'])
    expect((await client.post(boxes(project), { name: 'box', config: { ram_mb: 64 } })).status).toBe(201)
})

afterAll(() => service.close())

const shell = async (project: string, line: string): Promise<string> => {
  const { body } = await client.shell(project, 'box', line)
  return body.stdout + body.stderr
}
/** Fills the pool with at most 2 GB of incompressible data. */
const FILL =
  'i=0; while [ $i -lt 100 ] && dd if=/dev/urandom of=/root/data-$i bs=1M count=20 2>/dev/shm/why; do i=$((i+1)); done; cat /dev/shm/why'

test('a project that fills the pool is stopped before the others are, in data and in names', async () => {
  expect(await shell('hog', FILL)).toMatch(/Disk quota exceeded/)
  const name = 'x'.repeat(200)
  expect(await shell('hog', `i=0; while [ $i -lt 90000 ] && >/root/${name}$i; do i=$((i+1)); done`)).toMatch(
    /Disk quota exceeded/,
  )
  // The other projects still create, write and copy. 40 MB are a fifth of the space reserved for them.
  expect(await shell('small', 'dd if=/dev/urandom of=/root/data bs=1M count=40 2>&1 && sync && echo done')).toMatch(
    /done$/m,
  )
  expect((await client.post(boxes('small'), { name: 'fork', fork: 'box', config: { ram_mb: 64 } })).status).toBe(201)
  expect((await client.post(`${boxes('small')}/box/snapshots`, { name: 'kept' })).status).toBe(201)
})

test('it goes on once there is room', async () => {
  await shell('hog', 'rm -f /root/data-*; find /root -name "x*" -delete; sync')
  await eventually(async () =>
    /done/.test(await shell('hog', 'dd if=/dev/urandom of=/root/new bs=1M count=60 && echo done')),
  )
})

test('a project whose quota was never set has that of the deployment', async () => {
  const bounds = { boxes: 2, cpus: null, ram_mb: null, storage_gb: 20 }
  expect((await client.get('/v1/projects/small/quota')).body.allowed).toEqual(bounds)
  expect((await client.get('/v1/config')).body.defaults.quota).toEqual(bounds)
  const { status, body } = await client.post(boxes('small'), { name: 'third' })
  expect([status, body.code]).toEqual([403, 'quota_exceeded'])
  await client.put('/v1/projects/small/quota', { allowed: { boxes: 3, storage_gb: null } })
  expect((await client.post(boxes('small'), { name: 'third', config: { ram_mb: 64 } })).status).toBe(201)
  expect((await client.get('/v1/projects/small/quota')).body.allowed).toEqual({ ...bounds, boxes: 3, storage_gb: null })
})
