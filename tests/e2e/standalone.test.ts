import { describe } from '@jest/globals'
import { useOwnService } from '../helpers/own-service.ts'
import { defineBoxesSuite } from './boxes-suite.ts'
import { defineExecRecordsSuite } from './exec-records-suite.ts'
import { defineExecSuite } from './exec-suite.ts'
import { defineForksSuite } from './forks-suite.ts'
import { defineInputSuite } from './input-suite.ts'
import { defineTokensSuite } from './tokens-suite.ts'
import { defineUpdatesSuite } from './updates-suite.ts'
import { defineVolumesSuite } from './volumes-suite.ts'

const { client } = useOwnService()

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
