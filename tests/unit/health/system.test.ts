import { expect, test } from '@jest/globals'
import type { HealthReport } from '../../../agent/core/health/health.ts'
import { createSystemHandlers, type SystemDeps } from '../../../agent/handlers/health/system.ts'
import { CALLER } from '../../helpers/caller.ts'

type HealthCall = Parameters<ReturnType<typeof createSystemHandlers>['getHealth']>[0]

test('strangers and tokens of projects share one health report, and an operator gets its own', async () => {
  let reports = 0
  const health = async (): Promise<HealthReport> => {
    reports++
    return {
      status: 'ok',
      faults: [],
      boxes: null,
      load: { cpu: {}, memory: { used_bytes: 1, total_bytes: 2 } },
      disk: null,
      pool: null,
      cluster: null,
    } as never
  }
  const { getHealth } = createSystemHandlers({ health } as unknown as SystemDeps)
  const ask = (caller: unknown) => getHealth({ caller } as unknown as HealthCall)
  const answers = await Promise.all(Array.from({ length: 50 }, (_, index) => ask(index % 2 === 0 ? null : CALLER)))
  expect([answers.every(({ status }) => status === 200), reports]).toEqual([true, 1])
  await ask({ ...CALLER, projects: '*' })
  expect(reports).toBe(2)
})

test('the OpenAPI document is made once', async () => {
  const { getOpenApi } = createSystemHandlers({} as unknown as SystemDeps)
  const [one, two] = [await getOpenApi({} as never), await getOpenApi({} as never)]
  expect(one.bytes).toBe(two.bytes)
  expect(JSON.parse(Buffer.from(one.bytes as Uint8Array).toString())).toMatchObject({
    openapi: expect.stringMatching(/^3\.1/),
  })
})
