import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { createJobs, type Jobs, type JobWork } from '../../../agent/core/operations/jobs.ts'
import { openSqliteStore } from '../../../agent/drivers/store/store.ts'
import type { Clock } from '../../../agent/ports/host/clock.ts'
import type { Store } from '../../../agent/ports/store/store.ts'
import { ServiceError } from '../../../shared/errors.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'
import { silentMeter } from '../../helpers/silent-meter.ts'

let directory: string
let store: Store
let jobs: Jobs

const clock: Clock = { now: Date.now, sleep: (ms, signal) => pause(ms, undefined, { signal }).catch(() => undefined) }
const WISH = { kind: 'test.work', project: 'demo', resource: '/v1/projects/demo/data/a', requestId: 'req_1' }

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'boxyard-jobs-'))
  store = openSqliteStore(join(directory, 'boxyard.db'))
  jobs = createJobs({ store, clock, logger: silentLogger, meter: silentMeter })
})

afterEach(async () => {
  await jobs.close()
  await store.close()
  rmSync(directory, { recursive: true, force: true })
})

const untilAborted: JobWork = ({ signal }) =>
  new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(new Error('aborted')))
  })

test('a job shows its progress and its end', async () => {
  const gate = Promise.withResolvers<void>()
  const id = await jobs.start(WISH, async ({ progress }) => {
    progress(0.5)
    await gate.promise
  })
  expect(await jobs.wait(id, 0)).toEqual({ outcome: { status: 'running', error: null, endedAt: null }, progress: 0.5 })
  const waiting = jobs.wait(id, 20_000)
  gate.resolve()
  expect(await waiting).toMatchObject({ outcome: { status: 'done', error: null }, progress: null })
  expect(await store.operations.get(id)).toMatchObject({ ...WISH, outcome: { status: 'done' } })
})

test('a job that fails shows the problem with the id of its request', async () => {
  const known = await jobs.start(WISH, () => Promise.reject(new ServiceError('storage_full', 'No room.')))
  const error = { code: 'storage_full', detail: 'No room.', request_id: 'req_1' }
  expect(await jobs.wait(known, 20_000)).toMatchObject({ outcome: { status: 'failed', error } })
  const foreign = await jobs.start(WISH, () => Promise.reject(new Error('/secret/path')))
  const told = await jobs.wait(foreign, 20_000)
  expect(told?.outcome.error).toMatchObject({ code: 'internal' })
  expect(JSON.stringify(told)).not.toContain('secret')
})

test('a job cut off by a closed agent is resumed by the next one, or has failed', async () => {
  const [taken, lost] = [await jobs.start(WISH, untilAborted), await jobs.start(WISH, untilAborted)]
  await jobs.close()
  expect(await store.operations.get(taken)).toMatchObject({ outcome: null })
  await expect(jobs.start(WISH, untilAborted)).rejects.toMatchObject({ code: 'draining' })

  jobs = createJobs({ store, clock, logger: silentLogger, meter: silentMeter })
  expect(await jobs.resume(taken, async () => undefined)).toBe(true)
  await jobs.failUnresumed()
  expect(await jobs.wait(taken, 20_000)).toMatchObject({ outcome: { status: 'done' } })
  expect(await jobs.wait(lost, 0)).toMatchObject({ outcome: { status: 'failed', error: { code: 'internal' } } })
  expect(await jobs.resume(taken, untilAborted)).toBe(false)
})

test('an unfinished job is not pruned with the old ones', async () => {
  const running = await jobs.start(WISH, untilAborted)
  const ended = await jobs.start(WISH, async () => undefined)
  await jobs.wait(ended, 20_000)
  await store.operations.prune(Date.now() + 1000)
  expect(await store.operations.get(ended)).toBeNull()
  expect(await store.operations.get(running)).not.toBeNull()
})

test('an end that cannot be stored is still returned', async () => {
  const operations = { ...store.operations, finish: () => Promise.reject(new Error('disk full')) }
  jobs = createJobs({ store: { ...store, operations }, clock, logger: silentLogger, meter: silentMeter })
  const id = await jobs.start(WISH, async () => undefined)
  expect(await jobs.wait(id, 20_000)).toMatchObject({ outcome: { status: 'done' } })
})
