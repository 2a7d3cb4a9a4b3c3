import { beforeEach, expect, test } from '@jest/globals'
import { createRunStarter, type RunStarter, type RunStarterDeps } from '../../../agent/core/services/run-starter.ts'
import { RUNS_KEPT, withPreview } from '../../../agent/core/services/versions.ts'
import type { ForkRecord, ServiceRecord } from '../../../agent/ports/store/services.ts'
import type { Store } from '../../../agent/ports/store/store.ts'
import { boxRecord } from '../../helpers/boxes/box-records.ts'
import { candidate, runningService } from '../../helpers/services/records.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'
import { useTemporaryStore } from '../../helpers/store/temporary-store.ts'

const FORK: ForkRecord = { boxId: 'box_f', root: 'sub_f', mounts: [] }
const box = boxRecord({ id: 'box_a' })
let store: Store
let starter: RunStarter
/** For each start of the fork, whether it made a new identity. */
let made: boolean[]
/** Runs at the next start of the fork. */
let onStart: () => Promise<void>

useTemporaryStore((opened) => {
  store = opened
})

beforeEach(async () => {
  made = []
  onStart = async () => undefined
  const refused = new Error('no command starts here')
  const deps = {
    ...{ store, logger: silentLogger, traffic: { settle: async () => undefined } },
    forks: {
      start: async (_box: unknown, _fork: unknown, { isNew }: { isNew: boolean }) => {
        made.push(isNew)
        await onStart()
      },
    },
    runtime: { execDetached: () => Promise.reject(refused), listDetached: async () => [] },
    outputs: { read: () => ({ totalBytes: 0 }), remove: async () => undefined },
    ...{ clock: { now: () => 1 }, actorContext: { current: () => null } },
  }
  starter = createRunStarter(deps as unknown as RunStarterDeps)
  await store.boxes.insert(box)
  await store.services.insert(withPreview(runningService(), { ...candidate(), fork: FORK }), 64)
})

async function start(): Promise<ServiceRecord> {
  const record = await store.services.get(box.id, 'web')
  if (record === null) throw new Error('the service is missing')
  await starter.start({ record, box, slot: 'preview', isFresh: true }, () => undefined)
  return record
}

test('a fork gets its identity once, even if the record keeps only runs without a known end', async () => {
  for (let run = 0; run < RUNS_KEPT + 2; run++) await start()
  const { preview } = await start()
  expect(preview?.runs.map(({ end }) => [end?.exitCode, end?.signal])).toEqual(
    Array.from({ length: RUNS_KEPT }, () => [null, null]),
  )
  expect(made).toEqual([true, ...Array.from({ length: RUNS_KEPT + 2 }, () => false)])
})

test('a fork whose start failed gets it at the next start', async () => {
  onStart = () => Promise.reject(new Error('no start'))
  await start()
  onStart = async () => undefined
  for (let run = 0; run < 2; run++) await start()
  expect(made).toEqual([true, true, false])
})

test('is recorded beside other changes of the service', async () => {
  onStart = async () => {
    const record = await store.services.get(box.id, 'web')
    if (record !== null) await store.services.replace({ ...record, version: record.version + 1, tags: { team: 'a' } })
  }
  await start()
  const record = await store.services.get(box.id, 'web')
  expect([record?.tags, record?.preview?.fork]).toEqual([{ team: 'a' }, { ...FORK, hasIdentity: true }])
})
