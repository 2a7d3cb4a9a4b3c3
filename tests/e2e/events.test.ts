import { describe } from '@jest/globals'
import { useOwnService } from '../helpers/own-service.ts'
import { defineEventsSuite } from './events-suite.ts'

const { client } = useOwnService()

describe('through the standalone front', () => {
  defineEventsSuite(client)
})
