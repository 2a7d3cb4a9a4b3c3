import { afterAll, beforeAll, describe } from '@jest/globals'
import { defineBoxesSuite } from '../e2e/boxes/suite.ts'
import { defineExecRecordsSuite } from '../e2e/exec/records-suite.ts'
import { defineExecSuite } from '../e2e/exec/suite.ts'
import { type FleetOfTests, startFleet } from '../helpers/fleet/cells.ts'
import { type Client, createClient } from '../helpers/front/client.ts'
import { draw } from '../helpers/sample.ts'

// What holds for one agent holds through each door of a fleet. Not here are the suites with quotas, which bound each cell by itself, and
// with volumes that are attached later to boxes, which are made on any node. TEST_DOOR=2 npm test -- tests/e2e/… runs a whole file so.

let fleet: FleetOfTests

beforeAll(async () => {
  fleet = await startFleet(undefined, {}, { areApart: true })
})

afterAll(async () => {
  await fleet?.close()
})

const SUITES: readonly ((client: Client) => void)[] = [defineBoxesSuite, defineExecSuite, defineExecRecordsSuite]

describe.each([0, 1, 2])('through door %i', (door) => {
  const service = () => {
    const cell = fleet.cells[door]
    if (cell === undefined) throw new Error(`There is no door ${door}.`)
    return cell.service
  }
  const client = createClient(
    () => service().url,
    () => service().adminToken,
  )
  for (const define of draw(SUITES, 1)) define(client)
})
