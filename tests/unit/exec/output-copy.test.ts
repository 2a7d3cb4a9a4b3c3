import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, type Readable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createOutputTee } from '../../../agent/lib/output/collector.ts'
import { OutputRing } from '../../../agent/lib/output/ring.ts'
import { collect as collectStreams } from '../../helpers/exec/collected.ts'

const KIB = 1024
const HELD = 256 * KIB

describe('a copy of a stream', () => {
  let directory = ''
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'boxyard-copy-'))
  })
  afterAll(() => rmSync(directory, { recursive: true }))

  const collect = () => {
    const streams = { stdout: new PassThrough({ highWaterMark: KIB }), stderr: new PassThrough() }
    const ring = (name: string) =>
      new OutputRing({ path: join(directory, name), capacity: 8 * HELD, memoryBytes: 8 * HELD })
    const rings = { stdout: ring('stdout'), stderr: ring('stderr') }
    const copy = createOutputTee()
    const collector = collectStreams(streams, rings, { stdout: copy, stderr: null })
    return { streams, rings, collector, copy }
  }
  /** Writes as a command does, until the stream accepts no more. */
  const fill = async (stream: PassThrough, pieces: number): Promise<number> => {
    let written = 0
    for (let quiet = 0; written < pieces && quiet < 50; ) {
      if (stream.writableNeedDrain) quiet++
      else {
        stream.write(Buffer.alloc(KIB, written % 251))
        written++
        quiet = 0
      }
      await turn()
    }
    return written
  }
  const readAll = async (stream: Readable): Promise<Buffer> => {
    const pieces: Buffer[] = []
    for await (const piece of stream) pieces.push(piece as Buffer)
    return Buffer.concat(pieces)
  }

  test('has all the content of the ring, in order, and ends with the command', async () => {
    const { streams, rings, collector, copy } = collect()
    const all = readAll(copy.stream)
    expect(await fill(streams.stdout, 1000)).toBe(1000)
    streams.stdout.end()
    streams.stderr.end()
    await collector.settle()
    const bytes = await all
    expect(bytes.length).toBe(1000 * KIB)
    expect(bytes.equals(rings.stdout.read(0, 1000 * KIB).bytes)).toBe(true)
  })

  test('that is not read stops the command, and nothing is lost when it is read again', async () => {
    const { streams, collector, copy } = collect()
    const taken = await fill(streams.stdout, 2000)
    expect(taken * KIB).toBeGreaterThanOrEqual(HELD)
    expect(taken * KIB).toBeLessThan(HELD + 8 * KIB)
    const all = readAll(copy.stream)
    const more = await fill(streams.stdout, 1000)
    streams.stdout.end()
    streams.stderr.end()
    await collector.settle()
    expect((await all).length).toBe((taken + more) * KIB)
  })

  test('that is destroyed lets the command go on', async () => {
    const { streams, rings, copy } = collect()
    await fill(streams.stdout, 2000)
    copy.stream.destroy()
    expect(await fill(streams.stdout, 500)).toBe(500)
    await turn()
    expect(rings.stdout.totalBytes).toBeGreaterThan(HELD + 490 * KIB)
  })

  test('that is behind when the command ends gets the rest of its pipe, and the end', async () => {
    const { streams, collector, copy } = collect()
    const before = await fill(streams.stdout, 2000)
    const settled = collector.settle()
    const after = await fill(streams.stdout, 64)
    streams.stdout.end()
    streams.stderr.end()
    await settled
    expect((await readAll(copy.stream)).length).toBe((before + after) * KIB)
  })

  test('that is behind gets at most 256 KiB after the end, if background processes write on', async () => {
    const { streams, collector, copy } = collect()
    const before = await fill(streams.stdout, 2000)
    const settled = collector.settle()
    await fill(streams.stdout, 4000)
    await settled
    const bytes = await readAll(copy.stream)
    expect(bytes.length).toBeGreaterThan(before * KIB)
    expect(bytes.length).toBeLessThanOrEqual(before * KIB + HELD + 8 * KIB)
    collector.release()
  })
})
