import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from '@jest/globals'
import { AgentLife, type OperationAnswer } from '../../helpers/imagined-host/life.ts'
import { createWorld, keptBytes, writeBytes } from '../../helpers/imagined-host/world.ts'

const PROJECT = '/v1/projects/old'
const directory = mkdtempSync(join(tmpdir(), 'boxyard-imagined-'))
afterEach(() => rmSync(directory, { recursive: true, force: true }))

test('a start gives everything that records know to its project, as after an upgrade from a version without accounts', async () => {
  const host = { world: createWorld(), dataDir: directory }
  const { world } = host
  const before = await AgentLife.begin(host, 1_764_000_000_000)
  const ask = async (method: string, path: string, body?: unknown): Promise<OperationAnswer | null> => {
    const answer = await before.ask(method, `${PROJECT}/${path}`, body)
    expect([path, answer?.status, answer?.body?.detail]).toEqual([path, expect.any(Number), undefined])
    return answer
  }
  await ask('POST', 'boxes', { name: 'box', config: { ram_mb: 64, storage_gb: 1 } })
  await ask('POST', 'data', { name: 'volume', size_gb: 1 })
  await ask('POST', 'data/volume/attach', { box: 'box', path: '/srv' })
  await ask('POST', 'boxes/box/snapshots', { name: 'first', include_data: true })
  await ask('POST', 'boxes/box/restore', { snapshot: 'first' })
  await ask('POST', 'data/volume/snapshots', { name: 'kept' })
  await ask('POST', 'data/volume/backups?wait_seconds=25')
  await ask('POST', 'bases', { name: 'own', box: 'box' })
  await ask('POST', 'bases', { name: 'shared', box: 'box', shared: true })
  await ask('PUT', 'boxes/box/services/app', { command: ['one'] })
  await ask('POST', 'boxes/box/services/app/deploy', { command: ['two'], isolation: 'fork' })
  await before.rest()
  const owners = new Map([...world.owners].filter(([name]) => world.pool.has(name)))
  // One of each kind: roots, volumes, snapshots with data, automatic snapshots, a backup's copy, bases, a preview's disk.
  expect([...owners.values()].filter((project) => project === 'old').length).toBeGreaterThanOrEqual(9)
  for (const [name, { isReadOnly }] of world.pool) if (!isReadOnly) writeBytes(world, name, 1000)
  await before.end()

  for (const name of world.owners.keys()) world.owners.set(name, null)
  expect(keptBytes(world, 'old')).toBe(0)
  const after = await AgentLife.begin(host, before.now)
  expect(new Map([...world.owners].filter(([name]) => owners.has(name)))).toEqual(owners)
  expect(keptBytes(world, 'old')).toBeGreaterThanOrEqual(3000)
  const { body } = (await after.ask('GET', `${PROJECT}/quota`)) as OperationAnswer
  expect(body.used.stored_bytes).toBe(keptBytes(world, 'old'))
  await after.end()
})
