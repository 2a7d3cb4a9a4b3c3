import { beforeAll, expect, test } from '@jest/globals'
import { BOX_REASONS, BOX_TRANSITIONS } from '../../../shared/box-states.ts'
import { boxReasonSchema } from '../../../shared/schemas/boxes.ts'
import { type Exploration, exploreBoxes } from '../../helpers/boxes/box-explorer.ts'

let found: Exploration

beforeAll(async () => {
  found = await exploreBoxes()
})

test('the changes of state that the table tells of are those that boxes make', () => {
  const told = BOX_TRANSITIONS.flatMap(({ from, to }) => from.flatMap((one) => to.map((other) => `${one} → ${other}`)))
  // Made by no agent that was killed, but by one that lives: the tests of idle stops show it.
  const takenBack = 'stopping → ready'
  expect([...new Set(told)].sort()).toEqual([...found.changes, takenBack].sort())
})

test.each(boxReasonSchema.options)('the reason %s goes with the status that the table tells of', (reason) => {
  const statuses = [...found.states].filter((state) => state.endsWith(`/${reason}`) && !state.startsWith('unknown/'))
  const [status] = BOX_REASONS[reason]
  expect(statuses).toEqual(status === null ? [] : [`${status}/${reason}`])
})
