import { closeSync, ftruncateSync, mkdtempSync, openSync, readSync, rmSync, truncateSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { countHoles, findHoles, hasHole } from '../../../agent/drivers/files/holes.ts'
import { runOk } from '../../../agent/lib/run.ts'
import type { SparseLayout } from '../../../agent/lib/tar/sparse.ts'

const MIB = 1024 ** 2

describe('the holes of a file', () => {
  let directory = ''
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'boxyard-holes-'))
  })
  afterAll(() => rmSync(directory, { recursive: true, force: true }))

  /** Finds the holes of a file with one byte at each place. */
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

  test('are counted in a part, and no further than was asked', () => {
    const fd = openSync(join(directory, 'counted'), 'w+')
    const count = (start: number, end: number, maxBytes = 2 ** 50): number => {
      const steps = countHoles({ mustPause: () => true }, fd, { start, end, maxBytes })
      for (let step = steps.next(); ; step = steps.next()) if (step.done === true) return step.value
    }
    try {
      for (const place of [8, 16, 24]) writeSync(fd, 'x', place * MIB)
      ftruncateSync(fd, 40 * MIB)
      const dataBytes = 40 * MIB - count(0, 40 * MIB)
      expect(dataBytes).toBeGreaterThanOrEqual(3)
      expect(dataBytes).toBeLessThan(MIB)
      expect(count(9 * MIB, 15 * MIB)).toBe(6 * MIB)
      expect(count(30 * MIB, 50 * MIB)).toBe(20 * MIB)
      expect(count(8 * MIB, 8 * MIB + 1)).toBe(0)
      expect(count(5 * MIB, 5 * MIB)).toBe(0)
      expect(count(0, 40 * MIB, 0)).toBe(8 * MIB)
    } finally {
      closeSync(fd)
    }
  })

  test('end where the file ends that becomes shorter while they are looked for', () => {
    const fd = openSync(join(directory, 'shrinks'), 'w+')
    try {
      for (const place of [0, 8, 16, 24]) writeSync(fd, 'x', place * MIB)
      const steps = findHoles({ mustPause: () => true }, fd, { path: '/file', sizeBytes: 24 * MIB + 1 })
      steps.next()
      truncateSync(join(directory, 'shrinks'), 4 * MIB)
      let step = steps.next()
      while (step.done !== true) step = steps.next()
      expect(step.value?.ranges.map(({ start }) => start)).toEqual([0n])
    } finally {
      closeSync(fd)
    }
  })

  test('are none of a device that does not tell, whose position stays at the start', async () => {
    const image = join(directory, 'image')
    closeSync(openSync(image, 'w'))
    truncateSync(image, 4 * MIB)
    const { stdout } = await runOk('losetup', ['--find', '--show', image])
    const device = stdout.toString().trim()
    try {
      const fd = openSync(device, 'r')
      try {
        expect(hasHole(fd)).toBe(false)
        expect(readSync(fd, Buffer.alloc(512), 0, 512, null)).toBe(512)
      } finally {
        closeSync(fd)
      }
    } finally {
      await runOk('losetup', ['--detach', device])
    }
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
