import { beforeAll, expect, test } from '@jest/globals'
import { BOX_REASONS, BOX_TRANSITIONS } from '../../../shared/box-states.ts'
import { boxReasonSchema } from '../../../shared/schemas/boxes.ts'
import { type Exploration, exploreBoxes } from '../../helpers/boxes/box-explorer.ts'

let found: Exploration

beforeAll(async () => {
  found = await exploreBoxes()
})

test('the transitions in the table are those that boxes make', () => {
  const told = BOX_TRANSITIONS.flatMap(({ from, to }) => from.flatMap((one) => to.map((other) => `${one} → ${other}`)))
  // Only a running agent makes this change, so the kill tests do not show it. The tests of idle stops do.
  const takenBack = 'stopping → ready'
  expect([...new Set(told)].sort()).toEqual([...found.changes, takenBack].sort())
})

test.each(boxReasonSchema.options)('the reason %s occurs with the statuses in the table', (reason) => {
  const statuses = [...found.states].filter((state) => state.endsWith(`/${reason}`) && !state.startsWith('unknown/'))
  const [status] = BOX_REASONS[reason]
  // The status reported for an unreachable cell is not a state that a box has there.
  expect(statuses).toEqual(status === null || status === 'unknown' ? [] : [`${status}/${reason}`])
})
