import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { ROOT } from '../../infra/commands.ts'
import { untilSucceeds } from '../helpers/eventually.ts'
import { type FleetOfTests, startFleet } from '../helpers/fleet/cells.ts'
import { faultsOf } from '../helpers/fleet/faults.ts'
import { describeCall } from '../helpers/fleet/history.ts'
import { checkHistory } from '../helpers/fleet/history-check.ts'
import { createHistoryClient } from '../helpers/fleet/history-client.ts'
import { type HistoryRun, lookAtAll, runHistory } from '../helpers/fleet/history-run.ts'
import { createClient } from '../helpers/front/client.ts'
import { readSeed } from '../helpers/sample.ts'

// TEST_HISTORY_SECONDS makes the history longer, and TEST_SEED selects another one.
const SECONDS = Number(process.env['TEST_HISTORY_SECONDS'] ?? 60)
const ANSWER_MS = 15_000

let fleet: FleetOfTests

beforeAll(async () => {
  fleet = await startFleet(['aa', 'bb', 'cc'], {}, { areApart: true })
})

afterAll(async () => {
  await fleet?.close()
})

/** Resolves once every entry point answers for itself and its agent. */
async function untilServing(): Promise<void> {
  for (const { client } of fleet.cells) {
    await untilSucceeds(async () => {
      const { status, body } = await client.get('/healthz')
      expect([status, body?.problems]).toEqual([200, []])
    })
  }
}

/**
 * Saves a copy of etcd, runs `change`, and restores the copy, so that etcd loses the change. Then restarts the cells, which publish their
 * state again.
 */
async function restoreEtcd(change: () => Promise<void>): Promise<void> {
  const { plane, cells } = fleet
  await plane.stopServer()
  await plane.save()
  await plane.startServer()
  await untilServing()
  await change()
  await plane.stopServer()
  await plane.restore()
  await plane.startServer()
  for (const { service } of cells) {
    await service.killAgent()
    await service.startAgent()
  }
  await untilServing()
}

test('no history of calls at three doors, while all that can fail does, has what cannot be', async () => {
  const seed = readSeed()
  const doors = fleet.cells.map(({ service }) =>
    createClient(
      () => service.url,
      // All entry points get the same token, because an idempotency key belongs to its token.
      () => fleet.cells[0]?.service.adminToken ?? '',
      ANSWER_MS,
    ),
  )
  const client = createHistoryClient(doors, 'history')
  const notes: string[] = []
  const base: HistoryRun = {
    ...{ client, doors: doors.length, faults: faultsOf(fleet), seed, durationMs: SECONDS * 600 },
    note: (text) => notes.push(`${performance.now().toFixed(0)} ${text}`),
  }
  const faultsFound = (): string[] => [...client.oddities, ...checkHistory(client.calls)]
  try {
    await runHistory(base)
    await untilServing()
    await restoreEtcd(() => runHistory({ ...base, faults: [], seed: seed + 100, durationMs: SECONDS * 100 }))
    await runHistory({ ...base, seed: seed + 200, durationMs: SECONDS * 300 })
    await untilServing()
    await lookAtAll(base)
    expect(faultsFound()).toEqual([])
  } catch (error) {
    keep([`TEST_SEED=${seed}`, ...notes, ...faultsFound(), ...client.calls.map(describeCall)])
    throw error
  }
  // Enough has happened for the checks to mean something.
  const done = client.calls.filter(({ outcome }) => outcome.is === 'done').map(({ request }) => request.op)
  for (const op of ['create', 'delete', 'attach', 'write', 'read', 'get', 'list', 'count'])
    expect([op, done.filter((each) => each === op).length > 5]).toEqual([op, true])
  expect(client.calls.some(({ outcome }) => outcome.is === 'refused' && outcome.code === 'name_taken')).toBe(true)
})

/** Saves an impossible history for inspection. */
function keep(lines: readonly string[]): void {
  mkdirSync(join(ROOT, '.build'), { recursive: true })
  writeFileSync(join(ROOT, '.build/fleet-history.log'), `${lines.join('\n')}\n`)
}
