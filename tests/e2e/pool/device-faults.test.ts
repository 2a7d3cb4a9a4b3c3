import { execFileSync } from 'node:child_process'
import { readFileSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { instanceOf } from '../../helpers/boxes/world.ts'
import { eventually } from '../../helpers/eventually.ts'
import { armStep, at, drawSteps, type FaultStep } from '../../helpers/fault-steps.ts'
import { type Answer, type Client, createClient } from '../../helpers/front/client.ts'
import { cutDevice, isCut, mendDevice } from '../../helpers/pool/failing-device.ts'
import { startService, type TestService } from '../../helpers/service.ts'
import type { PortCall } from '../../helpers/tapped-calls.ts'

/** Steps before which the pool's disk fails permanently. Each is a call from the core to a port. */
const STEPS = {
  create: cuts('store.tombstones.insert', 'filesystem.snapshot', 'store.boxes.insert', 'runtime.start'),
  fork: cuts('filesystem.snapshot', 'store.boxes.insert'),
  snapshot: [...cuts('filesystem.snapshot', 'store.snapshots.insert'), at('filesystem.snapshot', 'cut', 2)],
  restore: cuts('filesystem.snapshot', 'runtime.stop', 'runtime.start', 'store.boxes.swap', 'filesystem.setReadOnly'),
  snapshotVolume: cuts('filesystem.snapshot', 'store.snapshots.insert'),
  copyVolume: cuts('filesystem.snapshot', 'store.volumes.insert'),
  restoreVolume: cuts('filesystem.snapshot', 'runtime.detach', 'store.boxes.swap', 'runtime.attach'),
  base: cuts('filesystem.snapshot', 'store.bases.insert'),
  backup: cuts('filesystem.snapshot', 'filesystem.send', 'backupStore.put'),
  restoreBackup: cuts('filesystem.receive', 'store.volumes.insert'),
  write: cuts('files.write'),
  attach: cuts('store.boxes.replaceMounts', 'runtime.attach'),
}
type Action = keyof typeof STEPS
const CHOSEN = drawSteps(STEPS, 1)

let service: TestService
let backup: string
const client: Client = createClient(
  () => service.url,
  () => service.adminToken,
)
const project = '/v1/projects/disk'
const [boxes, data] = [`${project}/boxes`, `${project}/data`]
const write = { raw: 'w'.repeat(100_000), headers: { 'content-type': 'application/octet-stream' } }
const act: Record<Action, () => Promise<Answer>> = {
  create: () => client.post(boxes, { name: 'made', config: { ram_mb: 64 } }),
  fork: () => client.post(boxes, { name: 'made', fork: 'box' }),
  snapshot: () => client.post(`${boxes}/box/snapshots`, { name: 'made', include_data: true }),
  restore: () => client.post(`${boxes}/box/restore`, { snapshot: 'good' }),
  snapshotVolume: () => client.post(`${data}/vol/snapshots`, { name: 'made' }),
  copyVolume: () => client.post(data, { name: 'made', from: 'vol', from_snapshot: 'good' }),
  restoreVolume: () => client.post(`${data}/vol/restore`, { snapshot: 'good' }),
  base: () => client.post(`${project}/bases`, { name: 'made', box: 'box' }),
  backup: () => client.post(`${data}/vol/backups`),
  restoreBackup: () => client.post(`${data}/vol/backups/${backup}/restore`, { as: 'made' }),
  write: () => client.call('PUT', `${boxes}/box/files/write?path=/root/made`, write),
  attach: () => client.post(`${data}/spare/attach`, { box: 'box', path: '/spare' }),
}

beforeAll(async () => {
  const settings = { BOXYARD_POOL_GB: '0.5', BOXYARD_POOL_STEP_GB: '0' }
  service = await startService({ settings, agentScript: 'tests/fixtures/faulty-agent.ts' })
  await client.post(boxes, { name: 'box', config: { ram_mb: 64 } })
  for (const name of ['vol', 'spare']) await client.post(data, { name, size_gb: 1 })
  await client.post(`${data}/vol/attach`, { box: 'box', path: '/vol' })
  await shell('head -c 2000000 /dev/urandom | tee /vol/noise > /root/noise; echo good | tee /vol/file > /root/file')
  await client.post(`${boxes}/box/snapshots`, { name: 'good', include_data: true })
  await client.post(`${data}/vol/snapshots`, { name: 'good' })
  backup = (await act.backup()).body.id
})

afterAll(async () => {
  if (isCut(image())) mendDevice(image())
  await service.close()
})

describe('a disk that fails', () => {
  test.each(CHOSEN)(
    'in %s, at %s: no answer is false, and all acknowledged data comes back with the disk',
    async (action, step) => {
      await shell('echo later | tee /vol/file > /root/file; sync')
      await armStep(service, step)
      const answer = await act[action]()
      await eventually(() => isCut(image()))
      if (answer.status >= 300) expectProblem(answer)
      mendDevice(image())
      await openAnew('SIGKILL')

      expect((await faults()).filter(({ code }) => code !== 'storage_errors')).toEqual([])
      await expectWhole()
      const isMade = answer.status === 201 || (answer.status === 200 && action === 'restoreBackup')
      if (isMade) expect(await madeBy(action)).toBe(true)
      const content = await shell('cat /root/file /vol/file')
      const restored = { restore: 'good\ngood\n', restoreVolume: 'later\ngood\n' }[String(action)]
      const isRestored = restored !== undefined && answer.status === 200
      expect(isRestored ? [restored] : ['later\nlater\n', restored]).toContain(content)
      await removeMade()
    },
  )

  test('is reported by every request that needs it and by health, and readable data is served', async () => {
    await armStep(service, '')
    await shell('echo later > /vol/file; sync')
    cutDevice(image())
    expectProblem(await act.snapshot())
    const lines = service.logs.length
    for (const action of Object.keys(act) as Action[]) {
      const refused = await act[action]()
      expectProblem(refused)
      expect(refused.body.detail).toMatch(/disk failed/)
    }
    expect(service.logs.length - lines).toBeLessThan(100)
    const health = (await client.get('/healthz')).body
    expect(health.status).toBe('degraded')
    const readOnly = health.problems.find(({ code }: { code: string }) => code === 'pool_read_only')
    expect(readOnly.remedy).toMatch(/npm run down/)
    expect(health.problems).toContainEqual(expect.objectContaining({ code: 'storage_errors' }))
    // Processes can still read the page cache.
    expect(await shell('cat /vol/file')).toBe('later\n')
    expect((await client.get(boxes)).body.boxes.map(({ status }: { status: string }) => status)).toEqual(['running'])
    expect((await client.delete(`${data}/spare`)).status).toBe(204)

    const ticks = cpuTicks()
    await sleep(1_000)
    expect(cpuTicks() - ticks).toBeLessThan(50)
    mendDevice(image())
    await openAnew('SIGTERM')
    expect((await client.get(data)).body.volumes.map(({ name }: { name: string }) => name)).toEqual(['vol'])
    await client.post(data, { name: 'spare', size_gb: 1 })
    await expectWhole()
    await client.post('/v1/storage/scrub')
    await eventually(async () => (await faults()).length === 0)
  })

  test('and has lost the end of the pool makes the start fail without a change', async () => {
    await service.killAgent('SIGTERM')
    await service.runAgentMode('down')
    const { size } = statSync(image())
    truncateSync(image(), size / 2)
    const left = readFileSync(image())
    await expect(service.startAgent()).rejects.toThrow(
      /pool\.img.*was truncated: it has \d+ bytes.*Nothing was changed/,
    )
    expect(readFileSync(image()).equals(left)).toBe(true)
    truncateSync(image(), size)
    await service.startAgent()
    await expectWhole()
  })
})

/** Stops all boxes and restarts the agent, as the remedy says. */
async function openAnew(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  await service.killAgent(signal)
  await service.runAgentMode('down')
  await service.startAgent()
}

/** Checks that every byte of every subvolume is readable, snapshots hold their content, and nothing leaked. */
async function expectWhole(): Promise<void> {
  await eventually(async () => (await client.get('/v1/storage')).body.deleting === 0)
  expect((await client.get('/v1/storage')).body.orphans).toEqual([])
  const pool = `/proc/${service.agentPid}/root/run/boxyard/${instanceOf(service)}/pool`
  execFileSync('find', ['.', '-type', 'f', '-exec', 'cksum', '{}', '+'], {
    cwd: pool,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  await eventually(async () => (await client.get(`${boxes}/box`)).body.status === 'running')
  for (const path of ['/root', '/vol']) {
    const { text } = await client.get(`${boxes}/box/files/read?path=${path}/file&snapshot=good`)
    expect(text).toBe('good\n')
  }
  expect(await shell('cmp /root/noise /vol/noise && echo same')).toBe('same\n')
}

async function madeBy(action: Action): Promise<boolean> {
  const places: Partial<Record<Action, string>> = {
    snapshot: `${boxes}/box/snapshots/made`,
    snapshotVolume: `${data}/vol/snapshots/made`,
    base: `${project}/bases/made`,
    copyVolume: `${data}/made`,
    restoreBackup: `${data}/made`,
    backup: `${data}/vol/backups`,
  }
  return (await client.get(places[action] ?? `${boxes}/made`)).status === 200
}

async function removeMade(): Promise<void> {
  await client.post(`${data}/spare/detach`, { box: 'box' })
  await client.delete(`${boxes}/box/files?path=/root/made`)
  for (const path of [`${boxes}/made`, `${boxes}/box/snapshots/made`, `${data}/vol/snapshots/made`, `${data}/made`])
    await client.delete(path)
  await client.delete(`${project}/bases/made`)
}

function expectProblem({ status, body }: Answer): void {
  expect([status, body.code, typeof body.detail]).toEqual([500, 'internal', 'string'])
}

async function faults(): Promise<{ code: string }[]> {
  return (await client.get('/healthz')).body.problems
}

async function shell(line: string): Promise<string> {
  const { stdout, stderr } = (await client.shell('disk', 'box', line)).body
  return stdout + stderr
}

function image(): string {
  return join(service.dataDir, 'pool.img')
}

function cpuTicks(): number {
  const [user = 0, system = 0] = readFileSync(`/proc/${service.agentPid}/stat`, 'utf8')
    .split(' ')
    .slice(13, 15)
    .map(Number)
  return user + system
}

function cuts(...calls: PortCall[]): FaultStep[] {
  return calls.map((call) => at(call, 'cut'))
}
