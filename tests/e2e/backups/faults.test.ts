import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { ageBackups, objectsIn } from '../../helpers/backups/lab.ts'
import { pidsOf } from '../../helpers/boxes/world.ts'
import { eventually } from '../../helpers/eventually.ts'
import {
  armStep,
  around,
  at,
  drawSteps,
  during,
  type FaultCall,
  restartAgent,
  untilDead,
} from '../../helpers/fault-steps.ts'
import { type Answer, type Client, createClient } from '../../helpers/front/client.ts'
import { draw } from '../../helpers/sample.ts'
import { startService, type TestService } from '../../helpers/service.ts'
import { pooledSubvolumes, recordedSubvolumes } from '../../helpers/volumes/world.ts'

const RECEIVING: FaultCall[] = [
  'store.operations.insert',
  'store.tombstones.insert',
  'backupStore.get',
  'filesystem.receive',
]
const RECEIVED: FaultCall[] = ['filesystem.destroy', 'store.tombstones.remove', 'store.operations.finish']
const WITHIN = during('filesystem.receive', [1, 10, 25])
/** Steps at which the agent is killed; each is a call from the core to a port. */
const STEPS = {
  create: [
    ...around(['store.tombstones.insert', 'filesystem.snapshot', 'store.backups.insert', 'store.operations.insert']),
    // In order: record made, part stored, part noted, manifest stored, record done.
    ...around(['store.backups.write', 'backupStore.put', 'store.operations.finish']),
    ...around(['store.backups.write', 'backupStore.put'], 2),
    ...around(['store.backups.write'], 3),
    ...during('filesystem.send', [3]),
    ...during('backupStore.put', [1]),
    at('backupStore.put', 'during-1', 2),
  ],
  remove: [
    ...around(['backupStore.put', 'store.backups.write', 'filesystem.destroy', 'store.tombstones.remove']),
    ...around(['backupStore.delete', 'store.backups.remove']),
    at('backupStore.delete', 'after', 2),
    at('backupStore.delete', 'after', 3),
  ],
  // After the backup itself, expired ones are marked one by one, then deleted from the store.
  retain: [
    ...[...around(['backupStore.put'], 3), ...around(['store.backups.write'], 4), ...around(['backupStore.put'], 4)],
    ...[...around(['store.backups.write'], 5), ...around(['backupStore.delete']), ...around(['backupStore.delete'], 4)],
    ...[...around(['store.backups.remove']), ...around(['store.backups.remove'], 2)],
  ],
  restoreNew: [...around([...RECEIVING, 'store.volumes.insert', ...RECEIVED]), ...WITHIN],
  restoreOver: [
    ...around([...RECEIVING, 'runtime.detach', 'store.boxes.swap', 'runtime.attach', 'filesystem.setReadOnly']),
    ...[...around(['store.snapshots.remove', ...RECEIVED]), ...around(['store.tombstones.insert'], 2), ...WITHIN],
    ...around(['filesystem.destroy'], 2),
  ],
}
type Action = keyof typeof STEPS
const CHOSEN = drawSteps(STEPS, 3)
/** Calls whose failure makes a restore over the volume leave it unchanged. */
const FAILING = [
  // All from the first on: a start reads the store as well.
  at('backupStore.get', 'throw', '1+'),
  at('filesystem.receive', 'throw'),
  at('filesystem.receive', 'reject'),
  at('runtime.detach', 'throw'),
  at('store.boxes.swap', 'throw'),
]

let service: TestService
const client: Client = createClient(
  () => service.url,
  () => service.adminToken,
)
const boxes = '/v1/projects/faults/boxes'
const data = '/v1/projects/faults/data'
/** Ids of the two backups made beforehand; the second builds on the first. */
let made: [string, string]
/** Content of the volume in each backup, by id, and its content now. */
let held: Map<string, string>
let now: string
const act: Record<Action, () => Promise<Answer>> = {
  create: () => client.post(`${data}/vol/backups`),
  remove: () => client.delete(`${data}/vol/backups/${made[1]}`),
  retain: () => client.put(`${data}/vol/backup-schedule`, { interval_seconds: 3600, keep_seconds: 60 }),
  restoreNew: () => client.post(data, { name: 'copy', from_backup: made[1] }),
  restoreOver: () => restoreOver(made[1]),
}

beforeAll(async () => {
  service = await startService({ agentScript: 'tests/fixtures/faulty-agent.ts' })
  await client.post(boxes, { name: 'writer', config: { ram_mb: 64 } })
})

afterAll(async () => {
  await service.close()
})

beforeEach(async () => {
  await armStep(service, '')
  await client.post(data, { name: 'vol', size_gb: 0.5 })
  await client.post(`${data}/vol/attach`, { box: 'writer', path: '/vol' })
  await shell('head -c 300000 /dev/urandom > /vol/noise')
  held = new Map()
  made = [await backUp('first\n'), await backUp('second\n')]
  await write('later\n')
})

afterEach(async () => {
  await client.post(`${data}/vol/detach`, { box: 'writer' })
  for (const name of ['vol', 'copy']) await client.delete(`${data}/${name}`)
  for (const { id } of await stored()) expect((await client.delete(`${data}/vol/backups/${id}`)).status).toBe(204)
  await eventually(() => objectsIn(folder()).length === 0)
  await expectAgreement()
  expect(pooledSubvolumes(service)).toEqual([])
})

describe('kill -9 of the agent', () => {
  test.each(CHOSEN)(
    '%s of a backup, killed at %s: the answer holds, every listed backup is whole, and nothing is left over',
    async (action, step) => {
      await prepare(action)
      const pids = await boxPids()
      await armStep(service, step)
      const { status, body } = await act[action]()
      await untilDead(service.agentPid)
      await restartAgent(service, 'SIGKILL')
      await eventually(async () => (await listed()).every((each) => each.status !== 'running'))

      const content = await shell('cat /vol/file')
      if (action === 'restoreOver' && (status === 200 || content !== now)) expect(content).toBe('second\n')
      else expect(content).toBe(now)
      if (action === 'create' && status === 201) expect((await listed()).map(({ id }) => id)).toContain(body.id)
      if (action === 'remove' && status === 204) expect((await stored()).map(({ id }) => id)).not.toContain(made[1])
      const { status: copied } = await client.get(`${data}/copy`)
      if (action === 'restoreNew' && status < 300) expect(copied).toBe(200)
      if (copied === 200) expect(await contentOf('copy')).toBe('second\n')
      await expectWhole()
      await expectAgreement()
      await shell('echo more >> /vol/file')
      expect(await shell('cat /vol/file')).toBe(`${content}more\n`)
      expect(await boxPids()).toEqual(pids)
    },
  )
})

describe('a step that fails', () => {
  test.each(draw(FAILING, 2))('a restore over the volume that fails at %s leaves it as it was', async (fault) => {
    await armStep(service, fault)
    const refused = await act.restoreOver()
    expect([refused.status, refused.body.code]).toEqual([500, 'internal'])
    expect(refused.body.detail).not.toContain('made to fail')
    expect(await shell('cat /vol/file')).toBe('later\n')
    await expectAgreement()
    expect((await client.get(`${data}/vol/snapshots`)).body.snapshots).toEqual([])
    await armStep(service, '')
    expect((await act.restoreOver()).status).toBe(200)
    expect(await shell('cat /vol/file')).toBe('second\n')
  })
})

/** Makes the snapshots and backups without which the action would skip the step. */
async function prepare(action: Action): Promise<void> {
  // Then the next restore makes one automatic snapshot too many.
  if (action === 'restoreOver') for (let round = 0; round < 3; round++) await restoreOver(made[0])
  if (action === 'restoreOver') await write('later\n')
  if (action !== 'retain') return
  // Then the next backup builds on none of them.
  expect((await restoreOver(made[0])).status).toBe(200)
  now = 'first\n'
  await service.killAgent('SIGTERM')
  ageBackups(service)
  await service.startAgent()
}

function restoreOver(id: string): Promise<Answer> {
  return client.post(`${data}/vol/backups/${id}/restore`, {})
}

async function shell(line: string): Promise<string> {
  const { stdout, stderr } = (await client.shell('faults', 'writer', line)).body
  return stdout + stderr
}

async function write(content: string): Promise<void> {
  await shell(`printf '${content.replace('\n', '\\n')}' > /vol/file`)
  now = content
}

async function backUp(content: string): Promise<string> {
  await write(content)
  const { status, body } = await client.post(`${data}/vol/backups`)
  expect([status, body.status]).toEqual([201, 'done'])
  held.set(body.id, content)
  return body.id
}

async function contentOf(volume: string): Promise<string> {
  await client.post(`${data}/${volume}/attach`, { box: 'writer', path: '/other' })
  const content = await shell('cat /other/file')
  expect((await client.post(`${data}/${volume}/detach`, { box: 'writer' })).status).toBe(200)
  return content
}

interface Listed {
  id: string
  status: string
}

async function listed(): Promise<Listed[]> {
  return (await client.get(`${data}/vol/backups`)).body.backups
}

async function stored(): Promise<Listed[]> {
  return (await client.get('/v1/projects/faults/backups')).body.backups
}

async function boxPids(): Promise<number[]> {
  return pidsOf(service, (await client.get(`${boxes}/writer`)).body.id)
}

function folder(): string {
  return join(service.dataDir, 'backups')
}

/** Checks that every listed backup restores to its content, and that the store holds no other backup. */
async function expectWhole(): Promise<void> {
  let done: string[] = []
  // A start resumes an unfinished deletion while it already serves.
  await eventually(async () => {
    done = (await listed()).filter(({ status }) => status === 'done').map(({ id }) => id)
    return isDeepStrictEqual(
      (await stored()).map(({ id }) => id),
      done,
    )
  })
  for (const id of done) {
    expect((await client.post(data, { name: 'check', from_backup: id })).status).toBe(201)
    expect(await contentOf('check')).toBe(held.get(id) ?? now)
    expect((await client.delete(`${data}/check`)).status).toBe(204)
  }
  const needed = new Set<string>()
  for (const id of done) for (let next: string | null = id; next !== null; next = parentOf(next)) needed.add(next)
  await eventually(() => objectsIn(folder()).every((name) => needed.has(name.split('/').at(-2) ?? '')))
}

function parentOf(id: string): string | null {
  const manifest = objectsIn(folder()).find((name) => name.endsWith(`${id}/manifest.json`)) ?? `of ${id}`
  return JSON.parse(readFileSync(join(folder(), manifest), 'utf8')).incremental_of
}

/** Checks that the pool has exactly the subvolumes of the records. */
async function expectAgreement(): Promise<void> {
  await eventually(() => {
    const wanted = recordedSubvolumes(service)
    return JSON.stringify(wanted.all) === JSON.stringify(pooledSubvolumes(service))
  })
}
