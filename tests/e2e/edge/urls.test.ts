import { describe } from '@jest/globals'
import { useOwnService } from '../../helpers/own-service.ts'
import { defineUrlsSuite } from './urls-suite.ts'

const { client } = useOwnService()

describe('through the standalone front', () => {
  defineUrlsSuite(client)
})
