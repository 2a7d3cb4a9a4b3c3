import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, test } from '@jest/globals'
import { readStartTicks } from '../../../agent/drivers/host/handle.ts'
import { createWarmPodPool, type WarmPod, type WarmPodPool } from '../../../agent/drivers/pods/warm-pool.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'

const INIT = { pid: process.pid, startTicks: readStartTicks(process.pid) ?? 0, idBase: 0, cgroup: '' }

/** A cluster of warm pods with scripted faults. */
class Pods {
  readonly names = new Set<string>()
  readonly calls: string[] = []
  /** Errors that the next calls throw, once each. */
  readonly faults = new Map<string, Error>()
  /** Delays pods under construction. */
  gate: Promise<void> = Promise.resolve()
  /** Settings of new pods. */
  init = INIT
  pool: WarmPodPool | undefined
  #drawn = 0

  open(size: number): WarmPodPool {
    this.pool = createWarmPodPool({
      size,
      list: async () => {
        this.#do('list')
        return [...this.names]
      },
      newName: () => `warm-${++this.#drawn}`,
      make: async (name, signal) => {
        this.names.add(name)
        this.#do('make')
        await Promise.race([this.gate, aborted(signal)])
        this.#do('answer')
        return { name, uid: `uid of ${name}`, init: this.init }
      },
      remove: async (name) => {
        this.#do('remove')
        this.names.delete(name)
      },
      isStanding: ({ name }) => this.names.has(name),
      logger: silentLogger,
    })
    this.pool.start()
    return this.pool
  }

  #do(call: string): void {
    this.calls.push(call)
    const fault = this.faults.get(call)
    this.faults.delete(call)
    if (fault !== undefined) throw fault
  }
}

describe('a pool of warm pods', () => {
  let pods: Pods
  const until = async (isTrue: () => boolean): Promise<void> => {
    const deadline = performance.now() + 60_000
    while (!isTrue()) {
      if (performance.now() > deadline)
        throw new Error(`it stays at ${[...pods.names].join()} after ${pods.calls.join()}`)
      await sleep(5)
    }
  }
  const has = (...names: string[]) => until(() => [...pods.names].join() === names.join())
  const take = async (pool: WarmPodPool): Promise<WarmPod | null> => {
    await sleep(20)
    return pool.take()
  }

  afterEach(() => pods.pool?.close())

  test('is filled, hands out each of its pods once, and is filled again', async () => {
    pods = new Pods()
    const pool = pods.open(2)
    await has('warm-1', 'warm-2')
    const first = await take(pool)
    const second = pool.take()
    expect([first?.name, second?.name, pool.take()]).toEqual(['warm-1', 'warm-2', null])
    await has('warm-1', 'warm-2', 'warm-3', 'warm-4')
    await sleep(20)
    expect(pods.calls.filter((call) => call === 'make')).toHaveLength(4)
  })

  test('first removes the pods of an earlier process, also with a size of 0', async () => {
    for (const size of [1, 0]) {
      pods = new Pods()
      pods.names.add('warm-old')
      const pool = pods.open(size)
      await has(...(size === 0 ? [] : ['warm-1']))
      expect(pods.calls.slice(0, 2)).toEqual(['list', 'remove'])
      expect((await take(pool))?.name).toBe(size === 0 ? undefined : 'warm-1')
      await pool.close()
    }
  })

  test.each(['list', 'remove'])('makes none before all old pods are removed, however often %s fails', async (call) => {
    pods = new Pods()
    pods.names.add('warm-old')
    pods.faults.set(call, new Error('away'))
    pods.open(1)
    await has('warm-1')
    expect(pods.calls.indexOf('make')).toBeGreaterThan(pods.calls.lastIndexOf('remove'))
  })

  test.each(['make', 'answer'])('leaves no pod behind of one whose making fails at %s', async (call) => {
    pods = new Pods()
    pods.faults.set(call, new Error('lost'))
    pods.open(1)
    await has('warm-2')
  })

  test('does not hand out a lost pod, and makes another', async () => {
    pods = new Pods()
    const pool = pods.open(2)
    await has('warm-1', 'warm-2')
    await sleep(20)
    pool.lose('uid of warm-1')
    pool.lose('uid of nobody')
    await has('warm-2', 'warm-3')
    expect((await take(pool))?.name).toBe('warm-2')
  })

  test('does not hand out a pod that vanished unseen, and makes another', async () => {
    pods = new Pods()
    const pool = pods.open(2)
    await has('warm-1', 'warm-2')
    await sleep(20)
    pods.names.delete('warm-1')
    expect(pool.take()?.name).toBe('warm-2')
    await has('warm-2', 'warm-3', 'warm-4')
  })

  test('does not hand out a pod whose init has ended, and removes it', async () => {
    pods = new Pods()
    pods.init = { ...INIT, startTicks: INIT.startTicks + 1 }
    const pool = pods.open(1)
    await has('warm-1')
    pods.init = INIT
    expect(await take(pool)).toBe(null)
    await has('warm-2')
    expect((await take(pool))?.name).toBe('warm-2')
  })

  test('replaces one that was lost while it was made', async () => {
    pods = new Pods()
    const { promise, resolve } = Promise.withResolvers<void>()
    pods.gate = promise
    pods.open(1)
    await has('warm-1')
    pods.names.delete('warm-1')
    resolve()
    await has('warm-2')
  })

  test('makes no more once it is closed, and waits for the one being made', async () => {
    pods = new Pods()
    pods.gate = new Promise(() => undefined)
    const pool = pods.open(2)
    await has('warm-1')
    await pool.close()
    const { length } = pods.calls
    pool.lose('uid of warm-1')
    pool.start()
    await sleep(20)
    expect(pods.calls).toHaveLength(length)
  })

  test('closes at once while it waits after a failure', async () => {
    pods = new Pods()
    pods.faults.set('list', new Error('away'))
    const pool = pods.open(1)
    await until(() => pods.calls.length > 0)
    const begun = performance.now()
    await pool.close()
    expect(performance.now() - begun).toBeLessThan(500)
  })
})

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(new Error('given up')), { once: true })
  })
}
