import { afterAll, beforeAll, describe } from '@jest/globals'
import { defineTicketsSuite } from '../e2e/access/tickets-suite.ts'
import { defineTokensSuite } from '../e2e/access/tokens-suite.ts'
import { defineBackupsSuite } from '../e2e/backups/suite.ts'
import { definePulledBasesSuite } from '../e2e/bases/pulled-bases-suite.ts'
import { defineBasesSuite } from '../e2e/bases/suite.ts'
import { defineForksSuite } from '../e2e/boxes/forks-suite.ts'
import { defineIdleSuite } from '../e2e/boxes/idle-suite.ts'
import { defineBoxesSuite } from '../e2e/boxes/suite.ts'
import { defineUpdatesSuite } from '../e2e/boxes/updates-suite.ts'
import { defineUrlsSuite } from '../e2e/edge/urls-suite.ts'
import { defineEventsSuite } from '../e2e/events/suite.ts'
import { defineConsolesSuite } from '../e2e/exec/consoles-suite.ts'
import { defineInputSuite } from '../e2e/exec/input-suite.ts'
import { defineExecRecordsSuite } from '../e2e/exec/records-suite.ts'
import { defineStreamsSuite } from '../e2e/exec/streams-suite.ts'
import { defineExecSuite } from '../e2e/exec/suite.ts'
import { defineFilesSuite } from '../e2e/files/suite.ts'
import { defineStorageSuite } from '../e2e/pool/storage-suite.ts'
import { defineDeploysSuite } from '../e2e/services/deploys-suite.ts'
import { defineServicesSuite } from '../e2e/services/suite.ts'
import { defineBoxSnapshotsSuite } from '../e2e/snapshots/box-snapshots-suite.ts'
import { defineSnapshotDiffSuite } from '../e2e/snapshots/diff-suite.ts'
import { defineSnapshotFilesSuite } from '../e2e/snapshots/files-suite.ts'
import { defineSpecificationSuite } from '../e2e/specification-suite.ts'
import { defineVolumeCopiesSuite } from '../e2e/volumes/copies-suite.ts'
import { defineVolumeSnapshotsSuite } from '../e2e/volumes/snapshots-suite.ts'
import { defineVolumesSuite } from '../e2e/volumes/suite.ts'
import { startRegistry, type TestRegistry } from '../helpers/bases/registry.ts'
import { type CellOfTests, type FleetOfTests, startFleet } from '../helpers/fleet/cells.ts'
import { splitByOwner } from '../helpers/fleet/edges.ts'
import { type Client, createClient } from '../helpers/front/client.ts'
import { draw, drawsAll } from '../helpers/sample.ts'

// What holds for one agent holds through each door of a fleet. Of each list a door runs one suite, all with TEST_DRAW=all.
// TEST_DOOR=2 npm test -- tests/e2e/… runs a whole file so.

/** One of the doors of a fleet, as suites use it. */
interface Door {
  client: Client
  front: { url(): string; token(): string }
  fleet(): FleetOfTests
  registry(): TestRegistry
}

type Suite = (door: Door) => void

/** Suites in which boxes may be anywhere. */
const ANYWHERE: readonly Suite[] = [
  ({ client }) => defineBoxesSuite(client),
  ({ client }) => defineExecSuite(client),
  ({ client }) => defineExecRecordsSuite(client),
  ({ client }) => defineInputSuite(client, 'embedded'),
  ({ client }) => defineTokensSuite(client),
  ({ client }) => defineForksSuite(client),
  ({ client }) => defineEventsSuite(client),
  ({ client, front }) => defineConsolesSuite(client, front),
  ({ client, front }) => defineStreamsSuite(client, front),
]

/** Suites that attach volumes to boxes which are there, reach a quota, or expect what is of one host of all boxes. */
const TOGETHER: readonly Suite[] = [
  ({ client }) => defineIdleSuite(client),
  ({ client }) => defineBoxSnapshotsSuite(client),
  ({ client }) => defineServicesSuite(client),
  ({ client }) => defineDeploysSuite(client),
  ({ client }) => defineUrlsSuite(client),
  ({ client }) => defineVolumesSuite(client),
  ({ client }) => defineVolumeSnapshotsSuite(client),
  ({ client }) => defineVolumeCopiesSuite(client),
  ({ client }) => defineBackupsSuite(client),
  ({ client }) => defineUpdatesSuite(client),
  ({ client }) => defineFilesSuite(client),
  ({ client }) => defineSnapshotFilesSuite(client),
  ({ client }) => defineSnapshotDiffSuite(client),
  ({ client }) => defineStorageSuite(client),
  ({ client }) => defineBasesSuite(client),
  ({ client, registry }) => definePulledBasesSuite(client, registry),
  ({ client }) => defineSpecificationSuite(client),
  defineTickets,
]

const DOORS = [0, 1, 2]

describe.each([
  ['spread', ANYWHERE],
  ['project', TOGETHER],
] as const)('in a fleet with placement %s', (placement, suites) => {
  let fleet: FleetOfTests
  let registry: TestRegistry

  beforeAll(async () => {
    registry = await startRegistry()
    const settings = { BOXYARD_PLACEMENT: placement, BOXYARD_BASE_REGISTRIES: registry.url, BOXYARD_POOL_GB: '1' }
    fleet = await startFleet(undefined, settings)
  })

  afterAll(async () => {
    await fleet?.close()
    await registry?.close()
  })

  const drawn = draw(suites, DOORS.length)
  const [first = 0] = draw(DOORS, 1)
  describe.each(DOORS)('through door %i', (door) => {
    const service = () => cellAt(fleet, door).service
    const front = { url: () => service().url, token: () => service().adminToken }
    const client = createClient(front.url, front.token)
    for (const define of drawsAll() ? drawn : drawn.slice((door + first) % DOORS.length).slice(0, 1))
      define({ client, front, fleet: () => fleet, registry: () => registry })
  })
})

/** Tickets lead to the data address of the cell that has the box. */
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
