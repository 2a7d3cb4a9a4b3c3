import { test } from '@jest/globals'
import fc from 'fast-check'
import { createFairTurns } from '../../../shared/fair-turns.ts'
import { check } from '../../helpers/fairness/check.ts'
import { expectFairQueue, queueSteps } from '../../helpers/fairness/queue.ts'
import { settlePromises } from '../../helpers/fairness/settle.ts'

test('fair turns keep the rules of queues, of turns and of places to wait', async () => {
  const bounds = fc.record({ atOnce: fc.integer({ min: 2, max: 9 }), waitingMax: fc.integer({ min: 2, max: 12 }) })
  const property = fc.asyncProperty(bounds, queueSteps(), async ({ atOnce, waitingMax }, steps) => {
    const turns = createFairTurns(atOnce, waitingMax)
    const enter = async (key: string, signal: AbortSignal) => turns.take(key) ?? turns.wait(key, signal)
    // No key holds more than the remaining free part.
    const rules = {
      canLeave: true,
      mayBegin: (own: number, all: number) => own + 1 <= atOnce - all - 1,
      mayWait: (own: number, all: number) => own + 1 <= waitingMax - all - 1,
    }
    await expectFairQueue({ enter, settle: settlePromises }, rules, steps)
  })
  await check(property, 200)
})
