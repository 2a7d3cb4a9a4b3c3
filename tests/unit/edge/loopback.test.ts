import { expect, test } from '@jest/globals'
import { Loopback } from '../../../agent/core/edge/loopback.ts'
import type { ServiceRecord } from '../../../agent/ports/store/services.ts'
import { ServiceError } from '../../../shared/errors.ts'
import { ran, serviceRecord } from '../../helpers/services/records.ts'

const OPEN = { address: '10.1.0.2', port: 5173 }

const REFUSED = new Error('connected')

function loopback(
  atOnce = 100,
  { service = null, refusal = REFUSED }: { service?: ServiceRecord | null; refusal?: Error } = {},
): { at: Loopback; connected: unknown[]; clock: { ms: number } } {
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
        return Promise.reject(refusal)
      },
    },
    services: { of: async () => (service === null ? [] : [service]), get: async () => service },
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

/** Returns a service whose run at the port continues, or has ended. */
function ranAtPort(end: Parameters<typeof ran>[1], restart: 'always' | 'never' = 'always'): ServiceRecord {
  const record = ran(serviceRecord({ port: OPEN.port, restart }), end)
  return { ...record, active: record.active && { ...record.active, port: OPEN.port } }
}

test.each([
  ['none', null, 'Nothing listens.'],
  ['a service of another port', serviceRecord({ port: 22 }, { desired: 'stopped' }), 'Nothing listens.'],
  ['one that runs', ranAtPort(null), 'Nothing listens.'],
  ['one that starts', serviceRecord({ port: OPEN.port }), 'Nothing listens.'],
  ['one that is stopped', { ...ranAtPort({}), desired: 'stopped' }, 'The service on port 5173 of this box is stopped.'],
  ['one that has ended', ranAtPort({ exitCode: 3 }), 'The service on port 5173 of this box has ended, and restarts.'],
  ['one that has ended for good', ranAtPort({}, 'never'), 'The service on port 5173 of this box has ended.'],
] as const)(
  'the error for a port without a listener gives the state of its service: %s',
  async (_what, service, message) => {
    const refusal = new ServiceError('port_not_listening', 'Nothing listens.')
    const reach = await loopback(100, { service, refusal }).at.reach(OPEN)
    await expect(reach.connect()).rejects.toThrow(message)
    // Another fault is its own cause.
    const other = await loopback(100, { service }).at.reach(OPEN)
    await expect(other.connect()).rejects.toBe(REFUSED)
  },
)
