import { afterAll, beforeAll, describe } from '@jest/globals'
import { defineTicketsSuite } from '../e2e/access/tickets-suite.ts'
import { defineBoxesSuite } from '../e2e/boxes/suite.ts'
import { defineEventsSuite } from '../e2e/events/suite.ts'
import { defineStreamsSuite } from '../e2e/exec/streams-suite.ts'
import { defineServicesSuite } from '../e2e/services/suite.ts'
import { defineVolumesSuite } from '../e2e/volumes/suite.ts'
import { type CellOfTests, type FleetOfTests, startFleet } from '../helpers/fleet/cells.ts'
import { splitByOwner } from '../helpers/fleet/edges.ts'
import { type Client, createClient } from '../helpers/front/client.ts'

// Tests over fake cells prove that any request reaches its owner from any entry point (`tests/integration/fleet/{entry,gather}*`). These
// few show it with real boxes. `TEST_DOOR=2 npm test -- tests/e2e/…` runs any file that starts one service through an entry point.

/** Entry point of a fleet, as suites use it. */
interface Door {
  client: Client
  front: { url(): string; token(): string }
  fleet(): FleetOfTests
}

type Suite = (door: Door) => void

/** One suite for each entry point, by placement. With `spread`, boxes may be anywhere. With `project`, they are where their volumes are. */
const SUITES: Record<'spread' | 'project', readonly Suite[]> = {
  spread: [
    ({ client, front }) => defineStreamsSuite(client, front),
    ({ client }) => defineBoxesSuite(client),
    ({ client }) => defineEventsSuite(client),
  ],
  project: [({ client }) => defineVolumesSuite(client), ({ client }) => defineServicesSuite(client), defineTickets],
}

describe.each(['spread', 'project'] as const)('in a fleet with placement %s', (placement) => {
  let fleet: FleetOfTests

  beforeAll(async () => {
    fleet = await startFleet(undefined, { BOXYARD_PLACEMENT: placement, BOXYARD_POOL_GB: '1' })
  })

  afterAll(async () => {
    await fleet?.close()
  })

  describe.each(SUITES[placement].map((define, door) => [door, define] as const))('through door %i', (door, define) => {
    const service = () => cellAt(fleet, door).service
    const front = { url: () => service().url, token: () => service().adminToken }
    define({ client: createClient(front.url, front.token), front, fleet: () => fleet })
  })
})

/** Tickets point to the data address of the cell that has the box. */
function defineTickets({ client, front, fleet }: Door): void {
  let owner: CellOfTests
  beforeAll(async () => {
    const probe = '/v1/projects/tickets/boxes'
    await client.post(probe, { name: 'probe' })
    owner = splitByOwner(fleet(), 'tickets', 'probe').owner
    await client.delete(`${probe}/probe`)
  })
  defineTicketsSuite(client, {
    url: () => owner.service.dataUrl,
    token: front.token,
    logs: () => fleet().cells.flatMap(({ service }) => service.logs),
  })
}

function cellAt({ cells }: FleetOfTests, door: number): CellOfTests {
  const cell = cells[door]
  if (cell === undefined) throw new Error(`There is no door ${door}.`)
  return cell
}
