import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { createKeyedLock, createLimiter, shareRuns } from '../../../shared/locks.ts'
import { check } from '../../helpers/fairness/check.ts'
import { expectFairQueue, queueSteps } from '../../helpers/fairness/queue.ts'
import { settlePromises } from '../../helpers/fairness/settle.ts'

/** Returns a function that enters through `run`, which runs work of a key. A turn lasts until the test ends it, and can then fail. */
function enterBy(run: (work: () => Promise<void>, key: string) => Promise<void>, fails: boolean) {
  return (key: string): Promise<() => void> =>
    new Promise((begin) => {
      const work = () =>
        new Promise<void>((resolve, reject) => begin(() => (fails ? reject(new Error('failed')) : resolve())))
      run(work, key).catch(() => undefined)
    })
}

test('a limiter keeps the rules of queues, also if work fails', async () => {
  const property = fc.asyncProperty(
    fc.integer({ min: 1, max: 5 }),
    fc.boolean(),
    queueSteps(),
    async (limit, fails, steps) => {
      const limiter = createLimiter(limit)
      const enter = enterBy((work, key) => limiter.run(work, key), fails)
      await expectFairQueue({ enter, settle: settlePromises }, { mayBegin: (_own, all) => all < limit }, steps)
    },
  )
  await check(property)
})

test('a lock by key runs one piece of work of each key at a time, in order, and never makes a key wait for another', async () => {
  const property = fc.asyncProperty(fc.boolean(), queueSteps(), async (fails, steps) => {
    const lock = createKeyedLock()
    const enter = enterBy((work, key) => lock.run(key, work), fails)
    await expectFairQueue(
      { enter, settle: settlePromises },
      { mayBegin: (own) => own === 0 },
      steps.filter(({ act }) => act !== 'leave'),
    )
  })
  await check(property)
})

describe('shared runs', () => {
  test('serve each call by a run that began after it, one at a time, and by the next one at the latest', async () => {
    const property = fc.asyncProperty(
      fc.array(fc.constantFrom('call', 'end', 'fail'), { maxLength: 40 }),
      async (steps) => {
        let [begun, ended, calls] = [0, 0, 0]
        let finish: { resolve(): void; reject(error: Error): void } | null = null
        const problems: string[] = []
        const run = shareRuns(() => {
          if (begun !== ended) problems.push('two runs at once')
          begun++
          return new Promise<void>((resolve, reject) => (finish = { resolve, reject }))
        })
        const over = async (isFailed: boolean): Promise<void> => {
          if (begun === ended) return
          ended++
          if (isFailed) finish?.reject(new Error('failed'))
          else finish?.resolve()
          await settlePromises()
        }
        let answered = 0
        for (const step of steps) {
          if (step !== 'call') await over(step === 'fail')
          else {
            calls++
            const due = begun + 1
            const answer = (): void => {
              answered++
              if (ended !== due) problems.push(`run ${due} was due, ${ended} had ended`)
            }
            void run().then(answer, answer)
            await settlePromises()
          }
          // No caller waits unless something runs.
          if (answered < calls) expect(begun).toBe(ended + 1)
        }
        while (answered < calls) await over(false)
        expect([problems, begun <= calls]).toEqual([[], true])
      },
    )
    await check(property)
  })
})
