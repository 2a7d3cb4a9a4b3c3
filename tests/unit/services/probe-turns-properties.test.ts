import assert from 'node:assert/strict'
import { test } from '@jest/globals'
import fc from 'fast-check'
import { createProbeTurns } from '../../../agent/core/services/probe-turns.ts'
import { check, KEYS } from '../../helpers/fairness/check.ts'
import { settlePromises } from '../../helpers/fairness/settle.ts'
import { createFakeTime } from '../../helpers/imagined-time.ts'

const MOST_COST = 6
const PER_SECOND = 20
const STEP_MS = 10

/** Cost of a probe, by project. */
const anyCosts = fc.array(fc.integer({ min: 1, max: MOST_COST }), { minLength: KEYS.length, maxLength: KEYS.length })

/** Probes services of projects. Some services end before their probe begins. */
const anyLooks = fc.array(
  fc.record({
    project: fc.constantFrom(...KEYS),
    afterSteps: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, fc.nat({ max: 20 })),
    endsAfterSteps: fc.option(fc.nat({ max: 40 })),
  }),
  { maxLength: 80 },
)

interface Look {
  project: string
  cost: number
  state: 'waiting' | 'begun' | 'ended'
  /** Cost of the probes that each other project began while this probe was the first of its own project. */
  passedBy: Map<string, number>
}

test('no more looks begin than the rate gives, all of them do, and each project that waits has an equal part', async () => {
  const property = fc.asyncProperty(anyCosts, anyLooks, async (costs, given) => {
    const { clock, advance } = createFakeTime()
    const turns = createProbeTurns({ clock, perSecond: PER_SECOND })
    const looks: Look[] = []
    const begun: { at: number; cost: number }[] = []
    const leads = new Map<string, number>()
    const problems: unknown[] = []
    const endings: { step: number; end: () => void }[] = []
    const begin = (look: Look): void => {
      if (look.state === 'ended') return
      expectRate(begun, { at: clock.now(), cost: look.cost })
      assert.equal(
        looks.find(({ state, project }) => state === 'waiting' && project === look.project),
        look,
      )
      look.state = 'begun'
      expectEqualParts(
        leads,
        look,
        new Set(looks.filter(({ state }) => state === 'waiting').map((each) => each.project)),
      )
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
      await settlePromises()
    }
    for (const { project, afterSteps, endsAfterSteps } of given) {
      const cost = costs[KEYS.indexOf(project)] ?? 1
      for (let passed = 0; passed < afterSteps; passed++) await step()
      const look: Look = { project, cost, state: 'waiting', passedBy: new Map() }
      looks.push(look)
      const ending = new AbortController()
      const end = (): void => {
        if (look.state === 'waiting') look.state = 'ended'
        ending.abort()
      }
      if (endsAfterSteps !== null) endings.push({ step: now + endsAfterSteps, end })
      turns
        .enter(project, cost, ending.signal)
        .then(() => begin(look))
        .catch((error: unknown) => problems.push(error))
      await settlePromises()
      assert.deepEqual(problems, [])
    }
    const cost = looks.reduce((sum, each) => sum + (each.state === 'waiting' ? each.cost : 0), 0)
    for (let ms = 0; ms <= ((cost + MOST_COST) / PER_SECOND) * 1000 + STEP_MS; ms += STEP_MS) await step()
    assert.deepEqual(problems, [])
    assert.deepEqual(
      looks.filter(({ state }) => state === 'waiting'),
      [],
    )
  })
  await check(property, 60)
})

/**
 * Records a probe that begins. Checks that since any time, except for the last probe, no more has begun than a second's rate and the rate
 * since then.
 */
function expectRate(begun: { at: number; cost: number }[], next: { at: number; cost: number }): void {
  begun.push(next)
  let cost = -next.cost
  for (const { at, cost: each } of begun.toReversed()) {
    cost += each
    const most = PER_SECOND + ((next.at - at) / 1000) * PER_SECOND
    assert.ok(cost <= most + MOST_COST, `${cost} in ${next.at - at} ms`)
  }
}

// A probe waits until its project has earned its cost. Each project earns one per round.
function passBy(first: Look | undefined, { project, cost }: Look): void {
  if (first === undefined) return
  const passed = (first.passedBy.get(project) ?? 0) + cost
  first.passedBy.set(project, passed)
  assert.ok(passed <= first.cost + MOST_COST, `${project} passed ${first.project} for ${passed} of ${first.cost}`)
}

/** Records how far each project is ahead of another while both wait. The lead is at most twice the largest cost. */
function expectEqualParts(leads: Map<string, number>, { project, cost }: Look, waiting: ReadonlySet<string>): void {
  for (const key of leads.keys()) if (!key.split(' ').every((each) => waiting.has(each))) leads.delete(key)
  if (!waiting.has(project)) return
  for (const other of waiting) {
    if (other === project) continue
    const lead = (leads.get(`${project} ${other}`) ?? 0) + cost
    leads.set(`${project} ${other}`, lead)
    leads.set(`${other} ${project}`, -lead)
    assert.ok(lead <= 2 * MOST_COST, `${project} is ${lead} ahead of ${other}`)
  }
}
