import { expect, test } from '@jest/globals'
import { environmentOf } from '../../../cli/verbs/plain.ts'

test('variables have the values that are given, or those of the environment here', () => {
  const here = { HOME: '/root', EMPTY: '' }
  expect(environmentOf(['A=1', 'B==', 'HOME', 'EMPTY', 'NONE'], here)).toEqual({
    A: '1',
    B: '=',
    HOME: '/root',
    EMPTY: '',
  })
  expect(environmentOf(undefined, here)).toEqual({})
})

test('what is no variable is refused', () => {
  for (const pair of ['=1', '1A', 'a b']) expect(() => environmentOf([pair], {})).toThrow(`"${pair}" is not KEY=VALUE.`)
})
