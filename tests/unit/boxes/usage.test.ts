import { expect, test } from '@jest/globals'
import { parseInterface } from '../../../agent/drivers/host/usage.ts'

const TEXT = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:     900       9    0    0    0     0          0         0      900       9    0    0    0     0       0          0
  eth0:    1200      10    0    0    0     0          0         0     3400      20    0    0    0     0       0          0
  eth1:1       2    0    0    0     0          0         0     3       4    0    0    0     0       0          0
`

test('the traffic of the interfaces of a box is summed up, without loopback', () => {
  expect(parseInterface(TEXT)).toEqual({ receivedBytes: 1201, receivedPackets: 12, sentBytes: 3403, sentPackets: 24 })
  expect(parseInterface('')).toEqual({ receivedBytes: 0, receivedPackets: 0, sentBytes: 0, sentPackets: 0 })
})
