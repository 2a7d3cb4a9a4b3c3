import assert from 'node:assert/strict'
import { setImmediate as nextRound } from 'node:timers/promises'
import { test } from '@jest/globals'
import fc from 'fast-check'
import { bytesUntilEnded } from '../../../agent/server/open-requests.ts'
import { ROUND_MS } from '../../../shared/flow-budget.ts'
import { createFlowTurns, type FlowTurns, ROUND_BYTES, TURN_BYTES } from '../../../shared/flow-turns.ts'
import { openPulled, piecesByTurns } from '../../../shared/pulled-flow.ts'
import { check, KEYS } from '../../helpers/fairness/check.ts'

const KIB = 1024
/** Cost of handling a piece, beside its bytes. */
const PIECE = 16 * KIB
const NONE = { burst: 0, perSecond: 0 }
const LOUD = { project: 'loud', box: 'web' }

/** Turns of a loop whose clock advances only when the test adds time. */
function createTurns(): { turns: FlowTurns; clock: { ms: number } } {
  const clock = { ms: 0 }
  const turns = createFlowTurns({
    pace: { bytesPerRound: ROUND_BYTES },
    allowance: NONE,
    clock: { now: () => clock.ms },
  })
  return { turns, clock }
}

/** All pieces share one buffer. V8 collects its whole heap after a certain number of external bytes, and a worker's heap is large. */
const BYTES = new Uint8Array(2 * 1024 * KIB)

async function* endless(sizeBytes: number): AsyncGenerator<Uint8Array> {
  for (;;) yield BYTES.subarray(0, sizeBytes)
}

/** A reader that handles each piece at once until it stops. */
interface Reader {
  project: string
  pieces: AsyncIterableIterator<Uint8Array>
  bytes: number
  isOver: boolean
}

function read(
  turns: FlowTurns,
  project: string,
  { sizeBytes, onPiece }: { sizeBytes: number; onPiece?(size: number): void },
): Reader {
  const pieces = piecesByTurns(endless(sizeBytes), { project, box: 'web' }, turns)
  const reader: Reader = { project, pieces, bytes: 0, isOver: false }
  void (async () => {
    for await (const piece of pieces) {
      reader.bytes += piece.length
      onPiece?.(piece.length)
    }
    reader.isOver = true
  })()
  return reader
}

async function rounds(count: number): Promise<void> {
  for (let round = 0; round < count; round++) await nextRound()
}

async function stopAll(readers: readonly Reader[]): Promise<void> {
  for (const reader of readers) await reader.pieces.return?.()
  await rounds(2)
}

const anyReader = fc.record({
  project: fc.constantFrom(...KEYS),
  sizeBytes: fc.integer({ min: 1, max: 2 * 1024 * KIB }),
})

test('a round of the loop handles no more than its bytes and its time, and one turn beyond, however many streams there are', async () => {
  const property = fc.asyncProperty(
    fc.array(anyReader, { minLength: 1, maxLength: 60 }),
    fc.double({ min: 0, max: 3, noNaN: true }),
    async (given, pieceMs) => {
      const { turns, clock } = createTurns()
      let [bytes, ms] = [0, 0]
      const onPiece = (size: number): void => {
        bytes += size
        ms += pieceMs
        clock.ms += pieceMs
      }
      const readers = given.map(({ project, sizeBytes }) => read(turns, project, { sizeBytes, onPiece }))
      await rounds(20)
      for (let round = 0; round < 40; round++) {
        ;[bytes, ms] = [0, 0]
        await nextRound()
        // A turn covers several short pieces.
        const turnMs = pieceMs * Math.ceil(TURN_BYTES / (Math.min(...given.map((each) => each.sizeBytes)) + PIECE) + 1)
        assert.ok(bytes <= ROUND_BYTES + 2 * TURN_BYTES, `${bytes} bytes`)
        assert.ok(ms <= ROUND_MS + 2 * turnMs, `${ms} ms of ${pieceMs} each`)
      }
      await stopAll(readers)
    },
  )
  await check(property, 20)
})

test('every project gets as much as another, whatever it brings in, and none starves', async () => {
  const property = fc.asyncProperty(fc.array(anyReader, { minLength: 2, maxLength: 40 }), async (given) => {
    const { turns } = createTurns()
    const readers = given.map(({ project, sizeBytes }) =>
      read(turns, project, { sizeBytes: Math.max(sizeBytes, 64 * KIB) }),
    )
    await rounds(400)
    const sums = new Map<string, number>()
    for (const { project, bytes } of readers) sums.set(project, (sums.get(project) ?? 0) + bytes)
    const [least, most] = [Math.min(...sums.values()), Math.max(...sums.values())]
    assert.ok(least > 0 && most <= 1.6 * least + 4 * TURN_BYTES, `between ${least} and ${most}`)
    for (const { bytes } of readers) assert.ok(bytes > 0, 'one stream starves')
    await stopAll(readers)
  })
  await check(property, 15)
})

/** Ways in which a stream ends before its source does. */
const anyEnd = fc.constantFrom('return' as const, 'error' as const, 'abort' as const, 'abort at once' as const)

test('a stream that ends or is broken off, also in its wait, gives all back and holds up nobody', async () => {
  const property = fc.asyncProperty(fc.array(anyEnd, { minLength: 1, maxLength: 30 }), async (ends) => {
    const { turns } = createTurns()
    const closed: boolean[] = []
    const opened = ends.map((how, index) => {
      closed[index] = false
      const source = async function* (): AsyncGenerator<Uint8Array> {
        try {
          yield BYTES.subarray(0, 2 * TURN_BYTES)
          if (how === 'error') throw new Error('it broke')
          yield* endless(TURN_BYTES)
        } finally {
          closed[index] = true
        }
      }
      const end = new AbortController()
      if (how === 'abort at once') end.abort(new Error('ended'))
      const paced = piecesByTurns(source(), { project: `p${index % 3}`, box: 'web' }, turns)
      return { how, end, pieces: bytesUntilEnded(paced, end.signal) }
    })
    const readings = opened.map(async ({ pieces }) => {
      while ((await pieces.next()).done !== true);
    })
    await rounds(3)
    for (const { how, end, pieces } of opened)
      if (how === 'return') await pieces.return?.()
      else if (how === 'abort') end.abort(new Error('ended'))
    // Readers whose source fails take a few more turns.
    await rounds(40 + 10 * ends.length)
    const outcomes = await Promise.allSettled(readings)
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ends.map((how) => (how === 'return' ? 'fulfilled' : 'rejected')),
    )
    for (const [index, how] of ends.entries())
      if (how !== 'abort at once') assert.ok(closed[index], `${how} leaves its source open`)
    const late = read(turns, 'late', { sizeBytes: TURN_BYTES })
    const before = late.bytes
    await rounds(20)
    assert.ok(late.bytes - before >= 5 * ROUND_BYTES, `${late.bytes} bytes after all others have ended`)
    await stopAll([late])
    assert.ok(late.isOver)
  })
  await check(property, 40)
})

test('readers that ask and leave cost the others no turn, however many they are', async () => {
  const property = fc.asyncProperty(fc.integer({ min: 100, max: 300 }), async (count) => {
    const { turns } = createTurns()
    const leaving = Array.from({ length: count }, () => piecesByTurns(endless(512 * KIB), LOUD, turns))
    const asked = leaving.map((pieces) => pieces.next())
    await rounds(1)
    await Promise.all(leaving.map(async (pieces) => pieces.return?.()))
    const reader = read(turns, 'quiet', { sizeBytes: 1 })
    await rounds(5)
    assert.ok(reader.bytes > 0, 'it waits')
    await stopAll([reader])
    await Promise.all(asked)
  })
  await check(property, 20)
})

test('readers of pieces longer than a turn pay for all of each, and leave no debt', async () => {
  const property = fc.asyncProperty(fc.integer({ min: TURN_BYTES, max: 4 * TURN_BYTES }), async (sizeBytes) => {
    const { turns } = createTurns()
    let begun = 0
    const all = Array.from({ length: 8 }, async () => {
      const flow = openPulled(LOUD, turns)
      for (let index = 0; index < 16; index++) {
        await flow.take(sizeBytes)
        begun++
      }
      flow.close()
    })
    let passed = 0
    for (; begun < 128; passed++) await nextRound()
    await Promise.all(all)
    assert.ok(passed + 5 >= (128 * sizeBytes) / ROUND_BYTES, `128 pieces of ${sizeBytes} in ${passed} rounds`)
    const reader = read(turns, 'quiet', { sizeBytes: 1 })
    await rounds(8)
    assert.ok(reader.bytes > 0, 'it waits')
    await stopAll([reader])
  })
  await check(property, 20)
})
