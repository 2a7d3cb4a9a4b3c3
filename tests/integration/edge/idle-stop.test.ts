import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { type BoxActivity, createBoxActivity } from '../../../agent/core/boxes/activity.ts'
import { startIdleStops } from '../../../agent/core/edge/idle-stop.ts'
import { openSqliteStore } from '../../../agent/drivers/store/store.ts'
import type { EdgeUse } from '../../../agent/ports/edge/edge.ts'
import type { BoxRecord } from '../../../agent/ports/store/boxes.ts'
import type { Store } from '../../../agent/ports/store/store.ts'
import { boxRecord } from '../../helpers/boxes/box-records.ts'
import { createFakeTime } from '../../helpers/imagined-time.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'

let directory: string
let store: Store
let time: ReturnType<typeof createFakeTime>
let activity: BoxActivity
/** Use that the edge counted. Null makes the call fail. */
let use: Map<string, EdgeUse> | null
/** Runs while the edge drops or sets the routes of a box. */
let onSettle: () => Promise<void>
let woken: string[]
let close: () => Promise<void>
let box: BoxRecord

function start(): void {
  close = startIdleStops({
    store,
    activity,
    clock: time.clock,
    logger: silentLogger,
    edge: {
      use: async () => {
        if (use === null) throw new Error('The edge does not answer.')
        return new Map(use)
      },
    },
    routes: { settle: () => onSettle() },
    reconciler: { exclusive: (_boxId, work) => work(true), wake: (boxId) => void woken.push(boxId) },
  })
}

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'boxyard-idle-'))
  store = openSqliteStore(join(directory, 'boxyard.db'))
  time = createFakeTime()
  activity = createBoxActivity()
  use = new Map()
  onSettle = async () => undefined
  woken = []
  box = boxRecord({
    observed: {
      status: 'running',
      reason: 'ready',
      message: null,
      since: time.clock.now(),
      generation: 1,
      bootId: 'b',
    },
    urlSettings: { auth: 'token', wake: true, idle_stop_seconds: 60 },
  })
  await store.boxes.insert(box)
  start()
  await pass(0)
})

afterEach(async () => {
  await close()
  await store.close()
  rmSync(directory, { recursive: true, force: true })
})

/** Advances the clock in steps of 250 ms. */
async function pass(seconds: number): Promise<void> {
  for (let ms = 0; ms <= seconds * 1000; ms += 250) {
    if (ms > 0) time.advance(250)
    await turn()
    await turn()
  }
}

const now = async (): Promise<BoxRecord> => (await store.boxes.byId(box.id)) as BoxRecord
const power = async (): Promise<string> => (await now()).desired.power

async function change(changes: Partial<BoxRecord>): Promise<void> {
  const record = await now()
  expect(await store.boxes.replace({ ...record, ...changes, version: record.version + 1 })).toBe(true)
}

test('a box without use is stopped when its time is over, with the reason', async () => {
  await pass(59)
  expect(await power()).toBe('running')
  await pass(2)
  const { desired, observed } = await now()
  expect(desired).toEqual({ power: 'stopped', generation: 2, cause: 'idle' })
  expect(observed).toMatchObject({ status: 'pending', reason: 'stopping', generation: 1 })
  expect(observed.message).toBe('Stopped after 60 s without use (url_settings.idle_stop_seconds).')
  expect(woken).toEqual([box.id])
})

test('a box without the setting is left alone', async () => {
  await change({ urlSettings: { auth: 'token', wake: true, idle_stop_seconds: null } })
  await pass(600)
  expect(await power()).toBe('running')
})

test('a box that gets the setting late has its whole time from then on', async () => {
  await change({ urlSettings: { auth: 'token', wake: true, idle_stop_seconds: null } })
  await pass(100)
  await change({ urlSettings: { auth: 'token', wake: true, idle_stop_seconds: 60 } })
  await pass(59)
  expect(await power()).toBe('running')
  await pass(7)
  expect(await power()).toBe('stopped')
})

test("each request to its URLs begins its time anew, also after the edge's counters restart", async () => {
  for (const requests of [5, 6, 1]) {
    await pass(50)
    use = new Map([[box.id, { requests, open: 0 }]])
  }
  await pass(50)
  expect(await power()).toBe('running')
  await pass(16)
  expect(await power()).toBe('stopped')
})

test('an open request keeps it awake, however long', async () => {
  use = new Map([[box.id, { requests: 1, open: 1 }]])
  await pass(300)
  expect(await power()).toBe('running')
  use = new Map([[box.id, { requests: 1, open: 0 }]])
  await pass(50)
  expect(await power()).toBe('running')
  await pass(20)
  expect(await power()).toBe('stopped')
})

test('commands and clients at consoles keep it awake, and their ends begin its time anew', async () => {
  const [first, second] = [activity.begin(box.id), activity.begin(box.id)]
  await pass(100)
  first()
  first()
  await pass(100)
  expect(await power()).toBe('running')
  second()
  await pass(59)
  expect(await power()).toBe('running')
  await pass(2)
  expect(await power()).toBe('stopped')
})

test('a command that ends between two checks counts', async () => {
  await pass(58)
  activity.begin(box.id)()
  await pass(59)
  expect(await power()).toBe('running')
})

test('a lease keeps it awake, and its time begins at the end of the lease', async () => {
  await change({ leaseUntil: time.clock.now() + 200_000 })
  await pass(259)
  expect(await power()).toBe('running')
  await pass(2)
  expect(await power()).toBe('stopped')
})

test('a box that was started anew has its whole time', async () => {
  await pass(50)
  const { observed } = await now()
  await change({ observed: { ...observed, since: time.clock.now() } })
  await pass(50)
  expect(await power()).toBe('running')
})

test.each([
  ['a request', () => use?.set(box.id, { requests: 1, open: 0 })],
  ['a request that is still open', () => use?.set(box.id, { requests: 0, open: 1 })],
  ['a command', () => activity.begin(box.id)()],
])('%s that comes while it is taken off the edge has it go on', async (_what, come) => {
  let settled = 0
  onSettle = async () => {
    settled += 1
    if (settled === 1) come()
  }
  await pass(61)
  const { desired, observed, version } = await now()
  expect(desired).toEqual({ power: 'running', generation: 3 })
  expect(observed).toEqual({ ...box.observed, generation: 3 })
  expect([version, settled]).toEqual([3, 2])
})

test('a resume while it is taken off the edge keeps it running', async () => {
  onSettle = async () => {
    onSettle = async () => undefined
    const { desired } = await now()
    await change({ desired: { power: 'running', generation: desired.generation + 1 }, tags: { by: 'user' } })
    use?.set(box.id, { requests: 1, open: 1 })
  }
  await pass(61)
  expect(await now()).toMatchObject({ desired: { power: 'running', generation: 3 }, tags: { by: 'user' }, version: 3 })
})

test('a failing edge stops no box', async () => {
  onSettle = async () => {
    throw new Error('The edge does not answer.')
  }
  await pass(61)
  expect(await power()).toBe('running')
  use = null
  onSettle = async () => undefined
  await pass(200)
  expect(await power()).toBe('running')
  use = new Map()
  await pass(6)
  expect(await power()).toBe('stopped')
})

test('an agent that has just started gives it its whole time', async () => {
  await pass(50)
  await close()
  start()
  await pass(50)
  expect(await power()).toBe('running')
})
