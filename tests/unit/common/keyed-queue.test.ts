import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from '@jest/globals'
import { createKeyedQueue } from '../../../agent/core/common/keyed-queue.ts'
import { eventually } from '../../helpers/eventually.ts'
import { createFakeTime } from '../../helpers/imagined-time.ts'

const never = new Promise<void>(() => undefined)

function recorded() {
  const steps: string[] = []
  const release = Promise.withResolvers<void>()
  const time = createFakeTime()
  const queue = createKeyedQueue({
    work: async (key) => {
      steps.push(`work ${key} begins`)
      await release.promise
      steps.push(`work ${key} ends`)
    },
    onError: (key, error) => steps.push(`${key}: ${String(error)}`),
    clock: time.clock,
  })
  return { steps, queue, time, release: () => release.resolve() }
}

describe('a turn of its own', () => {
  test('begins at once if nothing runs, and returns the outcome', async () => {
    const { queue } = recorded()
    let isBegun = false
    const turn = queue.exclusive(
      'a',
      async () => {
        isBegun = true
        return 7
      },
      Promise.resolve(),
    )
    expect(isBegun).toBe(true)
    expect(await turn).toBe(7)
    await expect(queue.exclusive('a', () => Promise.reject(new Error('no')), never)).rejects.toThrow('no')
  })

  test('waits for running work, comes before queued work, and is exclusive', async () => {
    const { queue, steps, release } = recorded()
    queue.add('a')
    queue.add('a')
    const turns = ['first', 'second'].map((name) =>
      queue.exclusive(
        'a',
        async () => {
          steps.push(`${name} begins`)
          await sleep(5)
          steps.push(`${name} ends`)
        },
        never,
      ),
    )
    release()
    await Promise.all(turns)
    await queue.close()
    expect(steps).toEqual([
      'work a begins',
      'work a ends',
      'first begins',
      'first ends',
      'work a begins',
      'work a ends',
      'second begins',
      'second ends',
    ])
  })

  test('admits requests one after another, for any number', async () => {
    const { queue, steps, release } = recorded()
    release()
    let isOver = false
    const again = async (): Promise<void> => {
      while (!isOver) await queue.exclusive('a', () => sleep(1), never)
    }
    const others = [again(), again()]
    queue.add('a')
    await eventually(() => steps.includes('work a ends'))
    isOver = true
    await Promise.all(others)
  })

  test('that cannot begin in time never does, and delays no others', async () => {
    const { queue, steps, release } = recorded()
    queue.add('a')
    const late = queue.exclusive('a', async () => void steps.push('late'), sleep(5))
    await expect(late).rejects.toMatchObject({ code: 'box_busy' })
    release()
    await queue.exclusive('a', async () => void steps.push('next'), never)
    expect(steps).not.toContain('late')
    expect(steps).toContain('next')
  })

  test('of one key does not wait for another, and none begins once the queue is closed', async () => {
    const { queue, release } = recorded()
    queue.add('a')
    expect(await queue.exclusive('b', async () => 'b', never)).toBe('b')
    release()
    await queue.close()
    await expect(queue.exclusive('b', async () => 'b', never)).rejects.toMatchObject({ code: 'draining' })
  })
})

describe('a delayed run', () => {
  test('begins once the delay is over, and only once', async () => {
    const { queue, steps, time, release } = recorded()
    release()
    queue.addLater('a', 1_000)
    queue.addLater('a', 10)
    expect(queue.counts()).toEqual({ running: 0, waiting: 0, later: 1 })
    time.advance(999)
    await queue.exclusive('a', async () => undefined, never)
    expect(steps).toEqual([])
    time.advance(1)
    await eventually(() => steps.includes('work a ends'))
    expect(queue.counts().later).toBe(0)
  })

  test('is dropped when the key is added before, and when the queue closes', async () => {
    const { queue, steps, time, release } = recorded()
    release()
    for (const key of ['a', 'b']) queue.addLater(key, 1_000)
    queue.add('a')
    await eventually(() => steps.includes('work a ends'))
    await queue.close()
    time.advance(1_000)
    await queue.close()
    expect(steps).toEqual(['work a begins', 'work a ends'])
    expect(time.untilNext()).toBeNull()
  })
})
