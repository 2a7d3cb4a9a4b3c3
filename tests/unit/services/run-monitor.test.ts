import { expect, test } from '@jest/globals'
import { monitorRun, type RunMonitorDeps } from '../../../agent/core/services/run-monitor.ts'
import type { DetachedEnd, DetachedExec } from '../../../agent/ports/boxes/runtime.ts'
import type { Readiness } from '../../../agent/ports/store/services.ts'
import { boxRecord } from '../../helpers/boxes/box-records.ts'
import { runningService } from '../../helpers/services/records.ts'

const END = { exitCode: 0, signal: null, outOfMemory: false, timedOut: false, endedAt: 1 }

/** Monitors a service whose probes have `answers`. Resolves after the last answer. */
async function monitored(probe: Readiness['probe'], answers: (string | null)[]) {
  const ended = Promise.withResolvers<DetachedEnd | null>()
  const exec = { execId: 'exe_a', boxId: 'box_a', ended: ended.promise } as DetachedExec
  const given = Promise.withResolvers<void>()
  const asked: unknown[] = []
  const answer = (): string | null => {
    if (answers.length === 1) given.resolve()
    return answers.shift() ?? null
  }
  const box = boxRecord({ project: 'demo' })
  const deps = {
    store: { boxes: { byId: async () => box } },
    runtime: { exec: async () => Promise.reject(new Error(String(answer()))) },
    network: { addressOf: async () => '10.0.0.2' },
    prober: { probe: async () => answer() },
    probeTurns: { enter: async (project: string, cost: number) => void asked.push([project, cost]) },
    clock: { now: () => 0, sleep: () => (answers.length > 0 ? Promise.resolve() : new Promise(() => undefined)) },
  } as unknown as RunMonitorDeps
  const service = runningService()
  if (service.active === null) throw new Error('it does not run')
  const readiness = { probe, intervalMs: 1, timeoutMs: 1, threshold: 2 }
  const instance = { ...service.active, spec: { ...service.active.spec, readiness } }
  const changes: string[] = []
  const run = { box, name: 'web', instance, isCandidate: false, exec }
  const monitor = monitorRun(deps, run, () => changes.push(monitor.ended === null ? monitor.health : 'ended'))
  await given.promise
  await new Promise(setImmediate)
  return { monitor, changes, asked, end: () => ended.resolve(END) }
}

test('a run tells when its health changes and when it ends, and not of each reason', async () => {
  const answers = ['answered 501', 'answered 502', null, 'answered 503', 'answered 504', 'answered 505', null, 'x']
  const { monitor, changes, end } = await monitored({ kind: 'http', path: '/' }, answers)
  expect(changes).toEqual(['healthy', 'unhealthy', 'healthy'])
  expect([monitor.why, monitor.isReady]).toEqual(['x', true])
  end()
  await new Promise(setImmediate)
  expect(changes).toEqual(['healthy', 'unhealthy', 'healthy', 'ended'])
})

test('each probe takes a turn of the project, and one by a command counts for five', async () => {
  expect((await monitored({ kind: 'tcp' }, [null, null])).asked).toEqual([
    ['demo', 1],
    ['demo', 1],
  ])
  expect((await monitored({ kind: 'command', command: ['x'] }, ['x'])).asked).toEqual([['demo', 5]])
})
