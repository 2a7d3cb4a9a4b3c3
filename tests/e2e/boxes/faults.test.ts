import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { ageByOneBoot, limitsInForce, mountsOf, pidsOf, readWorld } from '../../helpers/boxes/world.ts'
import { eventually, untilSucceeds } from '../../helpers/eventually.ts'
import { armStep, at, type FaultStep, hasDied, restartAgent } from '../../helpers/fault-steps.ts'
import { type Answer, type Client, createClient } from '../../helpers/front/client.ts'
import { runtimeOfTests } from '../../helpers/pods/cluster-of-tests.ts'
import { startService, type TestService } from '../../helpers/service.ts'

/** Call by which a box joins the network. */
const JOIN = runtimeOfTests() === 'kubernetes' ? 'network.admit' : 'network.join'
/**
 * Steps at which the test kills the agent where a simulated host would prove nothing. The agent is in the middle of work on the host, or
 * the next start adopts leftovers or reads them from disk. The kill matrix (tests/unit/kill-matrix) covers all calls of all actions.
 */
const STEPS: readonly (readonly [Action, FaultStep])[] = [
  ['create', at('runtime.start', 'during-10')],
  ['create', at(JOIN, 'after')],
  ['detach', at('runtime.detach', 'during-0')],
  ['create', at('runtime.start', 'during-3')],
  ['create', at('filesystem.snapshot', 'during-0')],
  ['create', at('store.boxes.insert', 'after')],
  ['stop', at('runtime.stop', 'during-3')],
  ['delete', at('runtime.stop', 'during-3')],
  ['resumeMounted', at('runtime.start', 'during-10')],
  ['attach', at('runtime.attach', 'during-0')],
  ['update', at('runtime.resize', 'after')],
]
type Action = 'create' | 'stop' | 'delete' | 'attach' | 'detach' | 'update' | 'resumeMounted'
// Each step takes about ten times as long when boxes are pods.
const CHOSEN = runtimeOfTests() === 'kubernetes' ? STEPS.slice(0, 3) : STEPS

let service: TestService
const client: Client = createClient(
  () => service.url,
  () => service.adminToken,
)
const boxes = '/v1/projects/faults/boxes'
const data = '/v1/projects/faults/data'
const SMALL = { ram_mb: 64, cpus: 0.5, storage_gb: 1 }
const LARGE = { ram_mb: 128, cpus: 1, storage_gb: 2 }

beforeAll(async () => {
  service = await startService({ agentScript: 'tests/fixtures/faulty-agent.ts' })
  await client.post(boxes, { name: 'witness' })
})

afterAll(async () => {
  await service.close()
})

describe('kill -9 of the agent', () => {
  test.each(CHOSEN)('%s, killed at %s: records and reality agree, and nothing leaks', async (action, step) => {
    const witness = (await client.get(`${boxes}/witness`)).body
    const witnessPids = pidsOf(service, witness.id)
    await prepare(action)
    await armStep(service, step)

    const answer = await act(action)
    // Only a kill some milliseconds into a step may come too late.
    if (!step.includes('during')) expect(await hasDied(service.agentPid)).toBe(true)
    await restartAgent(service, 'SIGKILL')

    await holdAnswer(action, answer, await settledBox('victim'))
    expect(pidsOf(service, witness.id)).toEqual(witnessPids)
    await expectAgreement()
    await client.delete(`${boxes}/victim`)
    await client.delete(`${data}/vol`)
    await expectAgreement()
  })

  test('an interrupted attach that has become impossible is undone', async () => {
    await client.post(data, { name: 'vol', size_gb: 1 })
    await client.shell('faults', 'witness', 'echo > /file')
    await armStep(service, at('store.boxes.replaceMounts', 'after'))
    await client.post(`${data}/vol/attach`, { box: 'witness', path: '/file' })
    await restartAgent(service, 'SIGKILL')
    await eventually(async () => (await client.get(`${data}/vol`)).body.attachments.length === 0)
    expect((await client.get(`${data}/vol`)).body.attachments).toEqual([])
    expect((await client.delete(`${data}/vol`)).status).toBe(204)
    await expectAgreement()
  })

  test('a reboot brings back the boxes that should run, and only those', async () => {
    await client.post(boxes, { name: 'off' })
    await client.post(`${boxes}/off/stop`)
    await client.post(data, { name: 'vol', size_gb: 1 })
    await client.post(`${data}/vol/attach`, { box: 'witness', path: '/mnt/deep/vol' })
    await client.shell('faults', 'witness', 'echo kept > /root/boot; echo data > /mnt/deep/vol/boot; sync')
    const { body: witness } = await client.get(`${boxes}/witness`)
    await reboot(witness.id, '')
    expect((await settledBox('witness'))?.status).toBe('running')
    expect((await settledBox('off'))?.status).toBe('stopped')
    const both = await client.shell('faults', 'witness', 'cat /root/boot /mnt/deep/vol/boot')
    expect(both.body.stdout).toBe('kept\ndata\n')
    await expectAgreement()
    await client.delete(`${boxes}/off`)
    await client.post(`${data}/vol/detach`, { box: 'witness' })
    expect((await client.delete(`${data}/vol`)).status).toBe(204)
  })

  test('after a reboot a start that fails is made again, and health names the box meanwhile', async () => {
    const { body: witness } = await client.get(`${boxes}/witness`)
    const startFaults = async (): Promise<string[]> => {
      const { body } = await client.get('/healthz')
      const found = body.problems.filter(({ code }: { code: string }) => code === 'box_start_failed')
      return found.map(({ evidence }: { evidence: string }) => evidence)
    }
    await reboot(witness.id, at('runtime.start', 'throw', '1+'))
    // Each retry sets the box to pending for a moment, and none of these report it then.
    await untilSucceeds(async () => {
      const { status, state } = (await client.get(`${boxes}/witness`)).body
      expect(status).toBe('unknown')
      expect(state.message).toMatch(/failed to restart\. The agent retries/)
      expect(await startFaults()).toEqual([
        expect.stringContaining('These boxes should run but failed to start: faults/witness ('),
      ])
      expect(await (await fetch(service.metricsUrl)).text()).toContain('boxyard_boxes_failed_to_start 1')
    })
    await reboot(witness.id, at('runtime.start', 'throw'))
    await eventually(async () => (await client.get(`${boxes}/witness`)).body.status === 'running')
    expect(await startFaults()).toEqual([])
    const { events } = (await client.get('/v1/projects/faults/events?type=box.unknown&max_results=1000')).body
    expect(events.at(-1).resource).toBe('/v1/projects/faults/boxes/witness')
    await service.killAgent('SIGTERM')
    await service.startAgent({ TEST_FAULT: '' })
    await expectAgreement()
  })

  test('down stops the boxes, and up brings back those that should run, and only those', async () => {
    await client.post(boxes, { name: 'asleep' })
    await client.post(`${boxes}/asleep/stop`)
    await client.shell('faults', 'witness', 'echo kept > /root/kept; sync')
    await service.killAgent('SIGTERM')
    expect(await service.runAgentMode('down')).toContain('Stopped 1 box.')
    await service.startAgent()
    expect((await settledBox('witness'))?.status).toBe('running')
    expect((await settledBox('asleep'))?.status).toBe('stopped')
    expect((await client.shell('faults', 'witness', 'cat /root/kept')).body.stdout).toBe('kept\n')
    await expectAgreement()
  })
})

/** Creates the state that the action needs. */
async function prepare(action: Action): Promise<void> {
  if (['attach', 'detach', 'resumeMounted'].includes(action)) await client.post(data, { name: 'vol', size_gb: 1 })
  if (action === 'create') return
  await client.post(boxes, { name: 'victim', config: SMALL })
  await client.shell('faults', 'victim', 'echo data > /root/data')
  if (action === 'detach' || action === 'resumeMounted') await act('attach')
  if (action === 'resumeMounted') await client.post(`${boxes}/victim/stop`)
}

async function act(action: Action): Promise<Answer> {
  const path = `${boxes}/victim`
  const attached = { box: 'victim', path: '/mnt/vol' }
  const call: Record<Action, () => Promise<Answer>> = {
    create: () => client.post(boxes, { name: 'victim', config: SMALL }),
    stop: () => client.post(`${path}/stop`),
    delete: () => client.delete(path),
    attach: () => client.post(`${data}/vol/attach`, attached),
    detach: () => client.post(`${data}/vol/detach`, { box: 'victim' }),
    update: () => client.put(path, { config: LARGE }),
    resumeMounted: () => client.post(`${path}/resume`),
  }
  const answer = await call[action]()
  // Lets the kill also hit work that continues after the response.
  await sleep(100)
  return answer
}

/** Checks that a 2xx response holds. A refused action may have happened or not, but not in part. */
async function holdAnswer(action: Action, answer: Answer, box: { status: string } | null): Promise<void> {
  if (answer.status >= 300) return
  const status = { create: 'running', stop: 'stopped', delete: null }[String(action)]
  expect(box?.status ?? null).toBe(status === undefined ? 'running' : status)
  const volume = (await client.get(`${data}/vol`)).body
  if (action === 'attach' || action === 'resumeMounted') expect(volume.attachments).toHaveLength(1)
  if (action === 'detach') expect(volume.attachments).toEqual([])
  if (action === 'update') expect((await client.get(`${boxes}/victim`)).body.config).toMatchObject(LARGE)
}

async function settledBox(name: string): Promise<{ id: string; status: string } | null> {
  return untilSucceeds(async () => {
    const { status, body } = await client.get(`${boxes}/${name}`)
    if (status === 404) return null
    expect(status).toBe(200)
    expect(body.status).not.toBe('pending')
    return body
  })
}

/** Checks that records, processes with their mounts and limits, runtime state and pool agree. */
async function expectAgreement(): Promise<void> {
  await untilSucceeds(async () => {
    const records: BoxView[] = (await client.get(boxes)).body.boxes
    const volumes: { id: string; name: string }[] = (await client.get(data)).body.volumes
    const running = records.filter(({ status }) => status === 'running')
    const ids = running.map(({ id }) => id).sort()
    const world = { ...readWorld(service), boxes: running.map(({ id }) => seenBox(id)) }
    const expected = {
      running: ids,
      states: ids,
      roots: records.map(({ id }) => id).sort(),
      volumes: volumes.map(({ id }) => id).sort(),
      boxes: running.map((record) => recordedBox(record, volumes)),
    }
    expect(world).toEqual(expected)
  })
}

interface BoxView {
  id: string
  status: string
  config: { cpus: number; ram_mb: number }
  data_mounts: { name: string; path: string; read_only: boolean }[]
}

function seenBox(id: string): unknown {
  return { ...limitsInForce(service, id), mounts: mountsOf(service, id) }
}

function recordedBox({ config, data_mounts: mounts }: BoxView, volumes: { id: string; name: string }[]): unknown {
  const idOf = (name: string): string | undefined => volumes.find((volume) => volume.name === name)?.id
  return {
    ramMb: config.ram_mb,
    cpus: config.cpus,
    mounts: mounts.map(({ name, path, read_only: readOnly }) => ({ volume: idOf(name), path, readOnly })),
  }
}

/** Kills the agent and a box, then starts an agent as after a reboot, with a fault armed from the start. */
async function reboot(boxId: string, step: FaultStep | ''): Promise<void> {
  await service.killAgent()
  for (const pid of pidsOf(service, boxId)) process.kill(pid, 'SIGKILL')
  ageByOneBoot(service)
  await service.startAgent({ TEST_FAULT: step })
}
