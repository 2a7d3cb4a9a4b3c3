import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { OutputRing, readRingFile } from '../../../agent/lib/output/ring.ts'
import { collect as collectStreams } from '../../helpers/exec/collected.ts'

let directory: string
let path: string

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'boxyard-ring-'))
  path = join(directory, 'ring')
})

afterEach(() => rmSync(directory, { recursive: true, force: true }))

describe('OutputRing', () => {
  test.each([0, 7, 64])(
    'random writes and reads are those of a plain buffer, with %i bytes in memory',
    (memoryBytes) => {
      for (let round = 0; round < 60; round++) {
        const seed = Math.floor(Math.random() * 2 ** 31)
        const random = randomOf(seed)
        const capacity = 64 + random(40)
        const ring = new OutputRing({ path, capacity, memoryBytes })
        let model = Buffer.alloc(0)
        for (let step = 0; step < 40; step++) {
          const piece = Buffer.from(Array.from({ length: random(step % 9 === 0 ? 250 : 30) }, () => random(256)))
          ring.push(piece)
          model = Buffer.concat([model, piece])
          const [offset, maxBytes] = [random(model.length + 20), random(120)]
          const expected = inText(pieceOf(model, { capacity, offset, maxBytes }))
          expect({ seed, step, ...inText(ring.read(offset, maxBytes)) }).toEqual({ seed, step, ...expected })
          ring.publish()
          if (ring.isInFile) expect(inText(readRingFile(path, { capacity, offset, maxBytes }))).toEqual(expected)
        }
        expect(ring.keptBytes).toBe(Math.min(model.length, capacity))
        ring.close()
      }
    },
  )

  test('short output makes no file, and longer output one of bounded size that only its owner reads', () => {
    const ring = new OutputRing({ path, capacity: 1000, memoryBytes: 100 })
    ring.push(Buffer.alloc(100))
    expect(existsSync(path)).toBe(false)
    for (let i = 0; i < 100; i++) ring.push(Buffer.alloc(333))
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(statSync(path).size).toBeLessThanOrEqual(4096 + 1000)
    ring.close()
    expect(readRingFile(path, { capacity: 1000, offset: 0, maxBytes: 5000 }).bytes).toHaveLength(1000)
  })

  test('the end is kept in memory if no file can be made', () => {
    const ring = new OutputRing({ path: join(directory, 'no', 'such'), capacity: 1000, memoryBytes: 10 })
    for (const piece of ['abcdefgh', 'ijklmnop', 'q']) ring.push(Buffer.from(piece))
    expect(ring.read(0, 100)).toEqual({ offset: 7, bytes: Buffer.from('hijklmnopq'), totalBytes: 17 })
    expect(() => new OutputRing({ path: join(directory, 'no', 'such'), capacity: 10, memoryBytes: 0 })).toThrow()
    ring.close()
  })

  test('other processes read what is published', () => {
    const ring = new OutputRing({ path, capacity: 8, memoryBytes: 0 })
    const all = { capacity: 8, offset: 0, maxBytes: 100 }
    ring.push(Buffer.from('one'))
    expect(readRingFile(path, all).bytes.toString()).toBe('')
    ring.publish()
    ring.push(Buffer.from('two'))
    expect([readRingFile(path, all).bytes.toString(), ring.read(0, 100).bytes.toString()]).toEqual(['one', 'onetwo'])
    ring.push(Buffer.from('three'))
    // A reader skips bytes that are being overwritten.
    expect(readRingFile(path, all).bytes.toString()).toBe('two')
    ring.close()
    expect(readRingFile(path, all).bytes.toString()).toBe('twothree')
  })

  test('a missing file counts as empty', () => {
    const nothing = { offset: 5, bytes: Buffer.alloc(0), totalBytes: 0 }
    expect(readRingFile(path, { capacity: 10, offset: 5, maxBytes: 5 })).toEqual(nothing)
  })

  test('a sealed ring takes and counts nothing, and can be read', () => {
    const ring = new OutputRing({ path, capacity: 1000, memoryBytes: 100 })
    ring.push(Buffer.from('before'))
    ring.seal()
    ring.push(Buffer.from('after'))
    expect(ring.read(0, 100)).toEqual({ offset: 0, bytes: Buffer.from('before'), totalBytes: 6 })
  })

  test('many one-byte writes keep their order', () => {
    const ring = new OutputRing({ path, capacity: 8000, memoryBytes: 8000 })
    for (let i = 0; i < 6000; i++) ring.push(Buffer.from([i % 251]))
    expect([...ring.read(0, 6000).bytes]).toEqual(Array.from({ length: 6000 }, (_, i) => i % 251))
  })
})

describe('collectOutput', () => {
  const collect = () => {
    const streams = { stdout: new PassThrough(), stderr: new PassThrough() }
    const ring = (name: string) => new OutputRing({ path: join(directory, name), capacity: 100, memoryBytes: 100 })
    const rings = { stdout: ring('stdout'), stderr: ring('stderr') }
    return { streams, rings, collector: collectStreams(streams, rings) }
  }

  test('a broken stream counts as ended', async () => {
    const { streams, rings, collector } = collect()
    streams.stdout.write('half')
    streams.stderr.end()
    setImmediate(() => streams.stdout.destroy(new Error('gone')))
    await collector.released
    await collector.settle()
    expect(rings.stdout.totalBytes).toBeLessThanOrEqual(4)
  })

  test('streams that ended before they are collected count as ended', async () => {
    const stdout = new PassThrough()
    const stderr = new PassThrough()
    stdout.resume().end()
    stderr.destroy()
    await Promise.all([once(stdout, 'close'), once(stderr, 'close')])
    const sink = { totalBytes: 0, isSealed: false, push: () => undefined, seal: () => undefined }
    await collectStreams({ stdout, stderr }, { stdout: sink, stderr: sink }).released
  })

  test('streams that stay open settle once they are quiet, and what comes later is read and dropped', async () => {
    const { streams, rings, collector } = collect()
    let notices = 0
    collector.onOutput(() => notices++)
    streams.stdout.write('first')
    await collector.settle()
    expect([rings.stdout.totalBytes, notices]).toEqual([5, 1])
    streams.stdout.write('second')
    await new Promise((resolve) => setImmediate(resolve))
    expect([rings.stdout.totalBytes, streams.stdout.readableLength]).toEqual([5, 0])
    collector.release()
    await collector.released
  })
})

function pieceOf(all: Buffer, range: { capacity: number; offset: number; maxBytes: number }) {
  const offset = Math.max(range.offset, all.length - range.capacity)
  return { offset, bytes: all.subarray(offset, offset + range.maxBytes), totalBytes: all.length }
}

/** Converts the bytes to text. jest compares a buffer element by element, which is a thousand times slower. */
function inText<T extends { bytes: Uint8Array }>({ bytes, ...rest }: T) {
  return { ...rest, bytes: Buffer.from(bytes).toString('latin1') }
}

function randomOf(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    return Math.floor((state / 0x80000000) * below)
  }
}
