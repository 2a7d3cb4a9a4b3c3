import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, test } from '@jest/globals'
import { PART_BYTES, type Upload, uploadParts } from '../../../agent/core/backups/parts.ts'
import type { BackupStore } from '../../../agent/ports/backups/store.ts'
import { eventually } from '../../helpers/eventually.ts'

/** A store that accepts bytes at once and finishes a part on demand. */
function createSlowStore() {
  const ends = new Map<string, PromiseWithResolvers<void>>()
  const underWay = new Set<string>()
  let most = 0
  const endOf = (name: string): PromiseWithResolvers<void> => {
    const end = ends.get(name) ?? Promise.withResolvers<void>()
    ends.set(name, end)
    return end
  }
  const put: BackupStore['put'] = async (name, pieces, signal) => {
    underWay.add(name)
    most = Math.max(most, underWay.size)
    let sizeBytes = 0
    try {
      for await (const piece of pieces) {
        signal?.throwIfAborted()
        sizeBytes += piece.length
      }
      await endOf(name).promise
      return { sizeBytes, sha256: name.slice(-9, -4).padStart(64, '0') }
    } finally {
      underWay.delete(name)
    }
  }
  const store = { kind: 'fake', put } as BackupStore
  return { store, underWay, most: () => most, end: (index: number) => endOf(nameOf(index)) }
}

const nameOf = (index: number): string => `d/part-0000${index}.zst`
const PIECE = Buffer.alloc(PART_BYTES / 2)

async function* piecesOf(count: number, onTaken?: (index: number) => void): AsyncGenerator<Uint8Array> {
  for (let index = 0; index < count; index++) {
    onTaken?.(index)
    yield PIECE
  }
}

function begin(store: BackupStore, given: Partial<Upload> & Pick<Upload, 'stream'>) {
  const noted: string[][] = []
  const onPart = async (parts: readonly { name: string }[]): Promise<void> => {
    noted.push(parts.map(({ name }) => name))
  }
  const signal = new AbortController().signal
  const upload = uploadParts({ store, directory: 'd/', known: [], signal, onPart, onBytes: () => undefined, ...given })
  const outcome = upload.then(
    (parts) => ({ parts }),
    (error: Error) => ({ error }),
  )
  return { noted, outcome }
}

describe('parts of a backup', () => {
  test('are noted in order, each once it and all earlier ones are stored', async () => {
    const { store, end } = createSlowStore()
    const { noted, outcome } = begin(store, { stream: piecesOf(3) })
    end(1).resolve()
    for (let turns = 0; turns < 20; turns++) await turn()
    expect(noted).toEqual([])
    end(0).resolve()
    const names = ['part-00000.zst', 'part-00001.zst']
    expect(await outcome).toMatchObject({ parts: names.map((name) => ({ name })) })
    expect(noted).toEqual([names.slice(0, 1), names])
  })

  test('are stored two at a time, and no byte of a third is taken', async () => {
    const { store, underWay, most, end } = createSlowStore()
    let taken = 0
    const stream = piecesOf(8, (index) => {
      taken = index + 1
    })
    const { outcome } = begin(store, { stream })
    await eventually(() => underWay.size === 2)
    for (let turns = 0; turns < 20; turns++) await turn()
    expect([[...underWay], taken]).toEqual([[nameOf(0), nameOf(1)], 4])
    for (const index of [0, 1, 2, 3]) end(index).resolve()
    expect(await outcome).toMatchObject({ parts: [{}, {}, {}, {}] })
    expect(most()).toBe(2)
  })

  test('that fail end the next, with their error', async () => {
    const { store, underWay, end } = createSlowStore()
    let isLeft = false
    const stream = (async function* () {
      try {
        for await (const piece of piecesOf(1000)) {
          yield piece
          await turn()
        }
      } finally {
        isLeft = true
      }
    })()
    const { noted, outcome } = begin(store, { stream })
    await eventually(() => underWay.size === 2)
    end(0).reject(new Error('the disk is full'))
    end(1).resolve()
    expect(await outcome).toEqual({ error: new Error('the disk is full') })
    expect([underWay.size, noted, isLeft]).toEqual([0, [], true])
  })

  test('that fail while an earlier one is being stored let it finish', async () => {
    const { store, underWay, end } = createSlowStore()
    const { noted, outcome } = begin(store, { stream: piecesOf(4) })
    await eventually(() => underWay.size === 2)
    end(1).reject(new Error('the disk is full'))
    let isOver = false
    void outcome.then(() => {
      isOver = true
    })
    for (let turns = 0; turns < 20; turns++) await turn()
    expect(isOver).toBe(false)
    end(0).resolve()
    expect(await outcome).toEqual({ error: new Error('the disk is full') })
    expect([underWay.size, noted]).toEqual([0, [['part-00000.zst']]])
  })

  test('are not begun once the signal aborts', async () => {
    const { store, underWay, end } = createSlowStore()
    const ending = new AbortController()
    const stream = piecesOf(1000, (index) => {
      if (index === 3) ending.abort(new Error('the agent ends'))
    })
    const { noted, outcome } = begin(store, { stream, signal: ending.signal })
    end(0).resolve()
    expect(await outcome).toEqual({ error: new Error('the agent ends') })
    expect([underWay.size, noted]).toEqual([0, [['part-00000.zst']]])
  })

  test('that cannot be recorded end the upload', async () => {
    const { store, underWay, end } = createSlowStore()
    for (const index of [0, 1]) end(index).resolve()
    const onPart = async (): Promise<void> => {
      throw new Error('no record')
    }
    const { outcome } = begin(store, { stream: piecesOf(20), onPart })
    expect(await outcome).toEqual({ error: new Error('no record') })
    expect(underWay.size).toBe(0)
  })
})
