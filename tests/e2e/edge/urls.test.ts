import { describe } from '@jest/globals'
import { useSharedService } from '../../helpers/own-service.ts'
import { defineUrlsSuite } from './urls-suite.ts'

const { client } = useSharedService()

describe('through the standalone front', () => {
  defineUrlsSuite(client)
})
