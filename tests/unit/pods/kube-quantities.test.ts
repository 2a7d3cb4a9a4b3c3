import { expect, test } from '@jest/globals'
import { parseQuantity } from '../../../agent/lib/kube/quantities.ts'

test.each([
  ['2', 2],
  ['0', 0],
  ['250m', 0.25],
  ['1930m', 1.93],
  ['100m', 0.1],
  ['500u', 0.0005],
  ['1500000n', 0.0015],
  ['1.5', 1.5],
  ['.5', 0.5],
  ['2.', 2],
  ['-1', -1],
  ['+3k', 3000],
  ['10M', 10_000_000],
  ['1G', 1e9],
  ['2T', 2e12],
  ['1P', 1e15],
  ['1E', 1e18],
  ['1E3', 1000],
  ['2e3', 2000],
  ['1e-3', 0.001],
  ['1Ki', 1024],
  ['16Gi', 17_179_869_184],
  ['24574668Ki', 24_574_668 * 1024],
  ['0.5Mi', 524_288],
  ['1Ti', 1024 ** 4],
  ['1Pi', 1024 ** 5],
  ['1Ei', 1024 ** 6],
])('the quantity %s is %d', (text, value) => {
  expect(parseQuantity(text)).toBe(value)
})

test.each(['', 'k', '1KB', '1ki', '1 Gi', '--1', '0x10', '1e', 'NaN'])('%j is no quantity', (text) => {
  expect(() => parseQuantity(text)).toThrow('Not a Kubernetes quantity')
})
