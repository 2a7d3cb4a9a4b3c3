import assert from 'node:assert/strict'
import { test } from '@jest/globals'
import fc from 'fast-check'
import { createKeyedQueue } from '../../../agent/core/common/keyed-queue.ts'
import { anyKey, check, KEYS } from '../../helpers/fairness/check.ts'
import { settlePromises } from '../../helpers/fairness/settle.ts'

type Step = { act: 'add' | 'turn' | 'end' | 'fail' | 'give up'; key: string }

const anySteps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    act: fc.constantFrom('add', 'add', 'turn', 'turn', 'end', 'end', 'end', 'fail', 'give up'),
    key: anyKey,
  }),
  { maxLength: 60 },
)

/** The state of a key, as seen from outside. */
interface Known {
  running: { kind: 'work' | 'turn'; end(isFailed: boolean): void } | null
  /** True while a run is due and has not begun. */
  isAdded: boolean
  /** Waiting turns, first one first. */
  waiting: { giveUp(): void; outcome: string }[]
  order: string[]
}

/** A queue whose work and turns last until the test ends them. */
function openQueue() {
  const known = new Map<string, Known>(
    KEYS.map((key) => [key, { running: null, isAdded: false, waiting: [], order: [] } satisfies Known]),
  )
  const of = (key: string): Known => known.get(key) ?? assert.fail(key)
  const problems: string[] = []
  let errors = 0
  /** Records a violation. Functions that the queue calls must not throw. */
  const claim = (holds: boolean, what: string): void => void (holds || problems.push(what))
  const begin = (key: string, kind: 'work' | 'turn'): Promise<void> => {
    const state = of(key)
    claim(state.running === null, `two at once of ${key}`)
    const last = state.order.at(-1)
    if (kind === 'work') {
      claim(state.isAdded, 'a run that nobody asked for')
      claim(last !== 'work, with turns waiting' || state.waiting.length === 0, 'two runs before a turn')
      state.isAdded = false
    } else claim(last !== 'turn, with a run due', 'two turns before a run')
    return new Promise((resolve, reject) => {
      state.running = {
        kind,
        end: (isFailed) => {
          state.running = null
          const isOtherDue = kind === 'work' ? state.waiting.length > 0 : state.isAdded
          state.order.push(isOtherDue ? (kind === 'work' ? 'work, with turns waiting' : 'turn, with a run due') : kind)
          if (isFailed) reject(new Error('failed'))
          else resolve()
        },
      }
    })
  }
  const queue = createKeyedQueue({
    work: (key) => begin(key, 'work'),
    onError: () => void errors++,
    clock: { sleep: () => new Promise(() => undefined) },
  })
  const ask = (key: string): void => {
    const state = of(key)
    const over = Promise.withResolvers<void>()
    const turn = { giveUp: over.resolve, outcome: 'waiting' }
    state.waiting.push(turn)
    const run = (): Promise<void> => {
      claim(state.waiting.shift() === turn, 'a turn before an earlier one')
      turn.outcome = 'begun'
      return begin(key, 'turn')
    }
    queue.exclusive(key, run, over.promise).then(
      () => (turn.outcome = 'done'),
      (error: Error & { code?: string }) => (turn.outcome = error.code ?? error.message),
    )
  }
  return { queue, of, ask, problems, errors: () => errors }
}

test('a key has one run or turn at a time, runs and turns by turns, and a run after each time it was added', async () => {
  const property = fc.asyncProperty(anySteps, async (steps) => {
    const { queue, of, ask, problems, errors } = openQueue()
    let failed = 0
    const act = async ({ act: what, key }: Step): Promise<void> => {
      const state = of(key)
      if (what === 'add') {
        state.isAdded = true
        queue.add(key)
      } else if (what === 'turn') ask(key)
      else if (what === 'give up') {
        const turn = state.running === null ? undefined : state.waiting.pop()
        turn?.giveUp()
        await settlePromises()
        assert.equal(turn?.outcome ?? 'box_busy', 'box_busy')
      } else {
        if (what === 'fail' && state.running?.kind === 'work') failed++
        state.running?.end(what === 'fail')
      }
      await settlePromises()
      assert.deepEqual(problems, [])
      // Nothing waits unless something runs.
      if (state.running === null) assert.deepEqual([state.isAdded, state.waiting.length], [false, 0])
    }
    for (const step of steps) await act(step)
    for (const key of KEYS) while (of(key).running !== null) await act({ act: 'end', key })
    assert.deepEqual(queue.counts(), { running: 0, waiting: 0, later: 0 })
    assert.equal(errors(), failed)
  })
  await check(property, 150)
})

test('a queue that is closed begins no more work, lets turns that wait end, and resolves once nothing runs', async () => {
  const property = fc.asyncProperty(anySteps, async (steps) => {
    const { queue, of, ask, problems } = openQueue()
    for (const { act, key } of steps) {
      if (act === 'add') {
        of(key).isAdded = true
        queue.add(key)
      } else if (act === 'turn') ask(key)
      await settlePromises()
    }
    let isClosed = false
    void queue.close().then(() => (isClosed = true))
    for (const key of KEYS) {
      // The queue drops due work, and work added now.
      queue.add(key)
      of(key).isAdded = false
      let isFirst = true
      while (of(key).running !== null) {
        assert.ok(!isClosed && (isFirst || of(key).running?.kind === 'turn'))
        isFirst = false
        of(key).running?.end(false)
        await settlePromises()
      }
    }
    await settlePromises()
    assert.deepEqual([isClosed, problems], [true, []])
    await assert.rejects(
      queue.exclusive('a', async () => undefined, Promise.resolve()),
      { code: 'draining' },
    )
  })
  await check(property, 50)
})
