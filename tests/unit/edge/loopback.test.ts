import { expect, test } from '@jest/globals'
import { Loopback } from '../../../agent/core/edge/loopback.ts'

const OPEN = { address: '10.1.0.2', port: 5173 }

function loopback(atOnce = 100): { at: Loopback; connected: unknown[]; clock: { ms: number } } {
  const connected: unknown[] = []
  const clock = { ms: 0 }
  const at = new Loopback({
    hosts: {
      boxAt: async ({ address, port }) =>
        address === OPEN.address && port === OPEN.port ? { project: 'demo', boxId: 'box_1' } : null,
    },
    runtime: {
      connect: (...given) => {
        connected.push(given)
        return Promise.reject(new Error('connected'))
      },
    },
    atOnce,
    clock: { now: () => clock.ms },
  })
  return { at, connected, clock }
}

test('a port that a host leads to is connected to in the box that has the address', async () => {
  const { at, connected } = loopback()
  const reach = await at.reach(OPEN)
  await expect(reach.connect()).rejects.toThrow('connected')
  expect([reach.owner, connected]).toEqual([{ project: 'demo', boxId: 'box_1' }, [['box_1', 5173]]])
})

test.each([
  ['another port of the box', { ...OPEN, port: 22 }],
  ['another address', { ...OPEN, address: '127.0.0.1' }],
])('%s is refused', async (_what, target) => {
  const { at, connected } = loopback()
  await expect(at.reach(target)).rejects.toMatchObject({ code: 'port_unreachable' })
  expect(connected).toEqual([])
})

test('a project has half of what may be open, and gets its share back', async () => {
  const { at } = loopback(4)
  const first = await at.reach(OPEN)
  await at.reach(OPEN)
  await expect(at.reach(OPEN)).rejects.toMatchObject({ code: 'rate_limited' })
  first.release()
  await expect(at.reach(OPEN)).resolves.toBeDefined()
})

test('a project that asks too often waits', async () => {
  const { at, clock } = loopback()
  const askOnce = async (): Promise<string> =>
    at.reach(OPEN).then(
      (reach) => (reach.release(), 'reached'),
      ({ code }: { code: string }) => code,
    )
  for (let count = 0; count < 1_000; count++) await askOnce()
  expect(await askOnce()).toBe('rate_limited')
  clock.ms += 1_000
  expect(await askOnce()).toBe('reached')
})
