import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { tarOf } from '../../helpers/bases/hostile-tar.ts'
import { eventually } from '../../helpers/eventually.ts'
import { type Answer, createClient } from '../../helpers/front/client.ts'
import { startService, type TestService } from '../../helpers/service.ts'

const MIB = 1024 ** 2
const GIB = 1024 ** 3
/** Quota of each project under test (307 MiB). */
const QUOTA_GB = 0.3
const CONFIG = { ram_mb: 64, storage_gb: 0.25 }

let service: TestService
const client = createClient(
  () => service.url,
  () => service.adminToken,
)
const at = (project: string, path: string): string => `/v1/projects/${project}/${path}`
const told = ({ status, body }: Answer): [number, string] => [status, body.code]

/** Creates a project with that quota and a running box `box`. */
async function begin(project: string): Promise<void> {
  await client.put(at(project, 'quota'), { allowed: { storage_gb: QUOTA_GB } })
  await box(project, 'box')
}

async function box(project: string, name: string): Promise<void> {
  const made = await client.post(at(project, 'boxes'), { name, config: CONFIG })
  expect([made.status, made.body.detail]).toEqual([201, undefined])
}

/** Writes a new incompressible file. Returns the output of the box. */
async function write(project: string, mib: number, name = 'box'): Promise<string> {
  const line = `dd if=/dev/urandom of=/root/$(date +%s%N) bs=1M count=${mib} 2>&1; sync`
  return (await client.shell(project, name, line)).body.stdout
}

const stored = async (project: string): Promise<number> =>
  (await client.get(at(project, 'quota'))).body.used.stored_bytes
const atMost = (storageGb: number): number => storageGb * GIB + MIB

beforeAll(async () => {
  const pool = { BOXYARD_POOL_GB: '1.25', BOXYARD_POOL_STEP_GB: '0', BOXYARD_POOL_RESERVE_PERCENT: '20' }
  service = await startService({ settings: pool })
})

afterAll(() => service.close())

/** Deletes the boxes and bases of a project. */
async function clear(project: string): Promise<void> {
  for (const kind of ['boxes', 'bases']) {
    const { body } = await client.get(at(project, kind))
    for (const { name } of body[kind]) await client.delete(at(project, `${kind}/${name}`))
  }
  await eventually(async () => (await stored(project)) < 8 * MIB)
}

describe('the quota of a project', () => {
  test('holds its bases, also when their boxes are gone, and names the way out', async () => {
    await begin('bases')
    expect(await write('bases', 120)).not.toContain('quota')
    expect((await client.post(at('bases', 'bases'), { name: 'one', box: 'box' })).status).toBe(201)
    await client.delete(at('bases', 'boxes/box'))
    await eventually(async () => (await client.get('/v1/storage')).body.deleting === 0)
    expect(await stored('bases')).toBeGreaterThan(120 * MIB)
    const { used } = (await client.get(at('bases', 'quota'))).body
    expect(used).toMatchObject({ boxes: 0, storage_gb: used.stored_bytes / GIB })
    await box('bases', 'box')
    expect(await write('bases', 220)).toContain('Disk quota exceeded')
    expect(await stored('bases')).toBeLessThanOrEqual(atMost(QUOTA_GB))
    const refused = await client.post(at('bases', 'bases'), { name: 'two', box: 'box' })
    expect(told(refused)).toEqual([403, 'quota_exceeded'])
    expect(refused.body.detail).toMatch(
      /keeps 0\.\d+ GiB in .*bases.*allows 0\.3 GiB.*Delete snapshots, bases.*raise its quota/,
    )
    for (const [path, body] of [
      ['boxes', { name: 'more', config: { ram_mb: 64, storage_gb: 0.01 } }],
      ['data', { name: 'more', size_gb: 0.01 }],
      ['boxes/box/snapshots', { name: 'more' }],
    ] as const)
      expect(told(await client.post(at('bases', path), body))).toEqual([403, 'quota_exceeded'])
    // Reads, deletes and running boxes still work.
    expect((await client.shell('bases', 'box', 'rm -f /root/*; echo went on')).body.stdout).toBe('went on\n')
    await client.delete(at('bases', 'bases/one'))
    await eventually(async () => !(await write('bases', 20)).includes('quota'))
    expect((await client.post(at('bases', 'bases'), { name: 'two', box: 'box' })).status).toBe(201)
    await clear('bases')
  })

  test('refuses an archive that does not fit, and leaves nothing of it', async () => {
    await client.put(at('archive', 'quota'), { allowed: { storage_gb: 0.05 } })
    const entry = { name: 'data', body: randomBytes(80 * MIB) }
    const refused = await client.call('POST', `${at('archive', 'bases')}?name=big`, {
      ...{ raw: tarOf([entry]), headers: { 'content-type': 'application/octet-stream' } },
    })
    expect(told(refused)).toEqual([403, 'quota_exceeded'])
    await eventually(async () => (await stored('archive')) < MIB)
  })

  test('holds everything that rounds of snapshot, write and restore leave, and the metrics of the box say so', async () => {
    await begin('rounds')
    let rounds = 0
    let last = ''
    while (rounds < 8 && !last.includes('Disk quota exceeded')) {
      await client.post(at('rounds', 'boxes/box/snapshots'), { name: `s${rounds}` })
      last = await write('rounds', 80)
      const restored = await client.post(at('rounds', 'boxes/box/restore'), { snapshot: `s${rounds}` })
      if (restored.status !== 200) {
        expect(told(restored)).toEqual([403, 'quota_exceeded'])
        break
      }
      rounds++
    }
    expect(rounds).toBeGreaterThanOrEqual(3)
    expect(last).toContain('Disk quota exceeded')
    const bytes = await stored('rounds')
    expect(bytes).toBeGreaterThan(240 * MIB)
    expect(bytes).toBeLessThanOrEqual(atMost(QUOTA_GB))
    await eventually(async () => {
      const { storage } = (await client.get(at('rounds', 'boxes/box/metrics'))).body
      const { projects } = (await client.get('/v1/storage')).body
      const listed = (await client.get('/v1/projects?prefix=rounds')).body.projects[0].used.stored_bytes
      const reported = projects.find(({ project }: { project: string }) => project === 'rounds').stored_bytes
      return new Set([storage.project_stored_bytes, listed, reported, await stored('rounds')]).size === 1
    })
    await clear('rounds')
  })

  test('holds what a fork keeps of its deleted source, over a restart', async () => {
    await begin('forks')
    await write('forks', 100)
    const fork = { name: 'fork', fork: 'box', config: { ram_mb: 64, storage_gb: 0.05 } }
    expect((await client.post(at('forks', 'boxes'), fork)).status).toBe(201)
    await client.delete(at('forks', 'boxes/box'))
    await eventually(async () => (await client.get('/v1/storage')).body.deleting === 0)
    await service.killAgent()
    await service.startAgent()
    expect(await stored('forks')).toBeGreaterThan(100 * MIB)
    await client.put(at('forks', 'quota'), { allowed: { storage_gb: 0.1 } })
    expect(await write('forks', 20, 'fork')).toContain('Disk quota exceeded')
    await clear('forks')
  })

  test('holds whoever writes at the same time', async () => {
    await begin('races')
    const names = ['a', 'b', 'c', 'd']
    const config = { ram_mb: 64, storage_gb: 0.05 }
    await client.put(at('races', 'boxes/box'), { config: { storage_gb: 0.05 } })
    await client.put(at('races', 'quota'), { allowed: { storage_gb: 0.3 } })
    await Promise.all(names.map((name) => client.post(at('races', 'boxes'), { name, config })))
    await client.put(at('races', 'quota'), { allowed: { storage_gb: 0.1 } })
    await Promise.all(names.map((name) => write('races', 45, name)))
    const bases = names.map((name) => client.post(at('races', 'bases'), { name: `base-${name}`, box: name }))
    for (const { status } of await Promise.all(bases)) expect([201, 403]).toContain(status)
    await Promise.all(names.map((name) => write('races', 45, name)))
    expect(await stored('races')).toBeLessThanOrEqual(atMost(0.1))
    await clear('races')
  })

  test('pays nothing for a base of all projects, though that was made of its box', async () => {
    await begin('given')
    await write('given', 60)
    const made = await client.post(at('given', 'bases'), { name: 'gift', box: 'box', shared: true })
    expect(made.status).toBe(201)
    await client.delete(at('given', 'boxes/box'))
    await eventually(async () => (await stored('given')) < MIB)
    const taken = await client.post(at('taker', 'boxes'), { name: 'box', base: 'gift', config: CONFIG })
    expect(taken.status).toBe(201)
    expect((await client.shell('taker', 'box', 'du -m /root | tail -1')).body.stdout).toMatch(/^6\d/)
    expect(await stored('taker')).toBeLessThan(8 * MIB)
    await clear('taker')
    await client.delete(`${at('given', 'bases/gift')}?shared=true`)
  })
})

test('a project that hoards bases leaves the last part of the pool to its neighbours', async () => {
  await box('neighbour', 'box')
  let refused: Answer | null = null
  for (let round = 0; round < 30 && refused === null; round++) {
    const made = await client.post(at('hoarder', 'boxes'), { name: `box-${round}`, config: CONFIG })
    if (made.status === 201) {
      await write('hoarder', 120, `box-${round}`)
      const base = await client.post(at('hoarder', 'bases'), { name: `base-${round}`, box: `box-${round}` })
      await client.delete(at('hoarder', `boxes/box-${round}`))
      if (base.status !== 201) refused = base
    } else refused = made
  }
  expect(refused && told(refused)).toEqual([507, 'storage_full'])
  expect(refused?.body.detail).toMatch(/project "hoarder" keeps .*nearly full.*Delete snapshots, bases/)
  expect(await write('neighbour', 60)).not.toContain('quota')
  expect((await client.post(at('neighbour', 'boxes/box/snapshots'), { name: 'kept' })).status).toBe(201)
  expect((await client.post(at('neighbour', 'boxes'), { name: 'more', config: CONFIG })).status).toBe(201)
})
