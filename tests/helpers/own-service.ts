import { afterAll, beforeAll } from '@jest/globals'
import { type FleetOfTests, startFleet } from './fleet/cells.ts'
import { type Client, createClient } from './front/client.ts'
import { startService, type TestService, type TestServiceOptions } from './service.ts'

/** The service of a test file. */
export interface OwnService {
  /** Uses the admin token. */
  client: Client
  /** Returns the service; throws before it has started. */
  service(): TestService
}

/**
 * Starts a service before the tests of the calling file, with the options that `prepare` returns, and closes it after them. With
 * TEST_DOOR=1, 2 or 3 it is a fleet of three cells with the settings of these options, and the service that of this door.
 */
export function useOwnService(prepare: () => Promise<TestServiceOptions> = async () => ({})): OwnService {
  let started: TestService | null = null
  let fleet: FleetOfTests | null = null
  const service = (): TestService => {
    if (started === null) throw new Error('the service has not started')
    return started
  }
  beforeAll(async () => {
    const options = await prepare()
    const door = Number(process.env['TEST_DOOR'] ?? 0)
    if (door > 0) fleet = await startFleet(undefined, options.settings)
    started = fleet === null ? await startService(options) : (fleet.cells[door - 1]?.service ?? null)
  })
  afterAll(async () => {
    await (fleet ?? started)?.close()
  })
  const client = createClient(
    () => service().url,
    () => service().adminToken,
  )
  return { client, service }
}
