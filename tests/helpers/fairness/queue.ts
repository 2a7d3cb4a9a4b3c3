import assert from 'node:assert/strict'
import fc from 'fast-check'
import { anyKey } from './check.ts'

/** A queue whose keys take turns, as the properties of all such queues use it. */
export interface QueueUnderTest {
  /** Waits for a turn of a key; resolves with what ends it. Rejects if too many wait, or `signal` aborts first, where users may leave. */
  enter(key: string, signal: AbortSignal): Promise<() => void>
  /** Lets everything happen that can happen now. */
  settle(): Promise<void>
}

/** The bounds of a queue, by what one key and all keys have. */
export interface QueueRules {
  /** Whether one more turn of a key may begin, while the key has `own` turns of `all`, and `keys` have asked. */
  mayBegin(own: number, all: number, keys: number): boolean
  /** Whether one more of a key may wait, while `own` of it wait, of `all`; default: always. */
  mayWait?(own: number, all: number): boolean
  /** True if users may leave while they wait. */
  canLeave?: boolean
}

/** One thing that the users of a queue do; `pick` chooses among all that have asked. */
export type QueueStep = { act: 'ask'; key: string } | { act: 'end' | 'leave'; pick: number }

/** Draws what users do: at most `maxLength` steps. */
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
  /** Turns of other keys that began while this was the first of its key, which had none. */
  passedBy: Map<string, number>
}

/**
 * Has users do the steps, and expects of the queue after each of them: no turn beyond the bounds; nobody waits who may begin; turns of a
 * key begin in order; whoever has no turn lets each other key pass once at most. In the end all who wait have their turn, and the whole
 * queue is free again.
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
    // A second end frees nothing.
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
