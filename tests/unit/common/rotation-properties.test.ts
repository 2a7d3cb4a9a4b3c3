import assert from 'node:assert/strict'
import { test } from '@jest/globals'
import fc from 'fast-check'
import { createRotation, type FlowOwner } from '../../../shared/rotation.ts'
import { anyKey, check } from '../../helpers/fairness/check.ts'

interface Waiting {
  owner: FlowOwner
}

/** Counts how often others passed each key since it was last served, or since it began to wait. */
function createPasses() {
  const passes = new Map<string, Map<string, number>>()
  return {
    /** Counts a key that is served before waiting others of its kind. */
    serve: (key: string, others: ReadonlySet<string>): void => {
      passes.delete(key)
      for (const other of others) {
        if (other === key) continue
        const passedBy = passes.get(other) ?? new Map<string, number>()
        passes.set(other, passedBy.set(key, (passedBy.get(key) ?? 0) + 1))
        assert.equal(passedBy.get(key), 1, `${key} passed ${other} again`)
      }
    },
    keep: (waiting: ReadonlySet<string>): void => {
      for (const key of passes.keys()) if (!waiting.has(key)) passes.delete(key)
    },
  }
}

const anyStep = fc.oneof(
  fc.record({ act: fc.constant('add' as const), project: anyKey, box: anyKey }),
  fc.record({ act: fc.constant('remove' as const), pick: fc.nat({ max: 100 }) }),
  fc.record({ act: fc.constant('take' as const) }),
)

test('whoever waits is taken once, in order for its box, after one of each other project and box of its own at most', async () => {
  const property = fc.property(fc.array(anyStep, { maxLength: 80 }), (steps) => {
    const rotation = createRotation<Waiting>()
    const waiting: Waiting[] = []
    const gone: Waiting[] = []
    const passes = createPasses()
    const projects = () => new Set(waiting.map(({ owner }) => owner.project))
    const boxes = (of?: string) =>
      new Set(
        waiting.flatMap(({ owner: { project, box } }) =>
          of === undefined || of === project ? [`${project}/${box}`] : [],
        ),
      )
    const leave = (each: Waiting): void => {
      waiting.splice(waiting.indexOf(each), 1)
      gone.push(each)
    }
    const take = (): void => {
      const taken = rotation.take()
      assert.equal(taken === undefined, waiting.length === 0)
      if (taken === undefined) return
      assert.ok(waiting.includes(taken), 'what is taken waits')
      const { project, box } = taken.owner
      const isOfBox = ({ owner }: Waiting): boolean => owner.project === project && owner.box === box
      assert.equal(waiting.find(isOfBox), taken, 'the first of its box is taken')
      leave(taken)
      passes.serve(project, projects())
      passes.serve(`${project}/${box}`, boxes(project))
      passes.keep(new Set([...projects(), ...boxes()]))
    }
    for (const step of steps) {
      if (step.act === 'take') take()
      else if (step.act === 'add') {
        const added = { owner: { project: step.project, box: step.box } }
        waiting.push(added)
        rotation.add(added)
      } else {
        const all = [...waiting, ...gone]
        const chosen = all[step.pick % Math.max(1, all.length)]
        if (chosen !== undefined) rotation.remove(chosen)
        if (chosen !== undefined && waiting.includes(chosen)) leave(chosen)
        passes.keep(new Set([...projects(), ...boxes()]))
      }
      assert.equal(rotation.size, waiting.length)
    }
    while (waiting.length > 0) take()
  })
  await check(property, 300)
})
