import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Answer, type Client, createClient } from '../helpers/client.ts'
import { pickSample } from '../helpers/sample.ts'
import { startService, type TestService } from '../helpers/service.ts'
import { ageByOneBoot, pidsOf, readWorld } from '../helpers/world.ts'

/** Steps at which the agent is killed, by what it was doing; each is a call from the core or the runtime to a port. */
const STEPS: Record<'create' | 'stop' | 'resume' | 'delete', string[]> = {
  create: around(
    ['store.boxes.insert', 'filesystem.snapshot', 'runtime.start', 'network.join', 'store.boxes.replace'],
    [
      ...[1, 3, 6, 10, 15, 25].map((ms) => `runtime.start:during-${ms}:1`),
      ...[0, 2].map((ms) => `filesystem.snapshot:during-${ms}:1`),
    ],
  ),
  stop: around(
    ['runtime.stop', 'network.leave', 'store.boxes.replace'],
    [
      'store.boxes.replace:before:2',
      'store.boxes.replace:after:2',
      ...[1, 3, 6].map((ms) => `runtime.stop:during-${ms}:1`),
    ],
  ),
  resume: around(
    ['runtime.start', 'network.join', 'store.boxes.replace'],
    [
      'store.boxes.replace:before:2',
      'store.boxes.replace:after:2',
      ...[2, 8, 14].map((ms) => `runtime.start:during-${ms}:1`),
    ],
  ),
  delete: around(
    ['store.boxes.remove', 'runtime.stop', 'network.leave', 'filesystem.destroy', 'store.tombstones.remove'],
    [...[1, 3, 6].map((ms) => `runtime.stop:during-${ms}:1`)],
  ),
}
const ALL = Object.entries(STEPS).flatMap(([action, steps]) => steps.map((step) => [action, step] as const))
const CHOSEN = process.env['TEST_FAULTS'] === 'all' ? ALL : pickSample(ALL, 10)

let service: TestService
const client: Client = createClient(
  () => service.url,
  () => service.adminToken,
)
const boxes = '/v1/projects/faults/boxes'

beforeAll(async () => {
  service = await startService({ agentScript: 'tests/fixtures/faulty-agent.ts' })
  await client.post(boxes, { name: 'witness' })
}, 60_000)

afterAll(async () => {
  await service.close()
}, 60_000)

describe('kill -9 of the agent', () => {
  test.each(CHOSEN)(
    '%s, killed at %s: record and world agree, and nothing leaks',
    async (action, step) => {
      const witness = (await client.get(`${boxes}/witness`)).body
      const witnessPids = pidsOf(service, witness.id)
      if (action !== 'create') await client.post(boxes, { name: 'victim' })
      if (action === 'resume') await client.post(`${boxes}/victim/stop`)
      await service.killAgent('SIGTERM')
      await service.startAgent({ TEST_FAULT: step })
      process.kill(service.agentPid, 'SIGUSR2')

      const answer = await act(action)
      // Only a kill some milliseconds into a step may come too late for it.
      if (!step.includes('during')) expect(isAlive(service.agentPid)).toBe(false)
      await service.killAgent()
      await service.startAgent({ TEST_FAULT: '' })
      const after = await settledBox('victim')

      holdAnswer(action, answer, after)
      expect(pidsOf(service, witness.id)).toEqual(witnessPids)
      await expectAgreement()
      if (after) expect((await client.delete(`${boxes}/victim`)).status).toBe(204)
      await expectAgreement()
    },
    60_000,
  )

  test('a reboot brings back the boxes that should run, and only those', async () => {
    await client.post(boxes, { name: 'off' })
    await client.post(`${boxes}/off/stop`)
    await client.shell('faults', 'witness', 'echo kept > /root/boot; sync')
    const { body: witness } = await client.get(`${boxes}/witness`)
    await service.killAgent()
    for (const pid of pidsOf(service, witness.id)) process.kill(pid, 'SIGKILL')
    ageByOneBoot(service)
    await service.startAgent()
    expect((await settledBox('witness'))?.status).toBe('running')
    expect((await settledBox('off'))?.status).toBe('stopped')
    expect((await client.shell('faults', 'witness', 'cat /root/boot')).body.stdout).toBe('kept\n')
    await expectAgreement()
    await client.delete(`${boxes}/off`)
  }, 60_000)

  test('down stops the boxes, and up brings back those that should run, and only those', async () => {
    await client.post(boxes, { name: 'asleep' })
    await client.post(`${boxes}/asleep/stop`)
    await client.shell('faults', 'witness', 'echo kept > /root/kept; sync')
    await service.killAgent('SIGTERM')
    expect(await service.runAgentMode('down')).toContain('Stopped 1 boxes')
    await service.startAgent()
    expect((await settledBox('witness'))?.status).toBe('running')
    expect((await settledBox('asleep'))?.status).toBe('stopped')
    expect((await client.shell('faults', 'witness', 'cat /root/kept')).body.stdout).toBe('kept\n')
    await expectAgreement()
  }, 60_000)
})

async function act(action: string): Promise<Answer | null> {
  const path = `${boxes}/victim`
  const call = {
    create: () => client.post(boxes, { name: 'victim' }),
    stop: () => client.post(`${path}/stop`),
    resume: () => client.post(`${path}/resume`),
    delete: () => client.delete(path),
  }[action]
  const answer = (await call?.()) ?? null
  // What goes on after the answer is to be hit as well.
  await sleep(100)
  return answer
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** An answered 2xx holds; what was refused may have happened or not, but is whole. */
function holdAnswer(action: string, answer: Answer | null, box: { status: string } | null): void {
  const isDone = answer !== null && answer.status < 300
  if (!isDone) return
  const expected = { create: 'running', stop: 'stopped', resume: 'running' }[action] ?? null
  expect(box?.status ?? null).toBe(expected)
}

async function settledBox(name: string): Promise<{ id: string; status: string } | null> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const { status, body } = await client.get(`${boxes}/${name}`)
    if (status === 404) return null
    if (status === 200 && body.status !== 'pending') return body
    await sleep(50)
  }
  throw new Error(`${name} stays pending`)
}

/** The records, the processes, the runtime's state and the pool tell of the same boxes. */
async function expectAgreement(): Promise<void> {
  let last: unknown
  for (let attempt = 0; attempt < 100; attempt++) {
    const records: { id: string; status: string }[] = (await client.get(boxes)).body.boxes
    const running = records.filter(({ status }) => status === 'running').map(({ id }) => id)
    const world = readWorld(service)
    const expected = { running: running.sort(), states: [...running].sort(), roots: records.map(({ id }) => id).sort() }
    if (JSON.stringify(world) === JSON.stringify(expected)) return
    last = { world, expected }
    await sleep(50)
  }
  throw new Error(`record and world differ: ${JSON.stringify(last)}`)
}

function around(calls: readonly string[], more: readonly string[]): string[] {
  return [...calls.flatMap((call) => [`${call}:before:1`, `${call}:after:1`]), ...more]
}
