import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import { describe, expect, test } from '@jest/globals'
import {
  createSlotPool,
  type PooledSlot,
  type SlotPool,
  type SlotPoolOptions,
} from '../../../agent/drivers/network/slot-pool.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'

interface Made {
  pool: SlotPool<PooledSlot>
  batches: number[][]
  destroyed: number[]
}

function makePool(changes: Partial<SlotPoolOptions<PooledSlot>> = {}): Made {
  const [batches, destroyed]: [number[][], number[]] = [[], []]
  const pool = createSlotPool<PooledSlot>({
    create: async (indexes) => {
      await turn()
      batches.push([...indexes])
      return indexes.map((index) => ({ index }))
    },
    destroy: ({ index }) => void destroyed.push(index),
    spareMin: 4,
    spareMax: 5,
    logger: silentLogger,
    ...changes,
  })
  return { pool, batches, destroyed }
}

const many = <T>(count: number, work: () => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, work))

describe('a slot pool', () => {
  test('makes its spare slots in one batch, from its first number', async () => {
    const { pool, batches } = makePool()
    pool.beginAt(100)
    pool.start()
    expect((await pool.take('demo')).index).toBe(100)
    expect(batches).toEqual([[100, 101, 102, 103, 104]])
  })

  test('serves a burst in batches, each slot once', async () => {
    const { pool, batches } = makePool()
    const slots = await many(100, () => pool.take('demo'))
    expect(new Set(slots.map(({ index }) => index)).size).toBe(100)
    expect(batches.every(({ length }) => length <= 16)).toBe(true)
    expect(batches.length).toBeLessThan(12)
  })

  test('keeps a slot that came back, and destroys the one that waited longest beyond that', async () => {
    const { pool, destroyed } = makePool({ spareMin: 0, spareMax: 1 })
    const [one, two] = [await pool.take('demo'), await pool.take('demo')]
    pool.give(one, 'demo')
    pool.give(two, 'demo')
    expect(destroyed).toEqual([one.index])
    expect(await pool.take('demo')).toBe(two)
  })

  test('gives a used slot to the same project only', async () => {
    const { pool, destroyed } = makePool({ spareMin: 0 })
    const used = await pool.take('red')
    pool.give(used, 'red')
    expect((await pool.take('blue')).index).not.toBe(used.index)
    expect(await pool.take('red')).toBe(used)
    const [blue, red] = [pool.take('blue'), pool.take('red')]
    pool.give(used, 'red')
    expect(await red).toBe(used)
    expect((await blue).index).not.toBe(used.index)
    expect(destroyed).toEqual([])
  })

  test('makes a fresh slot for each used one, so that another project gets as many at once', async () => {
    const { pool, batches } = makePool({ spareMin: 1, spareMax: 8 })
    const used = await many(6, () => pool.take('red'))
    for (const slot of used) pool.give(slot, 'red')
    await sleep(300)
    const made = batches.flat().length
    await many(7, () => pool.take('blue'))
    expect(batches.flat()).toHaveLength(made)
  })

  test('destroys used slots of other projects when no number is left', async () => {
    const { pool, destroyed } = makePool({ spareMin: 0 })
    for (let index = 0; index < 1023; index++) pool.reserve(index)
    pool.give(await pool.take('red'), 'red')
    expect((await pool.take('blue')).index).toBe(1023)
    expect(destroyed).toEqual([1023])
  })

  test('leaves out reserved numbers, and reuses freed ones', async () => {
    const { pool } = makePool({ spareMin: 0 })
    for (let index = 0; index < 1023; index++) pool.reserve(index)
    expect((await pool.take('demo')).index).toBe(1023)
    await expect(pool.take('demo')).rejects.toMatchObject({ code: 'runtime_unavailable' })
    pool.free(7)
    expect((await pool.take('demo')).index).toBe(7)
  })

  test('fails waiting requests when none can be made, and tries again for the next', async () => {
    let isBroken = true
    const { pool } = makePool({
      spareMin: 0,
      create: (indexes) =>
        isBroken ? Promise.reject(new Error('broken')) : Promise.resolve(indexes.map((index) => ({ index }))),
    })
    await expect(pool.take('demo')).rejects.toThrow('broken')
    isBroken = false
    expect(await pool.take('demo')).toEqual({ index: 0 + 1 })
  })

  test('makes slots missing from a batch again', async () => {
    let batch = 0
    const { pool } = makePool({
      spareMin: 2,
      create: (indexes) => Promise.resolve(indexes.slice(batch++ === 0 ? 1 : 0).map((index) => ({ index }))),
    })
    expect(await many(3, () => pool.take('demo'))).toHaveLength(3)
  })

  test('that is stopped fails waiting requests, and returns its spare slots once the running batch is done', async () => {
    const { pool } = makePool({
      create: async (indexes) => {
        await sleep(20)
        return indexes.map((index) => ({ index }))
      },
    })
    pool.start()
    const waiting = pool.take('demo')
    await turn()
    const [stopped, refused] = await Promise.allSettled([pool.stop(), waiting])
    expect(refused).toMatchObject({ status: 'rejected', reason: { code: 'draining' } })
    expect(stopped.status === 'fulfilled' ? stopped.value : []).toHaveLength(5)
    await expect(pool.take('demo')).rejects.toMatchObject({ code: 'draining' })
  })
})
