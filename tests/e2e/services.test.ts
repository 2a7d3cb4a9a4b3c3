import { describe } from '@jest/globals'
import { useOwnService } from '../helpers/own-service.ts'
import { defineServicesSuite } from './services-suite.ts'

const { client } = useOwnService()

describe('through the standalone front', () => {
  defineServicesSuite(client)
})
