import { afterEach, describe, expect, test } from '@jest/globals'
import { createJobs } from '../../../agent/core/operations/jobs.ts'
import { createRunStarter, type RunStarterDeps } from '../../../agent/core/services/run-starter.ts'
import type { JobRecord } from '../../../agent/ports/store/operations.ts'
import type { Store } from '../../../agent/ports/store/store.ts'
import { ServiceError } from '../../../shared/errors.ts'
import type { Logger } from '../../../shared/log.ts'
import { boxRecord } from '../../helpers/boxes/box-records.ts'
import { BOX_HOST, edgeRequest, openBackendLab, targetOf } from '../../helpers/edge/backend.ts'
import { createHttpServers } from '../../helpers/front/http-server.ts'
import { serviceRecord } from '../../helpers/services/records.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'
import { silentMeter } from '../../helpers/silent-meter.ts'

const { start, closeAll } = createHttpServers()
const clock = { now: () => 0, sleep: () => Promise.resolve() }

afterEach(closeAll)

function recorder(): { lines: string[]; logger: Logger } {
  const lines: string[] = []
  const write = (message: string): void => void lines.push(message)
  return { lines, logger: { ...silentLogger, warn: write, error: write } }
}

describe('the log has 500 lines at once', () => {
  test('of answers whose source breaks off', async () => {
    const { lines, logger } = recorder()
    const halfAnswer = async () => ({ status: 200, headers: {}, body: halfBody() })
    const { url } = await start(halfAnswer, { serving: { logger, now: () => 0 } })
    for (let i = 0; i < 52; i++) {
      await Promise.all(Array.from({ length: 10 }, () => readBroken(url)))
    }
    expect(lines).toEqual(Array.from({ length: 500 }, () => 'A response was interrupted'))
  })

  test('of jobs of a project that fail', async () => {
    const { lines, logger } = recorder()
    const records = new Map<string, JobRecord>()
    const operations = {
      insert: async (record: JobRecord) => void records.set(record.id, record),
      finish: async () => undefined,
      get: async (id: string) => records.get(id) ?? null,
    }
    const jobs = createJobs({ store: { operations } as unknown as Store, clock, meter: silentMeter, logger })
    const fail = (project: string) =>
      jobs.start({ kind: 'base.import', project, resource: '/', requestId: 'req_1' }, () =>
        Promise.reject(new ServiceError('internal', 'No such image.')),
      )
    for (let i = 0; i < 520; i++) await fail('loud')
    await fail('calm')
    await jobs.close()
    expect(lines).toHaveLength(500 + 1)
  })

  test('of requests for URLs that fail', async () => {
    const lab = await openBackendLab()
    lab.hosts.set(BOX_HOST, targetOf({ auth: 'public', status: 'unknown' }))
    for (let i = 0; i < 520; i++) await lab.backend.gate.decide(edgeRequest({}))
    expect(lab.lines.filter((line) => line.includes('request for a URL failed'))).toHaveLength(500)
    await lab.close()
  })

  test('of services of a project that cannot be started', async () => {
    const { lines, logger } = recorder()
    const starter = createRunStarter({
      store: { services: { of: async () => [], get: async () => null, replace: async () => true } },
      outputs: { remove: async () => undefined, read: () => ({ totalBytes: 0 }) },
      runtime: {
        execDetached: () => Promise.reject(new ServiceError('invalid_request', 'No such program.')),
        listDetached: async () => [],
      },
      ...{ clock, logger },
    } as unknown as RunStarterDeps)
    const startIn = (project: string) =>
      starter.start(
        { record: serviceRecord(), box: boxRecord({ project }), slot: 'active', isFresh: true },
        () => undefined,
      )
    for (let i = 0; i < 520; i++) expect(await startIn('loud')).toBeNull()
    await startIn('calm')
    expect(lines).toHaveLength(500 + 1)
  })
})

async function* halfBody(): AsyncGenerator<Uint8Array> {
  yield Buffer.from('half')
  throw new Error('the source is gone')
}

async function readBroken(url: string): Promise<void> {
  await expect(fetch(url).then((answer) => answer.text())).rejects.toThrow()
}
