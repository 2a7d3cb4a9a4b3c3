import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { readUsageHistory, startUsageHistory } from '../../../agent/core/boxes/usage-history.ts'
import { openUsageHistory } from '../../../agent/drivers/store/usage-history.ts'
import type { RunningBoxRef } from '../../../agent/ports/store/boxes.ts'
import type { UsageHistory, UsagePoint } from '../../../agent/ports/store/usage-history.ts'
import type { Logger } from '../../../shared/log.ts'
import { eventually } from '../../helpers/eventually.ts'
import { createFakeTime } from '../../helpers/imagined-time.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'

const MINUTE = 60_000
const MIB = 1024 ** 2

interface Box extends RunningBoxRef {
  cpuSeconds: number | null
  receivedBytes: number
  memoryBytes: number
}

let directory: string
let path: string
let time: ReturnType<typeof createFakeTime>
let boxes: Map<string, Box>
let warnings: string[]
let usagesAtOnce: number[]
let slowMs = 0
/** Number of points in each commit. */
let written: number[]
let history: UsageHistory
let stop: () => Promise<void>

const logger: Logger = { ...silentLogger, warn: (message) => void warnings.push(message) }

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'boxyard-history-'))
  path = join(directory, 'metrics.db')
  boxes = new Map()
  warnings = []
  usagesAtOnce = []
  written = []
  time = createFakeTime()
  // Advance to the beginning of an hour.
  time.advance(3_600_000 - (time.clock.now() % 3_600_000))
  open()
})

afterEach(async () => {
  await stop()
  await history.close()
  rmSync(directory, { recursive: true, force: true })
})

/** Starts sampling, as a new process does. */
function open(): void {
  const opened = openUsageHistory(path, logger)
  const append: UsageHistory['append'] = async (stepMs, points) => {
    await opened.append(stepMs, points)
    written.push(points.length)
  }
  history = { ...opened, append }
  const list = (): Box[] => [...boxes.values()].sort((one, other) => (one.id < other.id ? -1 : 1))
  const store = {
    boxes: {
      ids: async () => list().map(({ id }) => id),
      running: async (after: RunningBoxRef | null, limit: number) => {
        usagesAtOnce.push(0)
        return list()
          .filter(({ id }) => after === null || id > after.id)
          .slice(0, limit)
      },
    },
  }
  const usage = async (id: string) => {
    usagesAtOnce[usagesAtOnce.length - 1] = (usagesAtOnce.at(-1) ?? 0) + 1
    const box = boxes.get(id)
    if (box === undefined) return null
    if (id === 'box_0') time.advance(slowMs)
    const { cpuSeconds, memoryBytes, receivedBytes } = box
    const network = { receivedBytes, receivedPackets: 0, sentBytes: receivedBytes * 2, sentPackets: 0 }
    return { cpuSeconds, memoryBytes, cacheBytes: memoryBytes / 4, pids: 1, network }
  }
  const filesystem = {
    usedBytes: async (root: string) => {
      if (root === 'gone') throw new Error('there is no subvolume')
      return 5 * MIB
    },
  }
  stop = startUsageHistory({ store, runtime: { usage }, filesystem, history, clock: time.clock, logger })
}

function addBox(id: string, changes: Partial<Box> = {}): Box {
  const counters = { cpuSeconds: 100, receivedBytes: 1000, memoryBytes: 64 * MIB }
  const box = { id, project: 'demo', root: `sub_${id}`, since: time.clock.now(), ...counters, ...changes }
  boxes.set(id, box)
  return box
}

/** Advances by the given minutes, and calls `use` in each. */
async function pass(minutes: number, use: () => void = () => undefined): Promise<void> {
  for (let minute = 0; minute < minutes; minute++) {
    use()
    await step(MINUTE)
  }
}

/** Advances the time, and waits until no work is left at the new time. */
async function step(ms: number): Promise<void> {
  const before = time.sleeps()
  time.advance(ms)
  await eventually(async () => time.sleeps() > before, 1)
}

const read = (id: string, seconds: 60 | 600 = 60): Promise<UsagePoint[]> =>
  readUsageHistory({ history, clock: time.clock }, id, seconds)
const coresOf = (points: readonly UsagePoint[]): (number | null)[] => points.map(({ cpuCores }) => cpuCores)

describe('a running box', () => {
  test('has a point of each minute between two looks, with its rates', async () => {
    const box = addBox('box_a')
    await pass(1)
    expect(await read('box_a')).toEqual([])
    await pass(2, () => {
      box.cpuSeconds = Number(box.cpuSeconds) + 30
      box.receivedBytes += 6000
    })
    const now = time.clock.now()
    const point = {
      ...{ boxId: 'box_a', cpuCores: 0.5, memoryBytes: 64 * MIB, cacheBytes: 16 * MIB, storageBytes: 5 * MIB },
      ...{ receivedPerSecond: 100, sentPerSecond: 200 },
    }
    expect(await read('box_a')).toEqual([
      { ...point, at: now - MINUTE },
      { ...point, at: now },
    ])
    expect(await read('box_b')).toEqual([])
  })

  test('that started again, or whose counters went back, has a gap', async () => {
    const box = addBox('box_a')
    await pass(2)
    box.cpuSeconds = 1
    await pass(1)
    await pass(1)
    box.since += 1
    await pass(1)
    const now = time.clock.now()
    expect((await read('box_a')).map(({ at }) => (at - now) / MINUTE)).toEqual([-3, -1])
  })

  test('is told without what is not known: processor time, and the disk while that is replaced', async () => {
    addBox('box_a', { cpuSeconds: null, root: 'gone' })
    await pass(2)
    expect(await read('box_a')).toMatchObject([{ cpuCores: null, storageBytes: null, receivedPerSecond: 0 }])
  })

  test('is kept by the minute for two hours and by ten minutes for a day, and no further', async () => {
    const box = addBox('box_a')
    let minute = 0
    await pass(26 * 60, () => {
      minute++
      // Half a core on average.
      box.cpuSeconds = Number(box.cpuSeconds) + (minute % 2 === 0 ? 60 : 0)
    })
    const [fine, coarse] = [await read('box_a'), await read('box_a', 600)]
    const now = time.clock.now()
    expect([fine.length, fine[0]?.at, fine.at(-1)?.at]).toEqual([120, now - 119 * MINUTE, now])
    expect([coarse.length, coarse[0]?.at, coarse.at(-1)?.at]).toEqual([144, now - 1430 * MINUTE, now])
    expect(new Set(coresOf(fine))).toEqual(new Set([0, 1]))
    expect(new Set(coresOf(coarse))).toEqual(new Set([0.5]))
    expect(statSync(path).size).toBeLessThan(100_000)
    // The samples of a removed box are deleted as well.
    boxes.clear()
    await pass(25 * 60)
    expect([await read('box_a'), await read('box_a', 600)]).toEqual([[], []])
  })
})

describe('many boxes', () => {
  test('are looked at a few at a time, with pauses, and written at once', async () => {
    for (let i = 0; i < 50; i++) addBox(`box_${i + 10}`)
    for (const round of [1, 2]) {
      await step(MINUTE - 150 * (round - 1))
      for (let turn = 0; turn < 6; turn++) await step(25)
    }
    expect(usagesAtOnce).toEqual([8, 8, 8, 8, 8, 8, 2, 8, 8, 8, 8, 8, 8, 2])
    expect(written).toEqual([50])
  })
})

describe('after the end of the process', () => {
  test('goes on, with a gap of the minutes without a look', async () => {
    const box = addBox('box_a')
    await pass(5)
    await stop()
    await history.close()
    time.advance(2 * MINUTE)
    open()
    box.cpuSeconds = 10_000
    await pass(3)
    const now = time.clock.now()
    expect((await read('box_a')).map(({ at }) => (now - at) / MINUTE)).toEqual([8, 7, 6, 5, 1, 0])
    expect(Math.max(...coresOf(await read('box_a')).map(Number))).toBe(0)
    await pass(3)
    // The current ten minutes have four points before and four after.
    const [condensed] = await read('box_a', 600)
    expect(condensed?.cpuCores).toBe(0)
  })

  test('what became due meanwhile is condensed, and what was condensed in part is completed', async () => {
    const box = addBox('box_a')
    addBox('box_b')
    await pass(10, () => {
      box.cpuSeconds = Number(box.cpuSeconds) + 60
    })
    const file = new DatabaseSync(path)
    file.exec('DELETE FROM points WHERE step = 600 AND box = 1')
    file.close()
    await pass(9)
    await stop()
    await history.close()
    time.advance(10 * MINUTE)
    open()
    await pass(1)
    expect(coresOf(await read('box_a', 600))).toEqual([1, 0])
    expect(coresOf(await read('box_b', 600))).toEqual([0, 0])
  })

  test.each([
    ['is no database', (file: string) => writeFileSync(file, 'x'.repeat(10_000))],
    ['is damaged', (file: string) => writeFileSync(file, readFileSync(file).fill(0x55, 4096))],
    ['is of another version', (file: string) => new DatabaseSync(file).exec('PRAGMA user_version = 99')],
    ['is missing', (file: string) => rmSync(file)],
  ])('a file that %s is made anew', async (_, damage) => {
    addBox('box_a')
    await pass(3)
    await stop()
    await history.close()
    damage(path)
    open()
    expect(await read('box_a')).toEqual([])
    await pass(2)
    expect(await read('box_a')).toHaveLength(1)
    expect(statSync(path).mode & 0o777).toBe(0o600)
  })
})

test('a box that is deleted is forgotten, and another never has its points', async () => {
  addBox('box_a')
  await pass(9)
  boxes.delete('box_a')
  addBox('box_b')
  await pass(1)
  expect([await read('box_a'), await read('box_a', 600)]).toEqual([[], []])
  expect(await read('box_b')).toEqual([])
  await pass(1)
  expect(await read('box_b')).toHaveLength(1)
})

test('points of a time that the clock was set back from are dropped, and looks go on', async () => {
  addBox('box_a')
  await pass(5)
  await stop()
  time.advance(-60 * MINUTE)
  open()
  await pass(2)
  expect(await read('box_a')).toHaveLength(1)
  time.advance(60 * MINUTE)
  expect(await read('box_a')).toHaveLength(1)
})

test('a failure is told once, and ends nothing', async () => {
  addBox('box_a')
  await pass(2)
  await history.close()
  rmSync(path)
  const blocked = new DatabaseSync(path)
  blocked.exec('PRAGMA journal_mode = WAL; BEGIN EXCLUSIVE')
  await pass(2)
  expect(warnings).toEqual(['failed to store the usage history of boxes'])
  blocked.exec('ROLLBACK')
  blocked.close()
  await pass(1)
  expect(await read('box_a')).toHaveLength(3)
  expect(warnings).toHaveLength(1)
})

test('a look at all boxes that takes longer than a gap is told of once, and keeps their use', async () => {
  for (let i = 0; i < 9; i++) addBox(`box_${i}`)
  slowMs = 200_000
  for (let look = 0; look < 3; look++) {
    await step(MINUTE)
    await step(25)
  }
  expect(await read('box_0')).not.toEqual([])
  expect(warnings).toEqual([expect.stringContaining('takes longer than a minute')])
})
