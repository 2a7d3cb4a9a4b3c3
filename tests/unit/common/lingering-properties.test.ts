import assert from 'node:assert/strict'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { test } from '@jest/globals'
import fc from 'fast-check'
import { createLingering } from '../../../shared/lingering.ts'
import { anyKey, check } from '../../helpers/fairness/check.ts'

const anySteps = fc.array(
  fc.record({
    owners: fc.array(anyKey, { minLength: 1, maxLength: 2 }),
    /** Picks of open streams that close before the new one opens. */
    closing: fc.array(fc.nat({ max: 100 }), { maxLength: 2 }),
  }),
  { maxLength: 40 },
)

interface Kept {
  owners: ReadonlySet<string>
  isOpen: boolean
  close(): void
}

test('no more stay open than may, and what is closed is the oldest of an owner that has most', async () => {
  const property = fc.asyncProperty(fc.integer({ min: 1, max: 8 }), anySteps, async (most, steps) => {
    const all: Kept[] = []
    const open = (): Kept[] => all.filter(({ isOpen }) => isOpen)
    const problems: string[] = []
    let [closing, released] = [0, 0]
    const countOf = (owner: string): number => open().filter(({ owners }) => owners.has(owner)).length
    const lingering = createLingering(most, () => void released++)
    for (const step of steps) {
      for (const pick of step.closing) open()[pick % Math.max(1, open().length)]?.close()
      await nextTurn()
      const { promise, resolve } = Promise.withResolvers<void>()
      const kept: Kept = {
        owners: new Set(step.owners),
        isOpen: true,
        close: () => {
          if (kept.isOpen) closing++
          kept.isOpen = false
          resolve()
        },
      }
      all.push(kept)
      const release = (): void => {
        const largest = Math.max(...open().flatMap(({ owners }) => [...owners].map(countOf)))
        const owner = [...kept.owners].find((each) => countOf(each) === largest) ?? ''
        const others = [...kept.owners].filter((each) => each !== owner)
        const isLike = ({ owners }: Kept): boolean => owners.has(owner) && others.every((each) => owners.has(each))
        const oldest = open().find((each) => isLike(each) && each.owners.size === kept.owners.size)
        if (oldest !== kept) problems.push(`${[...kept.owners].join()} lost one`)
        kept.close()
      }
      lingering.add({ released: promise, release }, step.owners)
      await nextTurn()
      assert.deepEqual(problems, [])
      assert.ok(open().length <= most)
      assert.deepEqual([lingering.size, released], [open().length, closing])
    }
  })
  await check(property, 50)
})
