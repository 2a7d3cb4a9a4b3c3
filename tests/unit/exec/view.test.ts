import { describe, expect, test } from '@jest/globals'
import { wholeCharacters } from '../../../agent/core/exec/text.ts'
import { viewExec } from '../../../agent/handlers/exec/view.ts'
import type { ExecRecord } from '../../../agent/ports/store/exec.ts'

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
  tty: false,
  user: 'root',
  cwd: '/',
  detached: false,
  process: 2,
  stdoutBytes: 0,
  stderrBytes: 0,
}

describe('viewExec', () => {
  const output = (stdout: Buffer) => ({ stdout, stderr: Buffer.alloc(0) })

  test('a tail that begins inside a character begins with the next', () => {
    const bytes = Buffer.from('äöü').subarray(1)
    const view = viewExec({ ...RECORD, stdoutBytes: 6 }, output(bytes), 'utf-8')
    expect(view.stdout).toBe('öü')
    expect(view.truncated).toBe(true)
  })

  test('bytes that are not UTF-8 are replaced as text, and kept as base64', () => {
    const bytes = Buffer.from([0x61, 0xff, 0xfe, 0x62])
    const record = { ...RECORD, stdoutBytes: 4 }
    expect(viewExec(record, output(bytes), 'utf-8').stdout).toBe('a\ufffd\ufffdb')
    expect(Buffer.from(viewExec(record, output(bytes), 'base64').stdout, 'base64')).toEqual(bytes)
  })
})

describe('wholeCharacters', () => {
  const whole = (bytes: Buffer, how: Partial<{ isCutBefore: boolean; isLast: boolean }> = {}): string => {
    const { skip, length } = wholeCharacters(bytes, { isCutBefore: false, isLast: false, ...how })
    return bytes.subarray(skip, skip + length).toString()
  }

  test.each(['ä', '€', '😀'])('%s is held back until it is whole, or nothing follows', (character) => {
    const bytes = Buffer.from(character)
    for (let cut = 1; cut < bytes.length; cut++) {
      const piece = Buffer.concat([Buffer.from('a'), bytes.subarray(0, cut)])
      expect(whole(piece)).toBe('a')
      expect(whole(piece, { isLast: true })).toMatch(/^a\ufffd+$/)
    }
    expect(whole(Buffer.from(`a${character}`))).toBe(`a${character}`)
  })

  test('bytes that begin no character are not held back', () => {
    for (const byte of [0x80, 0xc0, 0xff]) expect(whole(Buffer.from([0x61, byte]))).toBe('a\ufffd')
    expect(whole(Buffer.from([0xff, 0x80, 0x80, 0x80]))).toHaveLength(4)
  })

  test('after a gap the rest of a character is left out, elsewhere it is replaced', () => {
    const bytes = Buffer.from('€a').subarray(1)
    expect(whole(bytes, { isCutBefore: true })).toBe('a')
    expect(whole(bytes)).toBe('\ufffd\ufffda')
  })

  test('pieces of any size together are the whole text', () => {
    const text = 'a€ä😀b'.repeat(50)
    const bytes = Buffer.from(text)
    for (let size = 4; size < 12; size++) {
      let read = ''
      for (let at = 0; at < bytes.length; ) {
        const piece = bytes.subarray(at, at + size)
        const { length } = wholeCharacters(piece, { isCutBefore: false, isLast: at + size >= bytes.length })
        read += piece.subarray(0, length).toString()
        at += length
      }
      expect(read).toBe(text)
    }
  })
})
