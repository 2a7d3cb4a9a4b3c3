import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { type FleetOfTests, startFleet } from '../helpers/fleet/cells.ts'
import { faultsOf } from '../helpers/fleet/faults.ts'
import { checkHistory } from '../helpers/fleet/history-check.ts'
import { createHistoryClient } from '../helpers/fleet/history-client.ts'
import { race } from '../helpers/fleet/races.ts'
import { createClient } from '../helpers/front/client.ts'
import { readSeed } from '../helpers/sample.ts'

// Run more by hand with `TEST_RACES=10000 TEST_FILE_MINUTES=60 npm test -- cluster tests/fleet/races.test.ts`.
const CREATES = Number(process.env['TEST_RACES'] ?? 150)
/** Number of creates whose history is checked at once. The time of a check grows with the square. */
const BATCH = 1_500
const ANSWER_MS = 15_000
/** Time for each create, on a machine with other work. */
const PATIENCE_MS = 600

let fleet: FleetOfTests

beforeAll(async () => {
  fleet = await startFleet(['aa', 'bb', 'cc'], {}, { areApart: true })
})

afterAll(async () => {
  await fleet?.close()
})

test(
  'of creates that race for a name at all doors, while agents are killed, one makes it',
  async () => {
    const seed = readSeed()
    const doors = fleet.cells.map(({ service }) =>
      createClient(
        () => service.url,
        () => fleet.cells[0]?.service.adminToken ?? '',
        ANSWER_MS,
      ),
    )
    const faults = faultsOf(fleet).filter(({ name }) => name.startsWith('agent'))
    const struck: string[] = []
    let made = 0
    for (let done = 0; done < CREATES; done += BATCH) {
      const client = createHistoryClient(doors, 'races')
      const creates = Math.min(BATCH, CREATES - done)
      const note = (text: string): void => void struck.push(text)
      await race({ client, doors: doors.length, faults, seed: seed + done, note, creates })
      expect([...client.oddities, ...checkHistory(client.calls)]).toEqual([])
      made += client.calls.filter(({ request, outcome }) => request.op === 'create' && outcome.is === 'done').length
      process.stderr.write(`${done + creates} creates, ${made} made it, ${struck.length} agents killed, no duplicate\n`)
    }
    expect(struck.length).toBeGreaterThan(0)
    expect(made).toBeGreaterThan(CREATES / doors.length / 2)
  },
  300_000 + CREATES * PATIENCE_MS,
)
