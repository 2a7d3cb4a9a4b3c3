import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { Reconciler } from '../../../agent/core/reconcile/reconciler.ts'
import { createLocalDirectory } from '../../../agent/drivers/fleet/directory-local.ts'
import { openSqliteStore } from '../../../agent/drivers/store/store.ts'
import type { Runtime } from '../../../agent/ports/boxes/runtime.ts'
import type { CowFilesystem } from '../../../agent/ports/pool/cow-filesystem.ts'
import type { BoxRecord } from '../../../agent/ports/store/boxes.ts'
import type { Store } from '../../../agent/ports/store/store.ts'
import { newId } from '../../../shared/ids.ts'
import { boxRecord } from '../../helpers/boxes/box-records.ts'
import { eventually } from '../../helpers/eventually.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'
import { silentMeter } from '../../helpers/silent-meter.ts'

let directory: string
let store: Store
let reconciler: Reconciler
/** Ids of boxes that have run since an earlier process. */
let adopted: string[]
/** Starts of new boxes. */
let firstStarts: string[]
/** Ends the start that waits for a slot. */
let place: () => void

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'boxyard-waiting-'))
  store = openSqliteStore(join(directory, 'boxyard.db'))
  adopted = []
  firstStarts = []
  const placed = Promise.withResolvers<void>()
  place = placed.resolve
  const runtime: Partial<Runtime> = {
    start: async ({ id, name, isNew }, onWaiting) => {
      if (isNew) firstStarts.push(id)
      if (name === 'large') {
        onWaiting?.('The cluster cannot place it.')
        await placed.promise
      }
      return { id, isRunning: true, pid: 1 }
    },
    stop: async () => undefined,
    list: async () => adopted.map((id) => ({ id, isRunning: true, pid: 1 })),
    onExit: () => undefined,
    onRecovery: () => undefined,
    mounts: async () => [],
  }
  const filesystem: Partial<CowFilesystem> = { path: (name) => `/pool/${name}`, exists: async () => true }
  reconciler = new Reconciler({
    ...{ store, runtime: runtime as Runtime, filesystem: filesystem as CowFilesystem, bootId: 'boot' },
    ...{ directory: createLocalDirectory(), logger: silentLogger, meter: silentMeter },
    clock: { now: () => Date.now(), sleep: async () => new Promise(() => undefined) },
    outputs: { removeBox: async () => undefined },
    actorContext: { current: () => null },
    limits: {
      ...{ startsAtOnce: 1, startDeadlineMs: 60_000, stopSlackMs: 3_000, pidsPerBox: 10, allowsNesting: false },
      ...{ networkMbps: null, diskMbps: null, diskIops: null },
    },
  })
})

afterEach(async () => {
  place()
  await reconciler.close()
  await store.close()
  rmSync(directory, { recursive: true, force: true })
})

async function start(project: string, name: string): Promise<string> {
  const id = newId('box', Date.now())
  await store.boxes.insert(boxRecord({ id, project, name }))
  reconciler.wake(id)
  return id
}

const statusOf = async (id: string): Promise<string | undefined> => (await store.boxes.byId(id))?.observed.status

test('a box that the cluster has no place for keeps no box of another project from starting', async () => {
  const large = await start('red', 'large')
  await eventually(async () => (await store.boxes.byId(large))?.observed.message !== null)
  const small = await start('blue', 'small')
  await eventually(async () => (await statusOf(small)) === 'running')
  expect(await statusOf(large)).toBe('pending')
  place()
  await eventually(async () => (await statusOf(large)) === 'running')
})

test('a new box whose first start was cut off is started again; one of an older version is adopted as it is', async () => {
  const boxOf = (name: string): BoxRecord => boxRecord({ id: newId('box', Date.now()), name })
  const [cutOff, old] = [boxOf('cut-off'), boxOf('old')]
  await store.boxes.insert({ ...cutOff, observed: { ...cutOff.observed, hasRun: false } })
  await store.boxes.insert(old)
  adopted = [cutOff.id, old.id]
  await reconciler.recover()
  for (const { id } of [cutOff, old]) await eventually(async () => (await statusOf(id)) === 'running')
  expect(firstStarts).toEqual([cutOff.id])
  expect((await store.boxes.byId(cutOff.id))?.observed.hasRun).toBe(true)
  expect((await store.boxes.byId(old.id))?.observed.hasRun).toBeUndefined()
})
