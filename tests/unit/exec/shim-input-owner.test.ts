import { Writable } from 'node:stream'
import { beforeEach, describe, expect, test } from '@jest/globals'
import type { TerminalSize } from '../../../agent/ports/boxes/runtime.ts'
import { createInputOwner, type InputOwner } from '../../../agent/shim/input-owner.ts'

describe('a keyboard', () => {
  let typed: string
  let sizes: string[]
  let room: string[]
  let flush: (() => void)[]
  let stdin: Writable
  let keyboard: InputOwner<string>

  const open = (endsInput = true): void => {
    typed = ''
    sizes = []
    room = []
    flush = []
    stdin = new Writable({
      highWaterMark: 10,
      write: (chunk: Buffer, _, done) => {
        typed += chunk.toString()
        flush.push(done)
      },
    })
    keyboard = createInputOwner<string>({
      ...{ stdin, endsInput, terminal: { resize: ({ cols, rows }: TerminalSize) => sizes.push(`${cols}x${rows}`) } },
      onWritable: (viewer) => room.push(viewer),
      onSize: () => undefined,
    })
  }
  const type = (viewer: string, text = viewer): boolean => {
    const isRoom = keyboard.write(viewer, Buffer.from(text))
    flush.shift()?.()
    return isRoom
  }

  beforeEach(() => open())

  test('is open to all that joined to type, and to no viewer', () => {
    keyboard.join('a', 'all')
    keyboard.join('b', 'all')
    keyboard.join('w', 'none')
    for (const viewer of ['a', 'w', 'b', 'x']) type(viewer)
    expect(typed).toBe('ab')
  })

  test('is taken by one client, of two by the later, and given back', () => {
    keyboard.join('a', 'all')
    keyboard.join('1', 'one')
    type('a')
    type('1')
    keyboard.join('2', 'one')
    keyboard.join('b', 'all')
    for (const viewer of ['a', 'b', '1', '2']) type(viewer)
    expect(typed).toBe('12')
    keyboard.leave('2')
    for (const viewer of ['a', '1', '2']) type(viewer)
    expect(typed).toBe('121')
    keyboard.leave('1')
    for (const viewer of ['a', 'b', '1']) type(viewer)
    expect(typed).toBe('121ab')
  })

  test('has the size set last by a client that may type, and an earlier one once that leaves', () => {
    keyboard.join('a', 'all')
    keyboard.join('b', 'all')
    keyboard.join('w', 'none')
    keyboard.resize('a', { cols: 1, rows: 1 })
    keyboard.resize('b', { cols: 2, rows: 2 })
    keyboard.resize('w', { cols: 9, rows: 9 })
    keyboard.join('o', 'one')
    keyboard.resize('o', { cols: 3, rows: 3 })
    keyboard.resize('a', { cols: 4, rows: 4 })
    expect(sizes).toEqual(['1x1', '2x2', '3x3'])
    keyboard.leave('w')
    expect(sizes).toHaveLength(3)
    keyboard.leave('o')
    expect(sizes.at(-1)).toBe('4x4')
    keyboard.leave('a')
    expect(sizes.at(-1)).toBe('2x2')
    keyboard.leave('b')
    expect(sizes).toHaveLength(5)
  })

  test('asks clients to wait while input is not read, and resumes those still connected', () => {
    keyboard.join('a', 'all')
    keyboard.join('b', 'all')
    expect(keyboard.write('a', Buffer.from('0123456789'))).toBe(false)
    expect(keyboard.write('b', Buffer.from('x'))).toBe(false)
    keyboard.leave('b')
    expect(room).toEqual([])
    flush.shift()?.()
    flush.shift()?.()
    return new Promise<void>((resolve) => setImmediate(resolve)).then(() => expect(room).toEqual(['a']))
  })

  test('that is no longer read drops input, and releases waiting clients', async () => {
    keyboard.join('a', 'all')
    expect(keyboard.write('a', Buffer.from('0123456789'))).toBe(false)
    stdin.destroy()
    await new Promise((resolve) => setImmediate(resolve))
    expect(room).toEqual(['a'])
    expect(keyboard.write('a', Buffer.from('0123456789'))).toBe(true)
    expect(typed).toBe('0123456789')
  })

  test('is ended by a client that may type, if the input can be ended', () => {
    keyboard.join('w', 'none')
    keyboard.endInput('w')
    expect(stdin.writableEnded).toBe(false)
    keyboard.join('a', 'all')
    keyboard.endInput('a')
    expect(stdin.writableEnded).toBe(true)
    expect(keyboard.write('a', Buffer.from('late'))).toBe(true)
    open(false)
    keyboard.join('a', 'all')
    keyboard.endInput('a')
    expect(stdin.writableEnded).toBe(false)
  })
})
