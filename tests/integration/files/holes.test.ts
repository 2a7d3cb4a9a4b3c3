import { closeSync, ftruncateSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { findHoles } from '../../../agent/drivers/files/holes.ts'
import type { SparseLayout } from '../../../agent/lib/tar/sparse.ts'

const MIB = 1024 ** 2

describe('the holes of a file', () => {
  let directory = ''
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'boxyard-holes-'))
  })
  afterAll(() => rmSync(directory, { recursive: true, force: true }))

  /** Finds the holes of a file that has a byte at each place. */
  function find(
    places: readonly number[],
    { size, piecesMax }: { size: number; piecesMax?: number },
  ): SparseLayout | null {
    const fd = openSync(join(directory, 'file'), 'w+')
    try {
      for (const place of places) writeSync(fd, 'x', place)
      ftruncateSync(fd, size)
      const given = { path: '/file', sizeBytes: size, ...(piecesMax === undefined ? {} : { piecesMax }) }
      const steps = findHoles({ mustPause: () => true }, fd, given)
      for (;;) {
        const step = steps.next()
        if (step.done === true) return step.value
        expect(step.value).toBe('turn')
      }
    } finally {
      closeSync(fd)
    }
  }

  test('are none where they are below 1 MiB, or the file is', () => {
    expect(find([0], { size: 100_000 })).toBeNull()
    expect(find([0, MIB - 1], { size: MIB })).toBeNull()
  })

  test('are all that is not data, at both ends too', () => {
    expect(find([], { size: 3 * MIB })).toEqual({ sizeBytes: BigInt(3 * MIB), ranges: [] })
    const found = find([8 * MIB, 20 * MIB], { size: 40 * MIB + 1 })
    expect(found?.sizeBytes).toBe(BigInt(40 * MIB + 1))
    expect(found?.ranges.map(({ start }) => start)).toEqual([BigInt(8 * MIB), BigInt(20 * MIB)])
  })

  test('between more pieces of data than a header lists are refused, with the path, the bound and a way out', () => {
    const places = [0, 8 * MIB, 16 * MIB, 24 * MIB]
    expect(find(places, { size: 30 * MIB, piecesMax: 4 })?.ranges).toHaveLength(4)
    expect(() => find(places, { size: 30 * MIB, piecesMax: 3 })).toThrow(
      expect.objectContaining({
        code: 'path_invalid',
        message: expect.stringMatching(/^\/file: .*pieces of data.*cp --sparse=never/),
      }),
    )
  })
})
