import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, jest, test } from '@jest/globals'
import fc from 'fast-check'
import { BYTES_PER_MS, type FlowPace, REST } from '../../../shared/flow-budget.ts'
import { createFlowTurns, type FlowTurns } from '../../../shared/flow-turns.ts'
import { check, KEYS } from '../../helpers/fairness/check.ts'

const KIB = 1024
/** Size of a turn, and the cost of handling a piece, in bytes. */
const [TURN, PIECE] = [256 * KIB, 16 * KIB]
const NONE = { burst: 0, perSecond: 0 }

beforeEach(() => void jest.useFakeTimers())
afterEach(() => void jest.useRealTimers())

/** A stream that always has pieces of the given length. */
interface Source {
  project: string
  isHeld: boolean
  cost: number
  bring(): void
  close(): void
}

function openSource(turns: FlowTurns, project: string, { box, sizeBytes }: { box: string; sizeBytes: number }): Source {
  const valve = {
    hold: () => {
      assert.ok(!source.isHeld, 'a stream that waits is held once')
      source.isHeld = true
    },
    release: () => void (source.isHeld = false),
  }
  const flow = turns.open({ project, box }, valve)
  const bring = (): void => {
    source.cost += sizeBytes + PIECE
    flow.count(sizeBytes)
  }
  const source: Source = { project, isHeld: false, cost: 0, bring, close: () => flow.close() }
  return source
}

/** Streams of a project: their number, their boxes, and the length of their pieces. */
const anyProject = fc.record({
  streams: fc.integer({ min: 1, max: 20 }),
  boxes: fc.integer({ min: 1, max: 3 }),
  sizeBytes: fc.integer({ min: 1, max: 64 * KIB }),
})
const anyProjects = fc.array(anyProject, { minLength: 2, maxLength: KEYS.length })

type Projects = typeof anyProjects extends fc.Arbitrary<infer T> ? T : never

function openAll(turns: FlowTurns, projects: Projects): Source[] {
  return projects.flatMap(({ streams, boxes, sizeBytes }, project) =>
    Array.from({ length: streams }, (_, index) =>
      openSource(turns, KEYS[project] ?? '', { box: `${index % boxes}`, sizeBytes }),
    ),
  )
}

/** Brings as many pieces as allowed from all sources that are not held, once per millisecond. Each is one round of the event loop. */
async function flow(ms: number, sources: readonly Source[]): Promise<void> {
  for (let passed = 0; passed < ms; passed++) {
    for (const source of sources) while (!source.isHeld) source.bring()
    await jest.advanceTimersByTimeAsync(1)
  }
}

/** Returns the cost that flows per project in `ms`, once all of them wait. */
async function costs(sources: readonly Source[], ms: number): Promise<number[]> {
  await flow(100, sources)
  const sums = (): Map<string, number> => {
    const byProject = new Map<string, number>()
    for (const { project, cost } of sources) byProject.set(project, (byProject.get(project) ?? 0) + cost)
    return byProject
  }
  const before = sums()
  await flow(ms, sources)
  return [...sums()].map(([project, after]) => after - (before.get(project) ?? 0))
}

const PACES: [string, FlowPace, number][] = [
  ['time', { bytesPerSecond: 64 * KIB * 1000 }, 64 * KIB],
  ['rounds', { bytesPerRound: 512 * KIB }, 512 * KIB],
]

describe.each(PACES)('projects that always have more, by %s,', (_name, pace, bytesPerMs) => {
  const ms = Math.ceil((100 * TURN) / bytesPerMs)

  test('bring together what there is, and each as much as another', async () => {
    const property = fc.asyncProperty(anyProjects, async (projects) => {
      const sources = openAll(createFlowTurns({ pace, allowance: NONE }), projects)
      const all = await costs(sources, ms)
      const sum = all.reduce((total, each) => total + each, 0)
      // The last piece of each turn can exceed the rest of the turn.
      const most = ms * bytesPerMs * (1 + (64 * KIB + PIECE) / TURN) + 4 * TURN
      assert.ok(sum <= most && sum >= ms * bytesPerMs * 0.8, `${sum} of ${ms * bytesPerMs}`)
      const [least, largest] = [Math.min(...all), Math.max(...all)]
      assert.ok(largest - least <= 2 * (TURN + 64 * KIB + PIECE) + 0.25 * least, `between ${least} and ${largest}`)
    })
    await check(property, 15)
  })
})

test('while another project asks, bytes of any number of streams take a small part of the loop; afterwards all of it again', async () => {
  const property = fc.asyncProperty(anyProject, async (project) => {
    const turns = createFlowTurns({ pace: { bytesPerRound: 512 * KIB }, allowance: NONE })
    const sources = openAll(turns, [project])
    const brought = async (ms: number, isAsked: boolean): Promise<number> => {
      const before = sources.reduce((sum, { cost }) => sum + cost, 0)
      for (let passed = 0; passed < ms; passed += 20) {
        turns.note(KEYS[0])
        if (isAsked) turns.note('other')
        await flow(20, sources)
      }
      return sources.reduce((sum, { cost }) => sum + cost, 0) - before
    }
    await brought(100, true)
    const usualBytes = (1_000 * BYTES_PER_MS) / (REST + 1)
    const beside = await brought(1_000, true)
    assert.ok(beside <= 2 * usualBytes && beside >= 0.75 * usualBytes, `${beside} beside another`)
    await brought(400, false)
    const alone = await brought(100, false)
    assert.ok(alone >= 1.8 * (beside / 10), `${alone} alone, ${beside} beside another`)
  })
  await check(property, 5)
})

test('whoever brings no more than its allowance is never held, whatever others bring', async () => {
  const perSecond = 64 * KIB * 10
  const property = fc.asyncProperty(anyProjects, fc.integer({ min: 1, max: 16 * KIB }), async (projects, sizeBytes) => {
    const turns = createFlowTurns({ pace: { bytesPerSecond: 64 * KIB * 100 }, allowance: { burst: TURN, perSecond } })
    const sources = openAll(turns, projects)
    const calm = openSource(turns, 'calm', { box: 'web', sizeBytes })
    const everyMs = Math.ceil(((sizeBytes + PIECE) / perSecond) * 1000)
    for (let brought = 0; brought < 10; brought++) {
      await flow(everyMs, sources)
      calm.bring()
      assert.ok(!calm.isHeld, 'it is held')
    }
  })
  await check(property, 15)
})

test('a stream that ends is held no more and leaves the rest of its turn to the others', async () => {
  const property = fc.asyncProperty(fc.integer({ min: 20, max: 30 }), async (count) => {
    const turns = createFlowTurns({ pace: { bytesPerSecond: 64 * KIB * 1000 }, allowance: NONE })
    const flowing = Array.from({ length: count }, () => openSource(turns, 'a', { box: 'web', sizeBytes: 64 * KIB }))
    for (const source of flowing) while (!source.isHeld) source.bring()
    await jest.advanceTimersByTimeAsync(80)
    const isHeld = (): boolean[] => flowing.map((source) => source.isHeld)
    const before = isHeld()
    assert.ok(before.filter((held) => !held).length >= 5, 'some have a turn that they do not use')
    for (const source of flowing) source.close()
    const late = openSource(turns, 'b', { box: 'web', sizeBytes: 64 * KIB })
    await flow(40, [late])
    assert.deepEqual(isHeld(), before)
    // The share of these 40 ms, and up to 20 ms of unused share.
    assert.ok(late.cost >= (40 + 20) * 64 * KIB - TURN, `${late.cost}`)
  })
  await check(property, 15)
})
