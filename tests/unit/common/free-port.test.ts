import { expect, test } from '@jest/globals'
import { FIRST_CLUSTER_PORT } from '../../../infra/cluster/record.ts'
import { freePort } from '../../helpers/service.ts'

test('a port of a test is never one that a cluster of the tests chooses from', async () => {
  const ports = await Promise.all(Array.from({ length: 100 }, freePort))
  expect(new Set(ports).size).toBe(100)
  expect(Math.max(...ports)).toBeLessThan(FIRST_CLUSTER_PORT)
  expect(Math.min(...ports)).toBeGreaterThanOrEqual(12_000)
})
