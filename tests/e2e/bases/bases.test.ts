import { afterAll, beforeAll, describe } from '@jest/globals'
import { startRegistry, type TestRegistry } from '../../helpers/bases/registry.ts'
import { createClient } from '../../helpers/front/client.ts'
import { startService, type TestService } from '../../helpers/service.ts'
import { definePulledBasesSuite } from './pulled-bases-suite.ts'
import { defineBasesSuite } from './suite.ts'

let service: TestService
let registry: TestRegistry
const client = createClient(
  () => service.url,
  () => service.adminToken,
)

beforeAll(async () => {
  registry = await startRegistry()
  service = await startService({ settings: { BOXYARD_BASE_REGISTRIES: registry.url } })
})

afterAll(async () => {
  await service.close()
  await registry.close()
})

describe('through the standalone front', () => {
  defineBasesSuite(client)
  definePulledBasesSuite(client, () => registry)
})
