import { PassThrough } from 'node:stream'
import { describe, expect, test } from '@jest/globals'
import { viewExec } from '../../agent/core/exec-view.ts'
import { drainInto, OutputTail } from '../../agent/core/output-tail.ts'
import type { ExecRecord } from '../../agent/ports/store.ts'

const RECORD: ExecRecord = {
  id: 'exe_00000000000000000000000000',
  boxId: 'box_00000000000000000000000000',
  project: 'demo',
  box: 'web',
  command: ['true'],
  status: 'exited',
  exitCode: 0,
  signal: null,
  startedAt: 0,
  endedAt: 1,
  user: 'root',
  cwd: '/',
  process: 2,
  stdoutBytes: 0,
  stderrBytes: 0,
}

describe('OutputTail', () => {
  test('keeps the last bytes and counts all', () => {
    const tail = new OutputTail(8)
    for (const piece of ['abc', 'defg', 'hijkl', 'm']) tail.push(Buffer.from(piece))
    expect(tail.bytes().toString()).toBe('fghijklm')
    expect(tail.totalBytes).toBe(13)
  })

  test('many one-byte writes keep their order', () => {
    const tail = new OutputTail(5000)
    for (let i = 0; i < 6000; i++) tail.push(Buffer.from([i % 251]))
    expect([...tail.bytes()]).toEqual(Array.from({ length: 5000 }, (_, i) => (i + 1000) % 251))
  })

  test('a stream that breaks has ended', async () => {
    const stream = new PassThrough()
    const tail = new OutputTail(8)
    const drained = drainInto(stream, tail)
    stream.write('half')
    setImmediate(() => stream.destroy(new Error('gone')))
    await drained
    expect(tail.totalBytes).toBeLessThanOrEqual(4)
  })
})

describe('viewExec', () => {
  const output = (stdout: Buffer) => ({ stdout, stderr: Buffer.alloc(0) })

  test('a tail that begins inside a character begins with the next', () => {
    const bytes = Buffer.from('äöü').subarray(1)
    const view = viewExec({ ...RECORD, stdoutBytes: 6 }, output(bytes), 'utf-8')
    expect(view.stdout).toBe('öü')
    expect(view.truncated).toBe(true)
  })

  test('bytes that are no UTF-8 are replaced as text, and kept as base64', () => {
    const bytes = Buffer.from([0x61, 0xff, 0xfe, 0x62])
    const record = { ...RECORD, stdoutBytes: 4 }
    expect(viewExec(record, output(bytes), 'utf-8').stdout).toBe('a\ufffd\ufffdb')
    expect(Buffer.from(viewExec(record, output(bytes), 'base64').stdout, 'base64')).toEqual(bytes)
  })
})
