import { expect, test } from '@jest/globals'
import { answerFlow } from '../../../shared/answer-flow.ts'
import type { OpenFlow } from '../../../shared/flow-turns.ts'
import { answersBytes } from '../../../shared/operation.ts'
import { operations } from '../../../shared/routes.ts'

const KIB = 1024

/** Returns the pieces of an answer that wait for a turn: a live event, kept history, and the end. */
function countedOf({ bytesOut }: { bytesOut: string | null }): (number | string)[] {
  const counted: (number | string)[] = []
  const open: OpenFlow = () => ({
    count: (size) => counted.push(size),
    ask: (size) => counted.push(size),
    hurry: () => undefined,
    close: () => counted.push('closed'),
  })
  const flow = answerFlow(bytesOut, open)({ hold: () => undefined, release: () => undefined })
  for (const size of [100, 16 * KIB, 16 * KIB + 1]) flow.count(size)
  flow.ask(16 * KIB)
  flow.ask(1024 * KIB)
  flow.close()
  return counted
}

test('bytes take turns for each piece, and a stream of events for its history alone', () => {
  expect(countedOf(operations.readFile)).toEqual([100, 16 * KIB, 16 * KIB + 1, 16 * KIB, 1024 * KIB, 'closed'])
  for (const operation of [operations.getServiceLogs, operations.listEvents]) {
    expect(answersBytes(operation)).toBe(true)
    expect(countedOf(operation)).toEqual([16 * KIB + 1, 1024 * KIB, 'closed'])
  }
})
