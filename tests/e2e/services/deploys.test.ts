import { describe } from '@jest/globals'
import { useOwnService } from '../../helpers/own-service.ts'
import { defineDeploysSuite } from './deploys-suite.ts'

const { client } = useOwnService()

describe('through the standalone front', () => {
  defineDeploysSuite(client)
})
