import { afterAll, beforeAll } from '@jest/globals'
import { addEvidence } from './evidence.ts'
import { type FleetOfTests, startFleet } from './fleet/cells.ts'
import { type Client, createClient } from './front/client.ts'
import { runtimeOfTests } from './pods/cluster-of-tests.ts'
import { startService, type TestService, type TestServiceOptions } from './service.ts'
import { type SharedService, workerService } from './shared-service.ts'

/** The service that a test file uses. */
export interface UsedService<Service extends SharedService = SharedService> {
  /** Uses the admin token. */
  client: Client
  /** Returns the service. Throws before it has started. */
  service(): Service
}

/** A service that no other test file uses, so that the file can restart and configure it. */
export type OwnService = UsedService<TestService>

/**
 * Starts a service before the tests of the calling file, with the options from `prepare`. Closes it after them.
 * With TEST_DOOR=1, 2 or 3, starts a fleet of three cells with the settings of these options and returns that cell's service.
 */
export function useOwnService(prepare: () => Promise<TestServiceOptions> = async () => ({})): OwnService {
  let fleet: FleetOfTests | null = null
  let started: TestService | null = null
  afterAll(async () => {
    await (fleet ?? started)?.close()
  })
  return useService(async () => {
    const options = await prepare()
    const door = Number(process.env['TEST_DOOR'] ?? 0)
    if (door > 0) fleet = await startFleet(undefined, options.settings)
    started = fleet === null ? await startService(options) : (fleet.cells[door - 1]?.service ?? null)
    return started
  })
}

/**
 * Uses the shared service of this jest worker in the calling file. tests/environment.mjs deletes the file's records after it. Events, the
 * audit log and revoked tokens stay. With TEST_RUNTIME=kubernetes or TEST_DOOR, the file starts its own service.
 */
export function useSharedService(): UsedService {
  const worker = workerService()
  if (worker === undefined || runtimeOfTests() === 'kubernetes' || process.env['TEST_DOOR'] !== undefined)
    return useOwnService()
  return useService(() => worker.use())
}

function useService<Service extends SharedService>(start: () => Promise<Service | null>): UsedService<Service> {
  let started: Service | null = null
  const service = (): Service => {
    if (started === null) throw new Error('the service has not started')
    return started
  }
  beforeAll(async () => {
    started = await start()
  })
  addEvidence(() => {
    const lines = started?.logs.filter((line) => COMPLAINT.test(line)).slice(-SHOWN_LINES) ?? []
    return lines.length === 0 ? [] : ['The last complaints in the log of the service:', ...lines]
  })
  const client = createClient(
    () => service().url,
    () => service().adminToken,
  )
  return { client, service }
}

const COMPLAINT = /"level":"(warn|error)"/
const SHOWN_LINES = 8
