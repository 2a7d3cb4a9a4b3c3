import { describe } from '@jest/globals'
import { useSharedService } from '../../helpers/own-service.ts'
import { defineDeploysSuite } from './deploys-suite.ts'

const { client } = useSharedService()

describe('through the standalone front', () => {
  defineDeploysSuite(client)
})
