import assert from 'node:assert/strict'
import fc from 'fast-check'
import { anyKey } from './check.ts'

/** A queue whose keys take turns, in the form that property tests use. */
export interface QueueUnderTest {
  /**
   * Waits for a turn of a key. Resolves with a function that ends the turn. Rejects if too many wait, or if `signal` aborts first and users
   * can leave.
   */
  enter(key: string, signal: AbortSignal): Promise<() => void>
  /** Waits until everything that can happen now has happened. */
  settle(): Promise<void>
}

/** Limits of a queue, from the counts of one key and of all keys. */
export interface QueueRules {
  /** Returns true if a key can begin one more turn. It has `own` of `all` turns, and `keys` keys have asked. */
  mayBegin(own: number, all: number, keys: number): boolean
  /** Returns true if a key can have one more waiting request. It has `own` of `all` waiting requests. Default: always. */
  mayWait?(own: number, all: number): boolean
  /** True if users can leave while they wait. */
  canLeave?: boolean
}

/** A user action. `pick` chooses among all earlier requests. */
export type QueueStep = { act: 'ask'; key: string } | { act: 'end' | 'leave'; pick: number }

/** Draws at most `maxLength` user actions. */
export function queueSteps(maxLength = 40): fc.Arbitrary<QueueStep[]> {
  const pick = fc.nat({ max: 1_000 })
  const ask = fc.record({ act: fc.constant('ask' as const), key: anyKey })
  const other = fc.record({ act: fc.constantFrom('end' as const, 'leave' as const), pick })
  return fc.array(fc.oneof({ weight: 3, arbitrary: ask }, { weight: 2, arbitrary: other }), { maxLength })
}

interface Asked {
  key: string
  state: 'new' | 'waiting' | 'running' | 'over' | 'refused'
  leaving: AbortController
  end(): void
  /** Counts turns of other keys while this is the first request of its key and the key has no turn. */
  passedBy: Map<string, number>
}

/**
 * Runs the steps and checks the queue after each of them:
 * - No key exceeds its limits.
 * - No request waits that could begin.
 * - Turns of a key begin in order.
 * - A key without a turn lets each other key pass once at most.
 * At the end, every waiting request gets its turn and the whole queue is free again.
 */
export async function expectFairQueue(
  queue: QueueUnderTest,
  rules: QueueRules,
  steps: readonly QueueStep[],
): Promise<void> {
  const users = createUsers(queue, rules)
  for (const step of steps) {
    await users.act(step)
    users.expectRules()
  }
  await users.drain()
  for (let fresh = 0; fresh < FRESH_MAX && users.mayBegin(`fresh ${fresh}`); fresh++) {
    await users.act({ act: 'ask', key: `fresh ${fresh}` })
    users.expectRules()
  }
  await users.drain()
}

function createUsers(queue: QueueUnderTest, { mayBegin, mayWait = () => true, canLeave = false }: QueueRules) {
  const all: Asked[] = []
  const inState = (state: Asked['state'], key?: string): Asked[] =>
    all.filter((each) => each.state === state && (key === undefined || each.key === key))
  const canBegin = (key: string): boolean => {
    const keys = new Set(all.map((each) => each.key)).add(key)
    return mayBegin(inState('running', key).length, inState('running').length, keys.size)
  }
  const begin = (asked: Asked, end: () => void): void => {
    assert.ok(canBegin(asked.key), `${asked.key} has more turns than it may have`)
    assert.equal(inState('waiting', asked.key)[0] ?? asked, asked, `a turn of ${asked.key} began before an earlier one`)
    asked.state = 'running'
    asked.end = end
    for (const key of new Set(inState('waiting').map((each) => each.key))) {
      const [first] = inState('waiting', key)
      if (first === undefined || key === asked.key || inState('running', key).length > 0) continue
      first.passedBy.set(asked.key, (first.passedBy.get(asked.key) ?? 0) + 1)
    }
  }
  const problems: unknown[] = []
  const ask = async (key: string): Promise<void> => {
    const isRefused = !canBegin(key) || inState('waiting', key).length > 0
    const mustRefuse = isRefused && !mayWait(inState('waiting', key).length, inState('waiting').length)
    const leaving = new AbortController()
    const asked: Asked = { key, state: 'new', leaving, end: () => undefined, passedBy: new Map() }
    all.push(asked)
    const fail = (): void => void (asked.state = leaving.signal.aborted ? 'over' : 'refused')
    void queue
      .enter(key, leaving.signal)
      .then((end) => begin(asked, end), fail)
      .catch((error: unknown) => problems.push(error))
    await queue.settle()
    if (asked.state === 'new') asked.state = 'waiting'
    assert.equal(asked.state === 'refused', mustRefuse, `${key} is ${asked.state}`)
  }
  const end = (asked: Asked): void => {
    asked.state = 'over'
    asked.end()
    // A second call frees nothing.
    asked.end()
  }
  const act = async (step: QueueStep): Promise<void> => {
    if (step.act === 'ask') return ask(step.key)
    const among = step.act === 'end' ? inState('running') : [...inState('waiting'), ...inState('running')]
    const chosen = among[step.pick % Math.max(1, among.length)]
    if (chosen === undefined) return
    const isGone = step.act === 'end' || (canLeave && chosen.state === 'waiting')
    if (step.act === 'end') end(chosen)
    else chosen.leaving.abort(new Error('left'))
    await queue.settle()
    assert.equal(chosen.state === 'over', isGone, `one of ${chosen.key} is ${chosen.state}`)
  }
  const expectRules = (): void => {
    assert.deepEqual(problems, [])
    for (const { key, passedBy } of inState('waiting')) {
      assert.ok(!canBegin(key), `${key} waits, and may begin`)
      for (const [other, passes] of passedBy) assert.ok(passes <= 1, `${other} passed ${key} ${passes} times`)
    }
  }
  const drain = async (): Promise<void> => {
    for (let round = 0; round <= all.length && inState('running').length > 0; round++) {
      for (const each of inState('running')) end(each)
      await queue.settle()
      expectRules()
    }
    assert.deepEqual(inState('running').concat(inState('waiting')), [], 'some never have their turn')
  }
  return { act, drain, expectRules, mayBegin: canBegin }
}

const FRESH_MAX = 12
