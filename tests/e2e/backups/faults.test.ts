import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { ageBackups, objectsIn } from '../../helpers/backups/lab.ts'
import { pidsOf } from '../../helpers/boxes/world.ts'
import { eventually } from '../../helpers/eventually.ts'
import { armStep, at, type FaultStep, hasDied, restartAgent } from '../../helpers/fault-steps.ts'
import { type Answer, type Client, createClient } from '../../helpers/front/client.ts'
import { startService, type TestService } from '../../helpers/service.ts'
import { pooledSubvolumes, recordedSubvolumes } from '../../helpers/volumes/world.ts'

/**
 * Steps at which the test kills the agent, all in the middle of work on the host. The kill matrix (tests/unit/kill-matrix) covers the
 * others.
 */
const STEPS: readonly (readonly [Action, FaultStep])[] = [
  ['create', at('filesystem.send', 'during-3')],
  ['create', at('backupStore.put', 'during-1')],
  ['retain', at('backupStore.delete', 'after')],
  ['restoreOver', at('filesystem.receive', 'during-10')],
]
type Action = 'create' | 'retain' | 'restoreOver'
/** Calls whose failure makes a restore leave the volume unchanged. */
const FAILING = [at('filesystem.receive', 'reject'), at('store.boxes.swap', 'throw')]

let service: TestService
const client: Client = createClient(
  () => service.url,
  () => service.adminToken,
)
const boxes = '/v1/projects/faults/boxes'
const data = '/v1/projects/faults/data'
/** Ids of the two backups made beforehand. The second builds on the first. */
let made: [string, string]
/** Content of the volume in each backup, by id, and its current content. */
let held: Map<string, string>
let now: string
const act: Record<Action, () => Promise<Answer>> = {
  create: () => client.post(`${data}/vol/backups`),
  retain: () => client.put(`${data}/vol/backup-schedule`, { interval_seconds: 3600, keep_seconds: 60 }),
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
  await client.delete(`${data}/vol`)
  for (const { id } of await stored()) expect((await client.delete(`${data}/vol/backups/${id}`)).status).toBe(204)
  await eventually(() => objectsIn(folder()).length === 0)
  await expectAgreement()
  expect(pooledSubvolumes(service)).toEqual([])
})

describe('kill -9 of the agent', () => {
  test.each(STEPS)(
    '%s of a backup, killed at %s: the answer holds, every listed backup is whole, and nothing is left over',
    async (action, step) => {
      await prepare(action)
      const pids = await boxPids()
      await armStep(service, step)
      const { status, body } = await act[action]()
      // Only a kill some milliseconds into a step may come too late.
      if (!step.includes('during')) expect(await hasDied(service.agentPid)).toBe(true)
      await restartAgent(service, 'SIGKILL')
      await eventually(async () => (await listed()).every((each) => each.status !== 'running'))

      const content = await shell('cat /vol/file')
      if (action === 'restoreOver' && (status === 200 || content !== now)) expect(content).toBe('second\n')
      else expect(content).toBe(now)
      if (action === 'create' && status === 201) expect((await listed()).map(({ id }) => id)).toContain(body.id)
      await expectWhole()
      await expectAgreement()
      await shell('echo more >> /vol/file')
      expect(await shell('cat /vol/file')).toBe(`${content}more\n`)
      expect(await boxPids()).toEqual(pids)
    },
  )
})

describe('a step that fails', () => {
  test.each(FAILING)('a restore over the volume that fails at %s leaves it as it was', async (fault) => {
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
  // The next restore then makes one automatic snapshot too many.
  if (action === 'restoreOver') for (let round = 0; round < 3; round++) await restoreOver(made[0])
  if (action === 'restoreOver') await write('later\n')
  if (action !== 'retain') return
  // The next backup then builds on none of them.
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
  // After a start, the agent serves requests while it resumes an unfinished deletion.
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
