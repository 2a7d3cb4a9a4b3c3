import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals'
import type { LaterPart } from '../../../agent/ports/store/events.ts'
import { createProcessorTurns, type ProcessorTurns } from '../../../agent/server/processor-turns.ts'
import { createRecentProjects } from '../../../shared/project-turns.ts'

let turns: ProcessorTurns
let time = 0
let begun: string[]

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'performance'] })
  time = 0
  begun = []
  turns = createProcessorTurns({ recent: createRecentProjects(), now: () => time })
})

afterEach(() => void jest.useRealTimers())

/** Asks for a turn whose work takes `ms` of the loop and then waits for `rest`. */
function ask(
  name: string,
  ms: number,
  rest: (later: LaterPart) => Promise<void> = async () => undefined,
): Promise<void> {
  return turns.run(name.split('/')[0] ?? '', async (later) => {
    begun.push(name)
    time += ms
    await rest(later)
  })
}

async function pass(ms: number): Promise<void> {
  await nextTurn()
  time += ms
  await jest.advanceTimersByTimeAsync(ms)
  for (let i = 0; i < 20; i++) await nextTurn()
}

test('what costs little begins at once', async () => {
  void ask('a/1', 0)
  void ask('b/1', 0)
  expect(begun).toEqual(['a/1', 'b/1'])
  await nextTurn()
  void ask('a/2', 0)
  expect(begun).toEqual(['a/1', 'b/1', 'a/2'])
})

test('an account alone does not pause, and begins one request in a turn of the loop', async () => {
  const asked = [1, 2, 3].map((each) => ask(`a/${each}`, 100))
  const perTurn: number[] = []
  for (let i = 0; i < 3; i++) {
    perTurn.push(begun.length)
    await nextTurn()
  }
  await Promise.all(asked)
  expect(perTurn[0]).toBeLessThan(3)
  expect(begun).toEqual(['a/1', 'a/2', 'a/3'])
})

test('while others are there, it pauses for three times what it used; they begin at once', async () => {
  await ask('calm/1', 1)
  await nextTurn()
  const asked = [1, 2, 3].map((each) => ask(`loud/${each}`, 50))
  await pass(0)
  expect(begun).toEqual(['calm/1', 'loud/1'])
  void ask('calm/2', 0)
  expect(begun).toEqual(['calm/1', 'loud/1', 'calm/2'])
  await pass(125)
  expect(begun).toHaveLength(3)
  await pass(10)
  expect(begun).toEqual(['calm/1', 'loud/1', 'calm/2', 'loud/2'])
  await pass(2_000)
  await Promise.all(asked)
  expect(begun.at(-1)).toBe('loud/3')
})

test('what an account used while it was alone is not owed to who comes later', async () => {
  for (let i = 0; i < 20; i++) {
    await ask(`busy/${i}`, 100)
    await nextTurn()
  }
  await ask('calm/1', 0)
  begun.length = 0
  void ask('busy/20', 100)
  await nextTurn()
  expect(begun).toEqual(['busy/20'])
  void ask('busy/21', 100)
  await pass(200)
  expect(begun).toEqual(['busy/20'])
})

test('nobody pauses for the sake of strangers, who pause for the others', async () => {
  await ask('strangers/1', 0)
  await ask('busy/1', 100)
  void ask('busy/2', 100)
  await nextTurn()
  await ask('strangers/2', 100)
  void ask('strangers/3', 1)
  await nextTurn()
  expect(begun).toEqual(['strangers/1', 'busy/1', 'busy/2', 'strangers/2'])
  await pass(500)
  expect(begun.at(-1)).toBe('strangers/3')
})

test('those that have waited for the same go on one in a turn of the loop, and pay once', async () => {
  await ask('calm/1', 0)
  const event = Promise.withResolvers<void>()
  const woken: string[] = []
  const waiting = ['loud/1', 'loud/2', 'loud/3'].map((name) =>
    ask(name, 0, async (later) => {
      await event.promise
      await turns.run('loud', async () => {
        woken.push(name)
        time += 10
      })
      later(() => (time += 10))
    }),
  )
  await pass(0)
  event.resolve()
  await nextTurn()
  expect(woken).toEqual(['loud/1'])
  void ask('calm/2', 0)
  // It pays 80 ms for 20 ms of work. Counting both parts twice, in the turn and separately, would make 120 ms.
  await pass(70)
  expect(woken).toEqual(['loud/1', 'loud/2'])
  await pass(500)
  await Promise.all(waiting)
  expect(woken).toEqual(['loud/1', 'loud/2', 'loud/3'])
})

test('accounts that owe take turns, and the requests of each stay in order', async () => {
  await ask('calm/0', 0)
  await nextTurn()
  await ask('a/0', 10)
  await nextTurn()
  await ask('b/0', 10)
  await nextTurn()
  for (const name of ['a/1', 'a/2', 'b/1', 'b/2']) void ask(name, 1)
  await pass(200)
  expect(begun.slice(3)).toEqual(['a/1', 'b/1', 'a/2', 'b/2'])
})

test('a request that waits holds up nobody, and pays for what it does afterwards', async () => {
  await ask('calm/1', 0)
  const answer = Promise.withResolvers<void>()
  const slow = ask('loud/1', 0, async (later) => {
    await answer.promise
    later(() => (time += 100))
  })
  await pass(1_000)
  void ask('loud/2', 0)
  await nextTurn()
  expect(begun).toEqual(['calm/1', 'loud/1', 'loud/2'])
  answer.resolve()
  await slow
  await nextTurn()
  void ask('calm/2', 0)
  void ask('loud/3', 0)
  await pass(200)
  expect(begun.slice(3)).toEqual(['calm/2'])
  await pass(200)
  expect(begun.slice(3)).toEqual(['calm/2', 'loud/3'])
})

test('a request that fails is charged as well, and the next goes on', async () => {
  await ask('calm/1', 0)
  const failing = turns.run('loud', async () => {
    time += 100
    throw new Error('refused')
  })
  await expect(failing).rejects.toThrow('refused')
  await nextTurn()
  void ask('calm/2', 0)
  void ask('loud/2', 0)
  await pass(200)
  expect(begun).toEqual(['calm/1', 'calm/2'])
  await pass(200)
  expect(begun).toEqual(['calm/1', 'calm/2', 'loud/2'])
})

test('nobody pauses for more than five seconds, whatever it has used', async () => {
  await ask('calm/1', 0)
  await nextTurn()
  await ask('loud/1', 60_000)
  await nextTurn()
  void ask('loud/2', 0)
  for (let i = 0; i < 4; i++) {
    void ask(`calm/${i}`, 0)
    await pass(1_200)
  }
  expect(begun).not.toContain('loud/2')
  await pass(1_200)
  expect(begun).toContain('loud/2')
})
