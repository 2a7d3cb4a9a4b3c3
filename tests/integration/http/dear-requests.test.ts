import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { createProcessorTurns } from '../../../agent/server/processor-turns.ts'
import { ASKS, type FloodedServer, LOUD_CONNECTIONS, openFloodedServer } from '../../helpers/front/flooded-server.ts'

const RECORDS = Array.from({ length: 10_000 }, (_, index) => String(index))
let server: FloodedServer

beforeEach(async () => {
  const turns = createProcessorTurns()
  server = await openFloodedServer((asked) =>
    turns.run(asked.target, async () => {
      // The cost of a long list, or of a short one.
      const records = asked.target === '/loud' ? RECORDS : RECORDS.slice(0, 10)
      for (let i = 0; i < 4; i++) JSON.parse(JSON.stringify(records))
      return { status: 204, headers: {}, body: null }
    }),
  )
})

afterEach(() => server.close())

test('who asks for what is dear by many connections does not come before each request of the others', async () => {
  // Without turns, the server would serve all connections of the flood between two requests of the other client.
  expect(await server.flood(['calm', 'loud'])).toBeLessThan((LOUD_CONNECTIONS / 2) * ASKS)
})
