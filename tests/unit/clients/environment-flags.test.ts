import { expect, test } from '@jest/globals'
import { withValues } from '../../../cli/context/environment-flags.ts'

test('variables given by name have the values that they have here, or are left out', () => {
  const here = { HOME: '/root', EMPTY: '', 'my.home-dir': '/d' }
  const given = ['A=1', 'my.home-dir', 'HOME', 'B=HOME', 'EMPTY', 'NONE', '=1', '1A']
  expect(withValues(given, here)).toEqual(['A=1', 'my.home-dir=/d', 'HOME=/root', 'B=HOME', 'EMPTY=', '=1', '1A'])
})
