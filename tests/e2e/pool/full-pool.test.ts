import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { eventually } from '../../helpers/eventually.ts'
import { type Answer, createClient } from '../../helpers/front/client.ts'
import { startService, type TestService } from '../../helpers/service.ts'

let service: TestService
let backup: string
const client = createClient(
  () => service.url,
  () => service.adminToken,
)
const project = '/v1/projects/full'
const [boxes, data] = [`${project}/boxes`, `${project}/data`]
const octets = { 'content-type': 'application/octet-stream' }
/** Requests to a full pool, each with the path of the resource that it creates. */
const acts: [what: string, where: string, act: () => Promise<Answer>][] = [
  ['fork', `${boxes}/fork`, () => client.post(boxes, { name: 'fork', fork: 'box' })],
  ['snapshot', `${boxes}/box/snapshots/new`, () => client.post(`${boxes}/box/snapshots`, dataSnapshot)],
  ['restore', `${boxes}/box`, () => client.post(`${boxes}/box/restore`, { snapshot: 'good', include_data: false })],
  ['base', `${project}/bases/new`, () => client.post(`${project}/bases`, { name: 'new', box: 'box' })],
  ['volume', `${data}/new`, () => client.post(data, { name: 'new', size_gb: 1 })],
  ['backup', `${data}/vol/backups`, () => client.post(`${data}/vol/backups`)],
  ['backup restore', `${data}/again`, () => client.post(`${data}/vol/backups/${backup}/restore`, { as: 'again' })],
  ['file', `${boxes}/box/files/stat?path=/f`, () => client.call('PUT', `${boxes}/box/files/write?path=/f`, largeFile)],
  ['attach', `${data}/spare`, () => client.post(`${data}/spare/attach`, { box: 'box', path: '/a/new/place' })],
]
const dataSnapshot = { name: 'new', include_data: true }
const largeFile = { raw: Buffer.alloc(2_000_000, 'some text'), headers: octets }

beforeAll(async () => {
  service = await startService({
    settings: { BOXYARD_POOL_GB: '0.3', BOXYARD_POOL_STEP_GB: '0', BOXYARD_POOL_RESERVE_PERCENT: '0' },
  })
  await client.post(boxes, { name: 'box', config: { ram_mb: 64 } })
  for (const name of ['vol', 'spare', 'filler']) await client.post(data, { name, size_gb: 1 })
  for (const name of ['vol', 'filler']) await client.post(`${data}/${name}/attach`, { box: 'box', path: `/${name}` })
  await shell('head -c 3000000 /dev/urandom > /vol/noise; echo good | tee /vol/file > /root/file; sync')
  await client.post(`${boxes}/box/snapshots`, { name: 'good', include_data: true })
  backup = (await client.post(`${data}/vol/backups`)).body.id
})

afterAll(async () => {
  await service.close()
})

test('a pool without room for data or names does each request whole or refuses it, and all of them once there is room', async () => {
  expect(await shell('dd if=/dev/urandom of=/filler/data bs=1M 2>&1')).toMatch(/No space left/)
  const text = 'x'.repeat(1_900)
  expect(
    await shell(`mkdir /filler/names; i=0; while echo ${text} > /filler/names/$i; do i=$((i+1)); done 2>&1 | tail -1`),
  ).toMatch(/No space left/)
  const done = new Set<string>()
  for (const [what, where, act] of acts) {
    const { status, body } = await act()
    const refusal = [what, status, body.code, body.detail]
    if (status >= 300) expect(refusal).toEqual([what, 507, 'storage_full', body.detail])
    if (status < 300) done.add(what)
    if (!/restore|attach|backup/.test(what) || what === 'backup restore')
      expect([what, (await client.get(where)).status]).toEqual([what, status < 300 ? 200 : 404])
  }
  expect(done.has('file')).toBe(false)
  expect(await shell('cat /vol/file; cat /root/file')).toBe('good\ngood\n')

  await client.delete(`${boxes}/box/snapshots/new`)
  await client.post(`${data}/filler/detach`, { box: 'box' })
  expect((await client.delete(`${data}/filler`)).status).toBe(204)
  // btrfs releases space some time after a delete.
  await eventually(async () => (await client.call('PUT', `${boxes}/box/files/write?path=/f`, largeFile)).status < 300)
  for (const path of [`${boxes}/fork`, `${project}/bases/new`, `${data}/new`, `${data}/again`])
    await client.delete(path)
  for (const [what, , act] of acts) {
    let answer = await act()
    for (let attempt = 0; answer.status === 507 && attempt < 800; attempt++) {
      await sleep(100)
      answer = await act()
    }
    expect([what, answer.status < 300, answer.body.code]).toEqual([what, true, undefined])
  }
  await eventually(async () => (await client.get('/v1/storage')).body.deleting === 0)
  expect((await client.get('/v1/storage')).body.orphans).toEqual([])
  expect((await client.get('/healthz')).body.errors).toEqual([])
})

async function shell(line: string): Promise<string> {
  const { stdout, stderr } = (await client.shell('full', 'box', line)).body
  return stdout + stderr
}
