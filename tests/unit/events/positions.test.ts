import { describe, expect, test } from '@jest/globals'
import { createSingleCursors, createVectorCursors } from '../../../agent/core/events/positions.ts'

const textOf = (cursor: string): string => Buffer.from(cursor, 'base64url').toString()
const cursorOf = (text: string): string => Buffer.from(text).toString('base64url')

describe('cursors of a fleet', () => {
  const cursors = createVectorCursors()

  test('name a number of each cell, and come back as they were', () => {
    const position = {
      cells: new Map([
        ['k1', 0],
        ['0az9', 2 ** 45],
        ['k2', 71],
      ]),
      since: null,
    }
    const cursor = cursors.encode(position)
    expect(textOf(cursor)).toMatch(/^e2:,k1\.0,0az9\.[0-9a-z]+,k2\.1z$/)
    expect(cursors.decode(cursor)).toEqual(position)
  })

  test('say where cells begin that they do not name', () => {
    const position = { cells: new Map([['k1', 5]]), since: 1_790_000_000_000 }
    expect(cursors.decode(cursors.encode(position))).toEqual(position)
    const nowhere = { cells: new Map<string, number>(), since: null }
    expect(cursors.decode(cursors.encode(nowhere))).toEqual(nowhere)
  })

  test('are told from those of a host that was alone', () => {
    expect(cursors.decode(createSingleCursors('k1').encode({ cells: new Map([['k1', 9]]), since: null }))).toEqual({
      alone: 9,
    })
  })

  test.each(['e2:k1.5', 'e2:,k.5', 'e2:,k1.', 'e2:,k1.-1', 'e3:,k1.5', 'e1:', ''])('are not %p', (text) => {
    expect(() => cursors.decode(cursorOf(text))).toThrow(expect.objectContaining({ code: 'invalid_request' }))
  })

  test('of a hundred cells fit into the head of a request', () => {
    const cells = new Map(
      Array.from({ length: 100 }, (_, i): [string, number] => [`k${i.toString(36).padStart(3, '0')}`, 1e9 + i]),
    )
    expect(cursors.encode({ cells, since: Date.now() }).length).toBeLessThan(2_048)
  })
})

describe('cursors of one host', () => {
  const cursors = createSingleCursors('00')

  test('are its number alone', () => {
    const cursor = cursors.encode({ cells: new Map([['00', 12]]), since: 5 })
    expect(textOf(cursor)).toBe('e1:12')
    expect(cursors.decode(cursor)).toEqual({ cells: new Map([['00', 12]]), since: null })
  })

  test('of a fleet that it has left have expired', () => {
    expect(() => cursors.decode(cursorOf('e2:,k1.5'))).toThrow(expect.objectContaining({ code: 'cursor_expired' }))
    expect(() => cursors.decode(cursorOf('e2'))).toThrow(expect.objectContaining({ code: 'invalid_request' }))
  })
})
