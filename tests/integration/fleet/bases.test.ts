import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { OWNER_HEADER } from '../../../agent/ports/fleet/directory.ts'
import { ServiceError } from '../../../shared/errors.ts'
import { CALLER } from '../../helpers/caller.ts'
import { eventually } from '../../helpers/eventually.ts'
import { type BaseCell, type BaseCells, createBaseCells } from '../../helpers/fleet/base-cells.ts'

const HOW = { waitMs: 5_000, ifMatch: null, idempotencyKey: null }
const ADMIN = { ...CALLER, projects: '*' as const, permissions: ['admin' as const, 'write' as const] }
const TOOLS = { project: 'demo', name: 'tools', isShared: false }

let fleet: BaseCells
let here: BaseCell
let there: BaseCell

beforeEach(async () => {
  fleet = createBaseCells()
  here = await fleet.open('aa')
  there = await fleet.open('bb')
  await createBox(here, 'source')
})

afterEach(async () => {
  await here.close()
  await there.close()
  fleet.close()
})

const createBox = ({ boxes }: BaseCell, name: string, base?: string) =>
  boxes.create(CALLER, { project: 'demo', body: { name, ...(base === undefined ? {} : { base }) } }, HOW)
const makeBase = ({ bases }: BaseCell, more: { isShared?: boolean; idempotencyKey?: string; box?: string } = {}) =>
  bases.create(ADMIN, { ...TOOLS, box: 'source', snapshot: undefined, idempotencyKey: null, ...more })
const removeBase = ({ bases }: BaseCell, isShared = false) => bases.remove(ADMIN, { ...TOOLS, isShared }, null)
const copyAt = ({ store }: BaseCell) => store.bases.get('demo', 'tools')

/** Waits until a cell has cleaned up after failures and deletions. */
async function untilClean({ store }: BaseCell): Promise<void> {
  await eventually(async () => (await store.tombstones.all()).length === 0)
}

/** Writes into the root of the box from which bases are made. */
async function write({ store, world }: BaseCell, content: string): Promise<void> {
  const box = await store.boxes.get('demo', 'source')
  const root = world.pool.get(box?.root ?? '')
  if (root !== undefined) root.content = content
}

describe('a base that another cell has made', () => {
  test('comes at its first use, once, with its id and version', async () => {
    await write(here, 'with tools')
    const made = await makeBase(here)
    await Promise.all(['a', 'b', 'c'].map((name) => createBox(there, name, 'tools')))
    await createBox(there, 'later', 'tools')
    expect(fleet.sent).toEqual([`aa ${made.id}`])
    const copy = await copyAt(there)
    expect(copy).toMatchObject({ id: made.id, version: 1, source: 'box:source', createdAt: made.createdAt, cell: 'aa' })
    expect(there.world.pool.get(copy?.subvolume ?? '')).toMatchObject({ content: 'with tools', isReadOnly: true })
    const box = await there.store.boxes.get('demo', 'later')
    expect([box?.baseId, there.world.pool.get(box?.root ?? '')?.content]).toEqual([made.id, 'with tools'])
    await untilClean(there)
    expect(there.world.pool.size).toBe(6)
  })

  test('is the project’s own, and else a shared one', async () => {
    await write(here, 'shared')
    const shared = await makeBase(here, { isShared: true })
    expect(await createBox(there, 'first', 'tools')).toMatchObject({ record: { baseId: shared.id } })
    await write(here, 'own')
    const own = await makeBase(here)
    expect(await createBox(there, 'second', 'tools')).toMatchObject({ record: { baseId: own.id } })
    await removeBase(here)
    expect(await createBox(there, 'third', 'tools')).toMatchObject({ record: { baseId: shared.id } })
    expect(fleet.sent).toEqual([`aa ${shared.id}`, `aa ${own.id}`])
  })

  test('is listed and deleted where it was made, and told of where a copy is', async () => {
    const made = await makeBase(here)
    await createBox(there, 'a', 'tools')
    const query = { max_results: 10 }
    expect((await there.bases.list(ADMIN, 'demo', query)).records).toEqual([])
    expect(await there.store.bases.count('demo')).toBe(0)
    expect(await there.bases.get(TOOLS)).toMatchObject({ id: made.id })
    expect(await there.bases.usedBy(ADMIN, made)).toMatchObject({ count: 1 })
    await expect(removeBase(there)).rejects.toMatchObject({ code: 'base_not_found' })
    await removeBase(here)
    await expect(there.bases.get(TOOLS)).rejects.toMatchObject({ code: 'base_not_found' })
    await there.publish()
    await untilClean(there)
    expect(await copyAt(there)).toBeNull()
    await expect(createBox(there, 'b', 'tools')).rejects.toMatchObject({ code: 'base_not_found' })
    // The existing box still refers to its deleted base.
    expect(await there.store.boxes.get('demo', 'a')).toMatchObject({ baseId: made.id })
  })

  test('comes anew when it was made anew', async () => {
    await write(here, 'old')
    await makeBase(here)
    await createBox(there, 'a', 'tools')
    await removeBase(here)
    await write(here, 'new')
    const made = await makeBase(here)
    expect(made.version).toBe(2)
    const { record } = await createBox(there, 'b', 'tools')
    expect([record.baseId, there.world.pool.get(record.root)?.content]).toEqual([made.id, 'new'])
    await untilClean(there)
    expect(await there.store.bases.all()).toHaveLength(2)
  })

  test('may be made at the cell that had a copy of the one before', async () => {
    await makeBase(here)
    await createBox(there, 'source-2', 'tools')
    await removeBase(here)
    const made = await makeBase(there, { box: 'source-2' })
    expect(made).toMatchObject({ version: 2 })
    expect(made.cell).toBeUndefined()
    expect(await createBox(here, 'c', 'tools')).toMatchObject({ record: { baseId: made.id } })
    await untilClean(there)
    expect((await there.store.bases.all()).map(({ name }) => name)).toEqual(['base', 'tools'])
  })
})

describe('a base that does not come whole', () => {
  const sendWith = (change: (stream: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>): (() => void) => {
    const { sendBase } = fleet.table
    fleet.table.sendBase = async (base, signal) => {
      const stream = await sendBase(base, signal)
      return stream && change(stream)
    }
    return () => void (fleet.table.sendBase = sendBase)
  }

  test.each<[string, (stream: AsyncIterable<Uint8Array>) => AsyncGenerator<Uint8Array>]>([
    ['breaks off', cutOff],
    [
      'is another thing',
      async function* () {
        yield Buffer.from('rubbish')
      },
    ],
    ['is empty', async function* () {}],
  ])('since it %s leaves nothing, and may be tried again', async (_, change) => {
    await makeBase(here)
    const mend = sendWith(change)
    await expect(createBox(there, 'a', 'tools')).rejects.toMatchObject({ code: 'agent_unavailable' })
    await untilClean(there)
    expect([...there.world.pool.keys()]).toEqual(['bas_a'])
    expect(await copyAt(there)).toBeNull()
    mend()
    await createBox(there, 'a', 'tools')
  })

  test('is not there: its cell has not got it, or deletes it meanwhile', async () => {
    await makeBase(here)
    fleet.table.sendBase = async () => null
    await expect(createBox(there, 'a', 'tools')).rejects.toMatchObject({ code: 'base_not_found' })
    fleet.table.sendBase = async function (this: unknown) {
      return (async function* () {
        await removeBase(here)
        yield Buffer.from(JSON.stringify({ from: null, to: 'late' }))
      })()
    }
    await expect(createBox(there, 'a', 'tools')).rejects.toMatchObject({ code: 'base_not_found' })
    await untilClean(there)
    expect([...there.world.pool.keys()]).toEqual(['bas_a'])
  })

  test('for want of room is refused', async () => {
    await makeBase(here)
    const { capacity } = there.filesystem
    there.filesystem.capacity = async () => ({ ...(await capacity()), availableBytes: 1024 })
    await expect(createBox(there, 'a', 'tools')).rejects.toMatchObject({ code: 'storage_full' })
    there.filesystem.capacity = capacity
    await untilClean(there)
  })

  test('since its agent is killed leaves tombstones, which the next start clears', async () => {
    const made = await makeBase(here)
    const stuck = Promise.withResolvers<void>()
    const mend = sendWith(async function* (stream) {
      await stuck.promise
      yield* stream
    })
    const lost = createBox(there, 'a', 'tools').catch((error: unknown) => error)
    await eventually(async () => (await there.store.tombstones.all()).length === 2)
    await eventually(() => there.world.pool.size === 2)
    // Imitates a kill, which leaves the database and the pool unchanged.
    await there.store.close()
    mend()
    const { world } = there
    there = await fleet.open('bb', world)
    stuck.resolve()
    expect(await lost).toBeInstanceOf(Error)
    await untilClean(there)
    await createBox(there, 'a', 'tools')
    expect((await copyAt(there))?.id).toBe(made.id)
  })
})

describe('the name of a base', () => {
  test('is claimed before it is made, and given up with it', async () => {
    const made = await makeBase(here, { idempotencyKey: 'once' })
    expect(fleet.table.bases.get('demo/tools')).toMatchObject({
      ...{
        uid: made.id,
        cell: 'aa',
        version: 1,
        source: 'box:source',
        createdBy: expect.stringMatching(/^[0-9a-f]{64}$/),
      },
    })
    await removeBase(here)
    expect(fleet.table.bases.size).toBe(0)
  })

  test('has one owner, however many ask for it at once at several cells', async () => {
    await createBox(there, 'source-2')
    for (let round = 0; round < 10; round++) {
      const outcomes = await Promise.allSettled([
        makeBase(here),
        makeBase(there, { box: 'source-2' }),
        makeBase(here),
        makeBase(there, { box: 'source-2' }),
      ])
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
      for (const each of outcomes) if (each.status === 'rejected') expect(codeOf(each.reason)).toBe('name_taken')
      const owner = fleet.table.bases.get('demo/tools')?.cell === 'aa' ? here : there
      await removeBase(owner)
      await untilClean(here)
      await untilClean(there)
    }
    expect(fleet.table.bases.size).toBe(0)
  })

  test('is told to be another cell’s where a repeat comes with the same key', async () => {
    await createBox(there, 'source-2')
    await makeBase(here, { idempotencyKey: 'once' })
    const again = makeBase(there, { box: 'source-2', idempotencyKey: 'once' })
    await expect(again).rejects.toMatchObject({ code: 'name_taken', headers: { [OWNER_HEADER]: 'aa' } })
    const other = makeBase(there, { box: 'source-2', idempotencyKey: 'twice' })
    await expect(other).rejects.toMatchObject({ code: 'name_taken', headers: {} })
    // At its own cell, the repeated request gets the answer.
    expect(await makeBase(here, { idempotencyKey: 'once' })).toMatchObject({ version: 1 })
  })

  test('is refused while the directory is away, and one that nobody heard of is given up', async () => {
    fleet.table.fault = 'away'
    await expect(makeBase(here)).rejects.toMatchObject({ code: 'runtime_unavailable' })
    fleet.table.fault = 'answers lost'
    await expect(makeBase(here)).rejects.toMatchObject({ code: 'runtime_unavailable' })
    fleet.table.fault = null
    await untilClean(here)
    expect(fleet.table.bases.size).toBe(0)
    await makeBase(here)
  })

  test('is claimed again at a start, but not of what the cell builds for itself', async () => {
    const made = await makeBase(here)
    await createBox(there, 'a', 'tools')
    fleet.table.bases.clear()
    expect(await here.publish()).toEqual([])
    expect([...fleet.table.bases.keys()]).toEqual(['demo/tools'])
    await there.publish()
    expect(await copyAt(there)).toMatchObject({ id: made.id })
    const other = { ...made, uid: `bas_${'9'.repeat(26)}`, cell: 'bb', createdBy: null }
    fleet.table.bases.set('demo/tools', other)
    expect(await here.publish()).toEqual(['tools'])
  })
})

async function* cutOff(stream: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const piece of stream) {
    yield piece.subarray(0, piece.length / 2)
    throw new Error('the connection broke')
  }
}

const codeOf = (error: unknown): string => (error instanceof ServiceError ? error.code : String(error))
