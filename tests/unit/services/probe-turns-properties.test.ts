import assert from 'node:assert/strict'
import { test } from '@jest/globals'
import fc from 'fast-check'
import { createProbeTurns } from '../../../agent/core/services/probe-turns.ts'
import { anyKey, check } from '../../helpers/fairness/check.ts'
import { settle } from '../../helpers/fairness/settle.ts'
import { createFakeTime } from '../../helpers/imagined-time.ts'

const MOST_COST = 6
const PER_SECOND = 20
const STEP_MS = 10

/** Looks at services of projects, some of which end before they have begun. */
const anyLooks = fc.array(
  fc.record({
    project: anyKey,
    cost: fc.integer({ min: 1, max: MOST_COST }),
    afterSteps: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, fc.nat({ max: 20 })),
    endsAfterSteps: fc.option(fc.nat({ max: 40 })),
  }),
  { maxLength: 80 },
)

interface Look {
  project: string
  cost: number
  state: 'waiting' | 'begun' | 'ended'
  /** Cost of what each other project began while this was the first of its own. */
  passedBy: Map<string, number>
}

test('no more looks begin than the rate gives, all of them do, and each project that waits has an equal part', async () => {
  const property = fc.asyncProperty(anyLooks, async (given) => {
    const { clock, advance } = createFakeTime()
    const turns = createProbeTurns({ clock, perSecond: PER_SECOND })
    const looks: Look[] = []
    const begun: { at: number; cost: number }[] = []
    const endings: { step: number; end: () => void }[] = []
    const begin = (look: Look): void => {
      if (look.state === 'ended') return
      expectRate(begun, { at: clock.now(), cost: look.cost })
      assert.equal(
        looks.find(({ state, project }) => state === 'waiting' && project === look.project),
        look,
      )
      look.state = 'begun'
      const waiting = looks.filter(({ state, project }) => state === 'waiting' && project !== look.project)
      for (const project of new Set(waiting.map((each) => each.project)))
        passBy(
          waiting.find((each) => each.project === project),
          look,
        )
    }
    let now = 0
    const step = async (): Promise<void> => {
      now++
      for (const { step: at, end } of endings) if (at === now) end()
      advance(STEP_MS)
      await settle()
    }
    for (const { project, cost, afterSteps, endsAfterSteps } of given) {
      for (let passed = 0; passed < afterSteps; passed++) await step()
      const look: Look = { project, cost, state: 'waiting', passedBy: new Map() }
      looks.push(look)
      const ending = new AbortController()
      const end = (): void => {
        if (look.state === 'waiting') look.state = 'ended'
        ending.abort()
      }
      if (endsAfterSteps !== null) endings.push({ step: now + endsAfterSteps, end })
      void turns.enter(project, cost, ending.signal).then(() => begin(look))
      await settle()
    }
    const cost = looks.reduce((sum, each) => sum + (each.state === 'waiting' ? each.cost : 0), 0)
    for (let ms = 0; ms <= ((cost + MOST_COST) / PER_SECOND) * 1000 + STEP_MS; ms += STEP_MS) await step()
    assert.deepEqual(
      looks.filter(({ state }) => state === 'waiting'),
      [],
    )
  })
  await check(property, 60)
})

/** Notes what begins; what began since any time, but for the last of it, is no more than a second's, and what came since. */
function expectRate(begun: { at: number; cost: number }[], next: { at: number; cost: number }): void {
  begun.push(next)
  let cost = -next.cost
  for (const { at, cost: each } of begun.toReversed()) {
    cost += each
    const most = PER_SECOND + ((next.at - at) / 1000) * PER_SECOND
    assert.ok(cost <= most + MOST_COST, `${cost} in ${next.at - at} ms`)
  }
}

// A look waits until its project has earned what it costs, one for each round; so does each other.
function passBy(first: Look | undefined, { project, cost }: Look): void {
  if (first === undefined) return
  const passed = (first.passedBy.get(project) ?? 0) + cost
  first.passedBy.set(project, passed)
  assert.ok(passed <= first.cost + MOST_COST, `${project} passed ${first.project} for ${passed} of ${first.cost}`)
}
