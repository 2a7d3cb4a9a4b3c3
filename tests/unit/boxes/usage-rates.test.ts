import { expect, test } from '@jest/globals'
import { ratesBetween } from '../../../agent/core/boxes/usage-history.ts'

test.each([
  ['of one run', {}, { cpuCores: 0.1, receivedPerSecond: 10, sentPerSecond: 1 }],
  ['of two runs', { since: 2 }, null],
  ['at one time', { at: 0 }, null],
  ['too far apart', { at: 181_000 }, null],
  ['of which processor time went back', { cpuSeconds: 9 }, null],
  ['of which a counter of the network went back', { sentBytes: 0 }, null],
  ['without processor time', { cpuSeconds: null }, { cpuCores: null, receivedPerSecond: 10, sentPerSecond: 1 }],
])('rates between two looks %s', (_, changes, rates) => {
  const before = { at: 0, since: 1, cpuSeconds: 10, receivedBytes: 0, sentBytes: 10 }
  const now = { at: 60_000, since: 1, cpuSeconds: 16, receivedBytes: 600, sentBytes: 70, ...changes }
  expect(ratesBetween(before, now)).toEqual(rates)
})
