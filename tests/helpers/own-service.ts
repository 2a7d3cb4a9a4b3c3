import { afterAll, beforeAll } from '@jest/globals'
import { type Client, createClient } from './front/client.ts'
import { startService, type TestService, type TestServiceOptions } from './service.ts'

/** The service of a test file. */
export interface OwnService {
  /** Uses the admin token. */
  client: Client
  /** Returns the service; throws before it has started. */
  service(): TestService
}

/** Starts a service before the tests of the calling file, with the options that `prepare` returns, and closes it after them. */
export function useOwnService(prepare: () => Promise<TestServiceOptions> = async () => ({})): OwnService {
  let started: TestService | null = null
  const service = (): TestService => {
    if (started === null) throw new Error('the service has not started')
    return started
  }
  beforeAll(async () => {
    started = await startService(await prepare())
  })
  afterAll(async () => {
    await started?.close()
  })
  const client = createClient(
    () => service().url,
    () => service().adminToken,
  )
  return { client, service }
}
