import { describe, expect, it } from '@jest/globals'
import { lineEndsOf, lineNumbers, withLineEnds } from '../../../web/src/pages/box/files/line-ends.ts'

describe('line ends of a text', () => {
  it.each([
    ['', 'lf'],
    ['a\nb', 'lf'],
    ['a\r\nb\r\n', 'crlf'],
    ['a\r\nb\n', 'mixed'],
    ['a\rb', 'mixed'],
  ])('are told: %j is %s', (text, ends) => {
    expect(lineEndsOf(text)).toBe(ends)
  })

  it('come back as they were after an editor that knows only line feeds', () => {
    const text = 'a\r\nb\r\n'
    expect(withLineEnds(withLineEnds(text, 'lf'), lineEndsOf(text))).toBe(text)
    expect(withLineEnds('a\nb', 'lf')).toBe('a\nb')
  })

  it('make numbered lines', () => {
    expect(lineNumbers('a\nb\n')).toBe('1\n2\n3')
  })
})
