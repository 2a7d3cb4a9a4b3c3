import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { listSubvolumes } from '../../helpers/boxes/world.ts'
import { eventually, untilSucceeds } from '../../helpers/eventually.ts'
import { armStep, at, type FaultStep, restartAgent, untilDead } from '../../helpers/fault-steps.ts'
import { type Answer, type Client, createClient } from '../../helpers/front/client.ts'
import { startService, type TestService } from '../../helpers/service.ts'

/** Steps at which the test kills the agent, while the box is frozen and in the middle of a start. The kill matrix covers the others. */
const STEPS: readonly (readonly [Action, FaultStep])[] = [
  ['take', at('filesystem.snapshot', 'before')],
  ['restore', at('runtime.start', 'during-8')],
]
type Action = 'take' | 'restore'
/** Calls whose failure makes a restore leave box and volume unchanged. */
const FAILING = [at('filesystem.setReadOnly', 'reject', 2), at('runtime.start', 'reject')]

let service: TestService
const client: Client = createClient(
  () => service.url,
  () => service.adminToken,
)
const box = '/v1/projects/faults/boxes/web'
const data = '/v1/projects/faults/data'
const act: Record<Action, () => Promise<Answer>> = {
  take: () => client.post(`${box}/snapshots`, { name: 'taken', include_data: true }),
  restore: () => client.post(`${box}/restore`, { snapshot: 'taken' }),
}

beforeAll(async () => {
  service = await startService({ agentScript: 'tests/fixtures/faulty-agent.ts' })
})

beforeEach(async () => {
  await client.post('/v1/projects/faults/boxes', { name: 'web', config: { ram_mb: 64 } })
  await client.post(data, { name: 'vol', size_gb: 0.25 })
  await client.post(`${data}/vol/attach`, { box: 'web', path: '/mnt/vol' })
  await write('before')
})

afterAll(async () => {
  await service.close()
})

describe('kill -9 of the agent', () => {
  test.each(STEPS)(
    '%s of a snapshot, killed at %s: the answer holds, records and pool agree, and nothing is left over',
    async (action, step) => {
      if (action !== 'take') await act.take()
      await write('after')
      await armStep(service, step)
      const { status } = await act[action]()
      if (!step.includes('during')) await untilDead(service.agentPid)
      await restartAgent(service, 'SIGKILL')
      // The start has completed its own cleanup by then.
      await sleep(100)

      expect(await settled()).toBe('running')
      const held = await read()
      // Root and volume must both be old or both be new.
      expect([...new Set(held)]).toHaveLength(1)
      if (action !== 'restore') expect(held).toEqual(['after', 'after'])
      else if (status === 200) expect(held).toEqual(['before', 'before'])
      await write('later')
      const isThere = (await client.get(`${box}/snapshots/taken`)).status === 200
      if (status < 300) expect(isThere).toBe(true)
      if (isThere) {
        expect((await act.restore()).status).toBe(200)
        expect(await read()).toEqual(action === 'take' ? ['after', 'after'] : ['before', 'before'])
      }
      await expectAgreement()
      await clear()
      expect(await untilEmpty()).toEqual([])
    },
  )
})

describe('a restore', () => {
  test.each(FAILING)('that fails at %s changes nothing, lets the box go on, and can be repeated', async (step) => {
    await act.take()
    await write('after')
    await armStep(service, step)
    const refused = await act.restore()
    expect(refused.status).toBeGreaterThanOrEqual(400)
    expect(refused.body.detail).not.toContain('made to fail')
    expect(await settled()).toBe('running')
    expect(await read()).toEqual(['after', 'after'])
    await write('later')
    expect((await act.restore()).status).toBe(200)
    expect(await read()).toEqual(['before', 'before'])
    await expectAgreement()
    await clear()
    expect(await untilEmpty()).toEqual([])
  })
})

test.each([0, 3, 6, 10, 15, 25, 40])('a box deleted %i ms into a restore leaves nothing of the restore', async (ms) => {
  await act.take()
  const restored = act.restore()
  await sleep(ms)
  expect((await client.delete(box)).status).toBe(204)
  const { status, body } = await restored
  if (status !== 200) expect(body.code).toBe('box_not_found')
  expect((await client.delete(`${data}/vol`)).status).toBe(204)
  expect(await untilEmpty()).toEqual([])
  expect((await client.get('/healthz')).body).toMatchObject({ status: 'ok', errors: [] })
})

async function write(text: string): Promise<void> {
  const { body } = await client.shell('faults', 'web', `echo ${text} > /root/state && echo ${text} > /mnt/vol/state`)
  expect(body.exit_code).toBe(0)
}

async function read(): Promise<string[]> {
  return (await client.shell('faults', 'web', 'cat /root/state /mnt/vol/state')).body.stdout.trim().split('\n')
}

async function settled(): Promise<string> {
  return untilSucceeds(async () => {
    const { status } = (await client.get(box)).body
    expect(status).not.toBe('pending')
    return status
  })
}

/** Checks that the pool has exactly the subvolumes of the box, its volume and their snapshots. */
async function expectAgreement(): Promise<void> {
  const { snapshots } = (await client.get(`${box}/snapshots`)).body
  const parts = snapshots.reduce((sum: number, each: { data: unknown[] }) => sum + 1 + each.data.length, 0)
  await untilSucceeds(async () => expect(listSubvolumes(service)).toHaveLength(2 + parts), 60_000)
}

async function clear(): Promise<void> {
  expect((await client.delete(box)).status).toBe(204)
  expect((await client.delete(`${data}/vol`)).status).toBe(204)
}

async function untilEmpty(): Promise<string[]> {
  await eventually(() => listSubvolumes(service).length === 0)
  return listSubvolumes(service)
}
