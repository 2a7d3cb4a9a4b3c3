import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { eventually } from '../../helpers/eventually.ts'
import { type Answer, createClient } from '../../helpers/front/client.ts'
import { openSmallDisk, type SmallDisk } from '../../helpers/pool/small-disk.ts'
import { startService, type TestService } from '../../helpers/service.ts'

let disk: SmallDisk
let service: TestService
const client = createClient(
  () => service.url,
  () => service.adminToken,
)
const project = '/v1/projects/small'
const [boxes, data] = [`${project}/boxes`, `${project}/data`]
const octets = { 'content-type': 'application/octet-stream' }
const acts: [string, () => Promise<Answer>][] = [
  ['box', () => client.post(boxes, { name: 'new', config: { ram_mb: 64 } })],
  ['fork', () => client.post(boxes, { name: 'fork', fork: 'box' })],
  ['box snapshot', () => client.post(`${boxes}/box/snapshots`, { name: 'new', include_data: true })],
  ['box restore', () => client.post(`${boxes}/box/restore`, { snapshot: 'good' })],
  ['volume', () => client.post(data, { name: 'new', size_gb: 1 })],
  ['volume snapshot', () => client.post(`${data}/vol/snapshots`, { name: 'new' })],
  ['volume restore', () => client.post(`${data}/vol/restore`, { snapshot: 'good' })],
  ['base', () => client.post(`${project}/bases`, { name: 'new', box: 'box' })],
  ['backup', () => client.post(`${data}/vol/backups`)],
  ['file', () => client.call('PUT', `${boxes}/box/files/write?path=/f`, { raw: 'new', headers: octets })],
]

beforeAll(async () => {
  disk = openSmallDisk({ imageMegabytes: 512, diskMegabytes: 200 })
  const settings = { BOXYARD_HOST_RESERVE_GB: '0', BOXYARD_POOL_STEP_GB: '0' }
  service = await startService({ settings, prepare: (dataDir) => disk.link(dataDir) })
  await client.post(boxes, { name: 'box', config: { ram_mb: 64 } })
  await client.post(data, { name: 'vol', size_gb: 1 })
  await client.post(`${data}/vol/attach`, { box: 'box', path: '/vol' })
  await shell('echo good > /vol/file')
  await client.post(`${boxes}/box/snapshots`, { name: 'good', include_data: true })
  await client.post(`${data}/vol/snapshots`, { name: 'good' })
  await shell('sync')
})

afterAll(async () => {
  try {
    await service.close()
  } finally {
    disk.close()
  }
})

test('a pool on a nearly full disk is reported, takes no writes of the agent, and goes on once there is room', async () => {
  expect(await codes()).toEqual(['pool_not_backed'])
  disk.leave(40)
  for (const [what, act] of acts) {
    const { status, body } = await act()
    expect([what, status, body.code]).toEqual([what, 507, 'storage_full'])
  }
  // The subvolume stays until later, because a delete needs to write.
  expect((await client.delete(`${data}/vol/snapshots/good`)).status).toBe(204)
  expect(await codes()).not.toContain('pool_read_only')
  expect(await shell('cat /vol/file')).toBe('good\n')

  disk.leave(150)
  expect((await client.post(`${data}/vol/snapshots`, { name: 'good' })).status).toBe(201)
  for (const [what, act] of acts) {
    const { status } = await act()
    expect([what, status < 300]).toEqual([what, true])
  }
})

test('a box that fills the disk below makes the pool read-only, and no acknowledged data is lost', async () => {
  await shell('echo kept > /vol/file; sync')
  disk.leave(0)
  await shell('dd if=/dev/urandom of=/vol/fill bs=1M count=100; sync')
  await shell('touch /vol/other; sync')
  expect(await codes()).toEqual(expect.arrayContaining(['pool_read_only', 'pool_not_backed']))
  const refused = await client.post(boxes, { name: 'late' })
  expect([refused.status, refused.body.code]).toEqual([500, 'internal'])
  expect((await client.get(`${boxes}/box/files/read?path=/vol/file&snapshot=good`)).text).toBe('good\n')

  disk.leave(150)
  await service.killAgent('SIGTERM')
  await service.runAgentMode('down')
  await service.startAgent()
  expect(await codes()).toEqual(['pool_not_backed'])
  await client.until(`${boxes}/box`, ({ body }) => body.status === 'running')
  expect(await shell('cat /vol/file')).toBe('kept\n')
  expect((await client.post(`${boxes}/box/restore`, { snapshot: 'good' })).status).toBe(200)
  expect(await shell('cat /vol/file')).toBe('good\n')
})

test('once the disk has room the image allocates all its blocks, and health is good', async () => {
  disk.leave(600)
  await eventually(async () => (await codes()).length === 0)
})

async function codes(): Promise<string[]> {
  const all: string[] = (await client.get('/healthz')).body.problems.map(({ code }: { code: string }) => code)
  // The error count remains until a scrub if btrfs wrote it to disk in time.
  return all.filter((code) => code !== 'storage_errors')
}

async function shell(line: string): Promise<string> {
  const { stdout, stderr } = (await client.shell('small', 'box', line)).body
  return stdout + stderr
}
