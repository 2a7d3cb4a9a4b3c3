import { beforeEach, expect, test } from '@jest/globals'
import type { ExecRecord } from '../../../agent/ports/store/exec.ts'
import type { Store } from '../../../agent/ports/store/store.ts'
import { newId } from '../../../shared/ids.ts'
import { boxRecord } from '../../helpers/boxes/box-records.ts'
import { useTemporaryStore } from '../../helpers/store/temporary-store.ts'

const KEEP = { records: 10, bytes: 250_000 }

let store: Store
let now = Date.now()

useTemporaryStore((opened) => {
  store = opened
})

beforeEach(async () => {
  for (const id of ['box_a', 'box_b']) await store.boxes.insert(boxRecord({ id, name: id.replace('_', '-') }))
})

const exec = (boxId = 'box_a', changes: Partial<ExecRecord> = {}): ExecRecord => ({
  id: newId('exe', now++),
  boxId,
  project: 'demo',
  box: 'web',
  command: ['true'],
  status: 'running',
  exitCode: null,
  signal: null,
  startedAt: 1,
  endedAt: null,
  tty: false,
  user: 'root',
  cwd: '/',
  detached: false,
  process: null,
  stdoutBytes: 0,
  stderrBytes: 0,
  ...changes,
})
const finish = (record: ExecRecord, bytes: number, keep = KEEP): Promise<string[]> => {
  const output = { stdout: new Uint8Array(bytes), stderr: new Uint8Array(0) }
  return store.execs.finish({ record: { ...record, status: 'exited' }, output, fileBytes: 0 }, keep)
}
const run = async (boxId: string, bytes: number): Promise<string> => {
  const record = exec(boxId)
  await store.execs.insert(record)
  await finish(record, bytes)
  return record.id
}
const keptBytes = (boxId: string, ids: string[]): Promise<(number | null)[]> =>
  Promise.all(ids.map(async (id) => (await store.execs.get(boxId, id))?.output.stdout?.length ?? null))

test('a command marked lost is lost only if it still ran', async () => {
  const [first, second, third] = [exec(), exec(), exec()]
  for (const record of [first, second, third]) await store.execs.insert(record)
  await finish({ ...second, exitCode: 3 }, 4)
  await store.execs.lose([first.id, second.id], 9)
  const get = async (id: string) => (await store.execs.get('box_a', id))?.record
  expect(await get(first.id)).toMatchObject({ status: 'lost', endedAt: 9, exitCode: null })
  expect(await get(second.id)).toMatchObject({ status: 'exited', exitCode: 3 })
  expect(await store.execs.running()).toEqual([third])
  expect(await store.execs.get('box_b', second.id)).toBeNull()
})

test('records count with their output, and go once all output has gone', async () => {
  const long = { command: ['echo', 'x'.repeat(60_000)] }
  const ids: string[] = []
  const add = async (bytes: number): Promise<void> => {
    const record = exec('box_a', long)
    ids.push(record.id)
    await store.execs.insert(record)
    await finish(record, bytes)
  }
  for (let i = 0; i < 5; i++) await add(50_000)
  expect(await keptBytes('box_a', ids)).toEqual([null, 0, 0, 0, 50_000])
  for (let i = 0; i < 20; i++) await add(0)
  const { records } = await store.execs.list({ boxId: 'box_a', status: null, after: null, limit: 100 })
  expect(records.map(({ id }) => id)).toEqual(ids.slice(-4))
})

test('the oldest output of a box is dropped for the newest, and its record stays', async () => {
  const ids: string[] = []
  for (let i = 0; i < 5; i++) ids.push(await run('box_a', 100_000))
  expect(await keptBytes('box_a', ids)).toEqual([0, 0, 0, 100_000, 100_000])
  const larger = await run('box_a', 300_000)
  expect(await keptBytes('box_a', [...ids, larger])).toEqual([0, 0, 0, 0, 0, 300_000])
})

test('a command that began first and ends last keeps its output, and older ends lose theirs', async () => {
  const long = exec()
  await store.execs.insert(long)
  const ids = [await run('box_a', 100_000), await run('box_a', 100_000)]
  expect(await finish(long, 100_000)).toEqual([ids[0]])
  expect(await keptBytes('box_a', [long.id, ...ids])).toEqual([100_000, 0, 100_000])
})

test('each box keeps its newest commands, independently of other boxes', async () => {
  const ids: string[] = []
  for (let i = 0; i < 40; i++) {
    await run('box_b', 1)
    ids.push(await run('box_a', 1))
  }
  expect(await keptBytes('box_a', ids)).toEqual(ids.map((_, index) => (index >= 30 ? 1 : null)))
})

test('output stays where it fits once the records above their limit are gone', async () => {
  const ids = [await run('box_a', 120_000), await run('box_a', 120_000)]
  while (ids.length < KEEP.records) ids.push(await run('box_a', 0))
  const last = exec()
  await store.execs.insert(last)
  expect(await finish(last, 100_000)).toEqual([ids[0]])
  expect(await keptBytes('box_a', [...ids.slice(0, 2), last.id])).toEqual([null, 120_000, 100_000])
})

test('output in files counts, and commands that lose it are returned', async () => {
  const [first, second] = [exec(), exec()]
  const inFile = { stdout: null, stderr: new Uint8Array(0) }
  for (const record of [first, second]) await store.execs.insert(record)
  const end = (record: ExecRecord) => ({
    record: { ...record, status: 'exited' as const },
    output: inFile,
    fileBytes: 200_000,
  })
  expect(await store.execs.finish(end(first), KEEP)).toEqual([])
  expect((await store.execs.get('box_a', first.id))?.output).toEqual({ stdout: null, stderr: new Uint8Array(0) })
  expect(await store.execs.finish(end(second), KEEP)).toEqual([first.id])
  expect(await keptBytes('box_a', [first.id])).toEqual([0])
  expect(await store.execs.withFiles()).toEqual([{ boxId: 'box_a', execId: second.id }])
})

test('lists are ordered by id, paged without gaps, and filtered', async () => {
  const ids: string[] = []
  for (let i = 0; i < 5; i++) ids.push(await run('box_a', 0))
  const running = exec()
  await store.execs.insert(running)
  await run('box_b', 0)
  const list = async (query: Partial<Parameters<Store['execs']['list']>[0]>) => {
    const found = await store.execs.list({ boxId: 'box_a', status: null, after: null, limit: 100, ...query })
    return [found.records.map(({ id }) => id), found.hasMore]
  }
  expect(await list({})).toEqual([[...ids, running.id], false])
  expect(await list({ limit: 2 })).toEqual([ids.slice(0, 2), true])
  expect(await list({ limit: 4, after: ids[1] ?? '' })).toEqual([[...ids.slice(2), running.id], false])
  expect(await list({ status: 'running' })).toEqual([[running.id], false])
  expect(await list({ status: 'lost' })).toEqual([[], false])
})

test('a page ends where it would become too large, and the next goes on there', async () => {
  const records = Array.from({ length: 5 }, () => exec('box_a', { command: ['x'.repeat(200_000)] }))
  for (const record of records) await store.execs.insert(record)
  const page = async (after: string | null) => {
    const found = await store.execs.list({ boxId: 'box_a', status: null, after, limit: 100 })
    return [found.records.map(({ id }) => id), found.hasMore]
  }
  const ids = records.map(({ id }) => id)
  expect(await page(null)).toEqual([ids.slice(0, 2), true])
  expect(await page(ids[1] ?? '')).toEqual([ids.slice(2, 4), true])
  expect(await page(ids[3] ?? '')).toEqual([ids.slice(4), false])
})

test('a command that starts or ends after its box is deleted leaves nothing', async () => {
  const before = exec()
  await store.execs.insert(before)
  await store.boxes.remove('box_a', 1, { id: 'box_a', root: 'sub_box_a', createdAt: 5 })
  expect(await finish(before, 1)).toEqual([before.id])
  const after = await run('box_a', 1)
  expect(await keptBytes('box_a', [before.id, after])).toEqual([null, null])
})
