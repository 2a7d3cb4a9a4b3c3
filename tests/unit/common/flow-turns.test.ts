import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals'
import { createFlowTurns, createLoopTurns, type FlowTurns } from '../../../shared/flow-turns.ts'

const KIB = 1024
const MIB = KIB ** 2
const PIECE = 64 * KIB

/** A stream that always has a piece while it is not held. */
interface Source {
  isHeld: boolean
  bytes: number
  flow: ReturnType<FlowTurns['open']>
}

beforeEach(() => void jest.useFakeTimers())
afterEach(() => void jest.useRealTimers())

function open(turns: FlowTurns, project: string, box = 'web'): Source {
  const source = { isHeld: false, bytes: 0 }
  const valve = { hold: () => void (source.isHeld = true), release: () => void (source.isHeld = false) }
  return Object.assign(source, { flow: turns.open({ project, box }, valve) })
}

function many(turns: FlowTurns, count: number, project: string, box?: string): Source[] {
  return Array.from({ length: count }, () => open(turns, project, box))
}

/** Brings a piece from each source that is not held, and runs one round of the event loop, every millisecond. */
async function flow(ms: number, sources: readonly Source[], sizeBytes = PIECE): Promise<void> {
  for (let i = 0; i < ms; i++) {
    for (const source of sources) bring(source, sizeBytes)
    await round()
  }
}

const round = (): Promise<void> => jest.advanceTimersByTimeAsync(1)

function bring(source: Source, sizeBytes = PIECE): void {
  if (source.isHeld) return
  source.bytes += sizeBytes
  source.flow.count(sizeBytes)
}

const sum = (sources: readonly Source[]): number => sources.reduce((total, { bytes }) => total + bytes, 0)

describe('turns by time', () => {
  const create = (burst = 0) =>
    createFlowTurns({ pace: { bytesPerSecond: 64 * MIB }, allowance: { burst, perSecond: burst } })

  test('give each box of a project as much as another', async () => {
    const turns = create()
    const [one, other] = [many(turns, 50, 'demo', 'one'), many(turns, 1, 'demo', 'other')]
    await flow(3_000, [...one, ...other])
    expect(sum(one) / sum(other)).toBeLessThan(1.5)
  })

  test('count a byte for what handling it costs', async () => {
    const turns = create()
    const sources = many(turns, 100, 'loud')
    await flow(1_000, sources, 1)
    expect(sum(sources)).toBeLessThan((64 * MIB) / (16 * KIB) + 200)
  })

  test('let one in a hurry through at once, by so much', async () => {
    const turns = create()
    const loud = many(turns, 100, 'loud')
    await flow(100, loud)
    const [first] = loud as [Source]
    while (!first.isHeld) bring(first)
    first.flow.hurry(MIB)
    expect(first.isHeld).toBe(false)
    const before = first.bytes
    while (!first.isHeld) bring(first)
    expect(first.bytes - before).toBeGreaterThan(MIB / 2)
    expect(first.bytes - before).toBeLessThan(MIB + 4 * PIECE)
  })
})

describe('turns by rounds of the event loop', () => {
  test('hold a stream alone for no longer than a round', async () => {
    const turns = createLoopTurns()
    const lone = open(turns, 'demo')
    for (let i = 0; i < 100; i++) {
      const before = lone.bytes
      while (!lone.isHeld) bring(lone)
      if (i > 10) expect(lone.bytes - before).toBeGreaterThanOrEqual(256 * KIB)
      await round()
      await round()
      expect(lone.isHeld).toBe(false)
    }
  })

  test('let no more through in a round, however many streams there are', async () => {
    const turns = createLoopTurns()
    const loud = many(turns, 100, 'loud')
    await flow(50, loud)
    for (let i = 0; i < 50; i++) {
      const before = sum(loud)
      for (const source of loud) while (!source.isHeld) bring(source)
      await round()
      expect(sum(loud) - before).toBeLessThanOrEqual(MIB)
    }
  })
})
