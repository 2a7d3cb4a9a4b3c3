import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { OutputRing, readRingFile } from '../../../agent/lib/output/ring.ts'

let directory: string

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'boxyard-ring-'))
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'none', directory])
})

afterEach(() => {
  execFileSync('umount', [directory])
  rmSync(directory, { recursive: true })
})

test('on a full disk all is counted, and unwritten output is left out until there is room again', () => {
  const path = join(directory, 'ring')
  const ring = new OutputRing({ path, capacity: 128 * 1024, memoryBytes: 0 })
  ring.push(Buffer.from('before'))
  const filler = join(directory, 'filler')
  expect(() => writeFileSync(filler, Buffer.alloc(1024 * 1024))).toThrow(/ENOSPC/)
  ring.push(Buffer.alloc(64 * 1024, 'x'))
  const totalBytes = 6 + 64 * 1024
  expect(ring.read(0, 100)).toMatchObject({ offset: totalBytes, bytes: Buffer.alloc(0), totalBytes })
  rmSync(filler)
  ring.push(Buffer.from('after'))
  const piece = { offset: totalBytes, bytes: Buffer.from('after'), totalBytes: totalBytes + 5 }
  expect(ring.read(0, 100)).toEqual(piece)
  ring.publish()
  expect(readRingFile(path, { capacity: 128 * 1024, offset: 0, maxBytes: 100 })).toEqual(piece)
  ring.close()
})

test('on a disk full from the start the end is kept in memory, and a ring without memory is refused', () => {
  writeFileSync(join(directory, 'filler'), '')
  expect(() => writeFileSync(join(directory, 'filler'), Buffer.alloc(1024 * 1024))).toThrow(/ENOSPC/)
  const options = { path: join(directory, 'ring'), capacity: 1000 }
  expect(() => new OutputRing({ ...options, memoryBytes: 0 })).toThrow(/ENOSPC/)
  const ring = new OutputRing({ ...options, memoryBytes: 4 })
  ring.push(Buffer.from('abcdef'))
  expect(ring.read(0, 100)).toEqual({ offset: 2, bytes: Buffer.from('cdef'), totalBytes: 6 })
})
