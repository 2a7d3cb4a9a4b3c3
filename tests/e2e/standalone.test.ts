import { describe } from '@jest/globals'
import { useOwnService } from '../helpers/own-service.ts'
import { runtimeOfTests } from '../helpers/pods/cluster-of-tests.ts'
import { draw } from '../helpers/sample.ts'
import { defineTokensSuite } from './access/tokens-suite.ts'
import { defineForksSuite } from './boxes/forks-suite.ts'
import { defineBoxesSuite } from './boxes/suite.ts'
import { defineUpdatesSuite } from './boxes/updates-suite.ts'
import { defineInputSuite } from './exec/input-suite.ts'
import { defineExecRecordsSuite } from './exec/records-suite.ts'
import { defineExecSuite } from './exec/suite.ts'
import { defineSpecificationSuite } from './specification-suite.ts'
import { defineVolumesSuite } from './volumes/suite.ts'

const { client } = useOwnService()
const SUITES = [
  () => defineBoxesSuite(client),
  () => defineExecSuite(client),
  () => defineExecRecordsSuite(client),
  () => defineInputSuite(client),
  () => defineSpecificationSuite(client),
  () => defineTokensSuite(client),
  () => defineForksSuite(client),
  () => defineVolumesSuite(client),
  () => defineUpdatesSuite(client),
]

describe('through the standalone front', () => {
  for (const define of runtimeOfTests() === 'kubernetes' ? draw(SUITES, 2) : SUITES) define()
})
