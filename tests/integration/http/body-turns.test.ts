import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { createBodyTurns } from '../../../functions/body-turns.ts'
import { ASKS, type FloodedServer, openFloodedServer } from '../../helpers/front/flooded-server.ts'

const BODY = JSON.stringify(Array.from({ length: 20_000 }, (_, index) => String(index)))
let server: FloodedServer

beforeEach(async () => {
  const turns = createBodyTurns()
  server = await openFloodedServer(async (asked) => {
    turns.note(asked.target)
    const body = await asked.readBody(BODY.length)
    await turns.run(asked.target, body.length, () => JSON.parse(Buffer.from(body).toString()))
    return { status: 204, headers: {}, body: null }
  }, BODY)
})

afterEach(() => server.close())

test('who sends long bodies one after the other by many connections gets half of the turns', async () => {
  const meanwhile = await server.flood(['calm'])
  expect(meanwhile).toBeGreaterThan(0)
  expect(meanwhile).toBeLessThan(4 * ASKS)
})
