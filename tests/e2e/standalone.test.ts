import { describe } from '@jest/globals'
import { useSharedService } from '../helpers/own-service.ts'
import { runtimeOfTests } from '../helpers/pods/cluster-of-tests.ts'
import { defineTokensSuite } from './access/tokens-suite.ts'
import { defineForksSuite } from './boxes/forks-suite.ts'
import { defineBoxesSuite } from './boxes/suite.ts'
import { defineUpdatesSuite } from './boxes/updates-suite.ts'
import { defineInputSuite } from './exec/input-suite.ts'
import { defineExecRecordsSuite } from './exec/records-suite.ts'
import { defineExecSuite } from './exec/suite.ts'
import { defineSpecificationSuite } from './specification-suite.ts'
import { defineVolumesSuite } from './volumes/suite.ts'

const { client } = useSharedService()
// The runtime's contract tests cover what pods and processes have in common. For the API over pods, these few suites suffice.
const ON_PODS = [() => defineBoxesSuite(client), () => defineVolumesSuite(client), () => defineInputSuite(client)]
const SUITES = [
  ...ON_PODS,
  () => defineExecSuite(client),
  () => defineExecRecordsSuite(client),
  () => defineSpecificationSuite(client),
  () => defineTokensSuite(client),
  () => defineForksSuite(client),
  () => defineUpdatesSuite(client),
]

describe('through the standalone front', () => {
  for (const define of runtimeOfTests() === 'kubernetes' ? ON_PODS : SUITES) define()
})
