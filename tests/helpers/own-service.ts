import { afterAll, beforeAll } from '@jest/globals'
import { type Client, createClient } from './front/client.ts'
import { startService, type TestService } from './service.ts'

/** The service of a test file. */
export interface OwnService {
  /** Uses the admin token. */
  client: Client
  /** Returns the service; throws before it has started. */
  service(): TestService
}

/** Starts a service before the tests of the calling file, and closes it after them. */
export function useOwnService(): OwnService {
  let started: TestService | null = null
  const service = (): TestService => {
    if (started === null) throw new Error('the service has not started')
    return started
  }
  beforeAll(async () => {
    started = await startService()
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
