import { afterAll, beforeAll, describe } from '@jest/globals'
import { createClient } from '../helpers/client.ts'
import { startService, type TestService } from '../helpers/service.ts'
import { defineBoxesSuite } from './boxes-suite.ts'
import { defineExecRecordsSuite } from './exec-records-suite.ts'
import { defineExecSuite } from './exec-suite.ts'
import { defineForksSuite } from './forks-suite.ts'
import { defineInputSuite } from './input-suite.ts'
import { defineTokensSuite } from './tokens-suite.ts'
import { defineUpdatesSuite } from './updates-suite.ts'
import { defineVolumesSuite } from './volumes-suite.ts'

let service: TestService
const client = createClient(
  () => service.url,
  () => service.adminToken,
)

beforeAll(async () => {
  service = await startService()
}, 60_000)

afterAll(async () => {
  await service.close()
}, 60_000)

describe('through the standalone front', () => {
  defineBoxesSuite(client)
  defineExecSuite(client)
  defineExecRecordsSuite(client)
  defineInputSuite(client)
  defineTokensSuite(client)
  defineForksSuite(client)
  defineVolumesSuite(client)
  defineUpdatesSuite(client)
})
