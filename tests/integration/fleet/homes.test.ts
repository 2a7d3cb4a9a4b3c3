import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { publishHomes, releaseLost } from '../../../agent/core/fleet/homes.ts'
import { ServiceError } from '../../../shared/errors.ts'
import { CALLER } from '../../helpers/caller.ts'
import { eventually } from '../../helpers/eventually.ts'
import { createHomeTable, createTableDirectory, type HomeTable } from '../../helpers/fleet/table-directory.ts'
import { openVolumeService, type VolumeService, type VolumeWorld } from '../../helpers/volumes/service.ts'

const CARD = { createdAt: 0, base: null, forkOf: null, port: null, config: null, storageGb: 1 }
const HOW = { waitMs: 5_000, ifMatch: null, idempotencyKey: null }
const WEB = 'box demo/web'
const DATA = 'volume demo/pg'

let folder: string
let table: HomeTable
let here: VolumeService
let there: VolumeService

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'boxyard-homes-'))
  table = createHomeTable()
  here = await openCell('aa')
  there = await openCell('bb')
})

afterEach(async () => {
  await here.close()
  await there.close()
  rmSync(folder, { recursive: true, force: true })
})

/** Opens a cell with its data directory, as a starting agent does. */
async function openCell(cell: string, world?: VolumeWorld): Promise<VolumeService> {
  const dataDir = join(folder, cell)
  mkdirSync(dataDir, { recursive: true })
  const homes = createTableDirectory(table, cell)
  const opened = openVolumeService(() => Math.random() * 4, {
    dataDir,
    homes,
    ...(world === undefined ? {} : { world }),
  })
  if (world === undefined) await opened.addBase()
  else await opened.reconciler.recover()
  return opened
}

const createBox = ({ boxes }: VolumeService, name = 'web', idempotencyKey: string | null = null) =>
  boxes.create(CALLER, { project: 'demo', body: { name } }, { ...HOW, idempotencyKey })
const createVolume = ({ volumes }: VolumeService, name = 'pg') =>
  volumes.create(CALLER, { project: 'demo', body: { name } }, HOW)
const removeBox = ({ boxes }: VolumeService, name = 'web') => boxes.remove({ project: 'demo', name }, HOW)

/** Waits until a cell has cleaned up after failures and deletions. */
async function untilClean({ store }: VolumeService): Promise<void> {
  await eventually(async () => (await store.tombstones.all()).length === 0)
}

const codeOf = (error: unknown): string => (error instanceof ServiceError ? error.code : String(error))

describe('a name', () => {
  test('is claimed with its box or volume, and given up with it', async () => {
    const { record } = await createBox(here, 'web', 'once')
    expect(table.homes.get(WEB)).toMatchObject({
      uid: record.id,
      cell: 'aa',
      createdBy: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
    const { record: volume } = await createVolume(there)
    expect(table.homes.get(DATA)).toMatchObject({ uid: volume.id, cell: 'bb', createdBy: null })
    await removeBox(here)
    expect(table.homes.has(WEB)).toBe(false)
    await there.volumes.remove({ project: 'demo', name: 'pg' }, HOW)
    expect(table.homes.has(DATA)).toBe(false)
    await untilClean(here)
    await untilClean(there)
  })

  test('is free once its create was refused after the claim, also while that is still being destroyed', async () => {
    await createVolume(here)
    const mounted = (name: string) => {
      const body = { name, data_mounts: [{ name: 'pg', path: '/pg' }] }
      return here.boxes.create(CALLER, { project: 'demo', body }, HOW)
    }
    await mounted('writer')
    await expect(mounted('web')).rejects.toMatchObject({ code: 'volume_in_use' })
    expect(table.homes.has(WEB)).toBe(false)
    await createBox(there)
    await untilClean(here)
    expect(table.homes.get(WEB)?.cell).toBe('bb')
  })

  test('has one owner, however many ask for it at once at several cells', async () => {
    for (let round = 0; round < 20; round++) {
      const cells = [here, there, here, there]
      const outcomes = await Promise.allSettled(cells.map((cell) => createBox(cell)))
      const made = outcomes.filter(({ status }) => status === 'fulfilled')
      expect(made).toHaveLength(1)
      for (const each of outcomes) if (each.status === 'rejected') expect(codeOf(each.reason)).toBe('name_taken')
      const owner = table.homes.get(WEB)?.cell === 'aa' ? here : there
      const other = owner === here ? there : here
      expect((await owner.store.boxes.get('demo', 'web'))?.id).toBe(table.homes.get(WEB)?.uid)
      expect(await other.store.boxes.get('demo', 'web')).toBeNull()
      await untilClean(other)
      expect([...other.world.pool.keys()]).toEqual(['bas_a'])
      await removeBox(owner)
      // The name is free at once, for any cell.
      await createBox(other)
      await removeBox(other)
      await untilClean(other)
      await untilClean(owner)
    }
    expect(table.homes.size).toBe(0)
  })
})

describe('while the directory is away', () => {
  test('creates are refused and leave nothing; what is there goes on', async () => {
    await createBox(here, 'old')
    table.fault = 'away'
    await expect(createBox(here)).rejects.toMatchObject({ code: 'runtime_unavailable' })
    await expect(createVolume(here)).rejects.toMatchObject({ code: 'runtime_unavailable' })
    expect(await here.store.boxes.get('demo', 'web')).toBeNull()
    await here.boxes.stop({ project: 'demo', name: 'old' }, HOW)
    await here.boxes.resume({ project: 'demo', name: 'old' }, HOW)
    table.fault = null
    await untilClean(here)
    await createBox(here)
    expect([...table.homes.keys()].sort()).toEqual(['box demo/old', WEB])
  })

  test('a create whose claim nobody heard of gives the name up again', async () => {
    table.fault = 'answers lost'
    await expect(createBox(here)).rejects.toMatchObject({ code: 'runtime_unavailable' })
    table.fault = null
    await untilClean(here)
    expect(table.homes.size).toBe(0)
    await createBox(there)
    expect(table.homes.get(WEB)?.cell).toBe('bb')
  })

  test('deletes are done, and give the name up later, also after a crash', async () => {
    await createBox(here)
    table.fault = 'away'
    await removeBox(here)
    expect(await here.store.boxes.get('demo', 'web')).toBeNull()
    expect(table.homes.has(WEB)).toBe(true)
    await expect(createBox(there)).rejects.toMatchObject({ code: 'runtime_unavailable' })
    expect(await here.store.tombstones.all()).toMatchObject([{ home: { kind: 'box', project: 'demo', name: 'web' } }])
    await here.close()
    table.fault = null
    here = await openCell('aa', here.world)
    await untilClean(here)
    expect(table.homes.size).toBe(0)
  })
})

test('while the directory does not answer, what was deleted is destroyed, however much it is', async () => {
  const names = Array.from({ length: 6 }, (_, i) => `web-${i}`)
  for (const name of names) await createBox(here, name)
  const { promise, resolve } = Promise.withResolvers<void>()
  table.fault = promise
  const removals = names.map((name) => removeBox(here, name))
  await eventually(() => here.world.pool.size === 1)
  expect([...here.world.pool.keys()]).toEqual(['bas_a'])
  expect(await here.store.tombstones.all()).toHaveLength(names.length)
  table.fault = null
  resolve()
  await Promise.all(removals)
  await untilClean(here)
  expect(table.homes.size).toBe(0)
})

describe('a cell that starts', () => {
  test('claims what the directory has lost, and tells what another has by now', async () => {
    const conflicts: string[] = []
    const publish = (): Promise<void> =>
      publishHomes({ store: here.store, directory: createTableDirectory(table, 'aa') }, ({ name }, problem) => {
        conflicts.push(`${name}: ${problem}`)
      })
    for (const name of ['web', 'moved', 'stolen']) await createBox(here, name)
    await createVolume(here)
    const before = new Map(table.homes)
    table.homes.clear()
    const moved = before.get('box demo/moved')
    if (moved !== undefined) table.homes.set('box demo/moved', { ...moved, cell: 'bb', epoch: 2 })
    await createBox(there, 'stolen')
    await publish()
    expect(table.homes.get(WEB)).toEqual(before.get(WEB))
    expect(table.homes.get(DATA)).toEqual(before.get(DATA))
    expect(conflicts).toEqual(['moved: cell bb has it', 'stolen: another resource has its name'])
    table.homes.clear()
    table.fault = 'away'
    await expect(publish()).rejects.toMatchObject({ code: 'runtime_unavailable' })
  })

  test('gives up what came back to the directory and is gone, and nothing else', async () => {
    const directory = createTableDirectory(table, 'aa')
    const release = (): Promise<void> => releaseLost({ store: here.store, directory })
    for (const name of ['web', 'gone', 'again']) await createBox(here, name)
    await createVolume(here)
    await createBox(there, 'theirs')
    const copy = new Map(table.homes)
    for (const name of ['gone', 'again']) await removeBox(here, name)
    await untilClean(here)
    await createBox(here, 'again')
    for (const [key, home] of copy) table.homes.set(key, home)
    await release()
    expect([...table.homes.keys()].sort()).toEqual(['box demo/theirs', WEB, DATA])
    await publishHomes({ store: here.store, directory }, (home) => {
      throw new Error(`${home.name} has another owner`)
    })
    expect(table.homes.get('box demo/again')?.uid).toBe((await here.store.boxes.get('demo', 'again'))?.id)
    // A resource has a tombstone until its record is written.
    const home = { kind: 'box', project: 'demo', name: 'new', uid: 'box_new' } as const
    await here.store.tombstones.insert({ id: 'box_new', root: 'box_new', home, createdAt: 0 })
    await directory.claim({ ...home, createdBy: null, card: CARD })
    await release()
    expect(table.homes.has('box demo/new')).toBe(true)
    await here.store.tombstones.remove('box_new')
    await release()
    expect(table.homes.has('box demo/new')).toBe(false)
  })

  test('keeps no name for what is deleted while it claims it', async () => {
    await createBox(here)
    table.homes.clear()
    const directory = createTableDirectory(table, 'aa')
    const claim: typeof directory.claim = async (claimed) => {
      await removeBox(here)
      await untilClean(here)
      return directory.claim(claimed)
    }
    await publishHomes({ store: here.store, directory: { ...directory, claim } }, () => undefined)
    expect(table.homes.size).toBe(0)
  })
})
