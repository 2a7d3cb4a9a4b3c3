import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { untilTrue } from '../../helpers/boxes/oci-lab.ts'
import { mountsOf, pidsOf } from '../../helpers/boxes/world.ts'
import { untilSucceeds } from '../../helpers/eventually.ts'
import { armStep, at, type FaultStep, restartAgent, untilDead } from '../../helpers/fault-steps.ts'
import { type Client, createClient } from '../../helpers/front/client.ts'
import { startService, type TestService } from '../../helpers/service.ts'
import { isWritable, pooledSubvolumes, recordedSubvolumes } from '../../helpers/volumes/world.ts'

/** Steps of a restore at which the test kills the agent, all in the middle of work on the host. The kill matrix covers the others. */
const STEPS = [at('runtime.detach', 'during-0'), at('runtime.attach', 'during-0', 2)]

let service: TestService
const client: Client = createClient(
  () => service.url,
  () => service.adminToken,
)
const boxes = '/v1/projects/faults/boxes'
const data = '/v1/projects/faults/data'
const act = {
  snapshot: () => client.post(`${data}/vol/snapshots`, { name: 'made' }),
  copy: () => client.post(data, { name: 'copy', from: 'vol', from_snapshot: 'good' }),
  restore: () => client.post(`${data}/vol/restore`, { snapshot: 'good' }),
}
let pids: number[][]

beforeAll(async () => {
  service = await startService({ agentScript: 'tests/fixtures/faulty-agent.ts' })
  for (const name of ['writer', 'reader']) await client.post(boxes, { name, config: { ram_mb: 64 } })
})

afterAll(async () => {
  await service.close()
})

beforeEach(async () => {
  await armStep(service, '')
  await client.post(data, { name: 'vol', size_gb: 0.5 })
  await client.post(`${data}/vol/attach`, { box: 'writer', path: '/vol' })
  await client.post(`${data}/vol/attach`, { box: 'reader', path: '/vol', read_only: true })
  await shell('writer', 'echo good > /vol/file')
  await client.post(`${data}/vol/snapshots`, { name: 'good' })
  // The next restore then makes one automatic snapshot too many.
  for (let round = 0; round < 3; round++) expect((await act.restore()).status).toBe(200)
  await shell('writer', 'echo later > /vol/file; sync')
  pids = await boxPids()
  await expectAgreement()
})

afterEach(async () => {
  for (const box of ['writer', 'reader']) await client.post(`${data}/vol/detach`, { box })
  for (const name of ['vol', 'copy']) await client.delete(`${data}/${name}`)
  await expectAgreement()
  expect(pooledSubvolumes(service)).toEqual([])
})

describe('kill -9 of the agent', () => {
  test.each(STEPS)(
    'in a restore of a data volume, at %s: the answer holds, records and reality agree, and nothing is left over',
    async (step) => {
      await armStep(service, step)
      const { status } = await act.restore()
      await restartAgent(service, 'SIGKILL')

      const contents = [await shell('writer', 'cat /vol/file'), await shell('reader', 'cat /vol/file')]
      const isRestored = contents[0] === 'good\n'
      expect(contents).toEqual(isRestored ? ['good\n', 'good\n'] : ['later\n', 'later\n'])
      if (status < 300) expect(isRestored).toBe(true)
      expect(await boxPids()).toEqual(pids)
      await expectAgreement()
      await expectWhole(isRestored)
    },
  )
})

const BODIES: { name?: string }[] = [{ name: 'made' }, {}]
test.each(BODIES)(
  'a snapshot of %j whose answer was lost in a crash is returned for its key, not made again',
  async (body) => {
    const make = () =>
      client.post(`${data}/vol/snapshots`, body, { headers: { 'idempotency-key': `key-${body.name}` } })
    await armStep(service, at('store.snapshots.insert', 'after'))
    expect((await make()).status).toBeGreaterThanOrEqual(500)
    await restartAgent(service, 'SIGKILL')
    const made = await make()
    expect(made.status).toBe(201)
    const names = (await client.get(`${data}/vol/snapshots`)).body.snapshots.map(({ name }: { name: string }) => name)
    expect(names.filter((name: string) => name === made.body.name)).toHaveLength(1)
    expect(names).toHaveLength(5)
  },
)

describe('a detach that a crash cut off, repeated with its key,', () => {
  const detach = (key: string) =>
    client.post(`${data}/vol/detach`, { box: 'reader' }, { headers: { 'idempotency-key': key } })
  const dieAt = async (step: FaultStep): Promise<void> => {
    await armStep(service, step)
    expect((await detach(step)).status).toBeGreaterThanOrEqual(500)
    await untilDead(service.agentPid)
    await restartAgent(service, 'SIGKILL')
  }

  test('returns the first outcome, though the volume has changed since', async () => {
    const step = at('store.boxes.replaceMounts', 'after')
    await client.put(`${boxes}/reader`, { environment: { GREETING: 'hello' } })
    await dieAt(step)
    await client.post(`${data}/vol/attach`, { box: 'reader', path: '/again', read_only: true })
    const repeated = await detach(step)
    expect([repeated.status, repeated.headers['idempotent-replayed']]).toEqual([200, 'true'])
    expect(repeated.body).toMatchObject({ name: 'reader', data_mounts: [], environment: { GREETING: 'hello' } })
    expect((await client.get(`${boxes}/reader`)).body.data_mounts).toMatchObject([{ path: '/again' }])
    expect((await detach('another')).body.data_mounts).toEqual([])
    const late = await detach('third')
    expect([late.status, late.body.code]).toEqual([409, 'not_attached'])
    await client.put(`${boxes}/reader`, { environment: null })
  })

  test('completes it if it was not done yet', async () => {
    const step = at('store.boxes.replaceMounts', 'before')
    await dieAt(step)
    const repeated = await detach(step)
    expect([repeated.status, repeated.headers['idempotent-replayed']]).toEqual([200, undefined])
    expect(repeated.body.data_mounts).toEqual([])
  })
})

describe('a step that fails', () => {
  test.each([
    at('filesystem.snapshot', 'throw'),
    at('filesystem.snapshot', 'reject'),
    at('runtime.detach', 'throw', 2),
    at('store.boxes.swap', 'throw'),
  ])('a restore that fails at %s leaves the volume as it was, in all its boxes', async (fault) => {
    await armStep(service, fault)
    expect((await act.restore()).body.code).toBe('internal')
    for (const box of ['writer', 'reader']) expect(await shell(box, 'cat /vol/file')).toBe('later\n')
    await expectAgreement()
    expect(await boxPids()).toEqual(pids)
    await expectWhole(false)
  })

  test('a restore that was committed although the call failed counts, and its data stays', async () => {
    await armStep(service, at('store.boxes.swap', 'reject'))
    expect((await act.restore()).status).toBe(500)
    for (const box of ['writer', 'reader']) expect(await shell(box, 'cat /vol/file')).toBe('good\n')
    await restartAgent(service, 'SIGTERM')
    await expectAgreement()
    await expectWhole(true)
  })

  test('a box to which the restored data cannot be mounted gets it later', async () => {
    await armStep(service, at('runtime.attach', 'throw'))
    const answer = await act.restore()
    expect([answer.status, answer.body.code]).toEqual([500, 'internal'])
    expect(answer.body.detail).toContain('"reader"')
    await untilTrue(() => worldMounts().then((mounts) => mounts.every((each) => each.length === 1)))
    for (const box of ['writer', 'reader']) expect(await shell(box, 'cat /vol/file')).toBe('good\n')
    await expectAgreement()
    await expectWhole(true)
  })

  test('a restore that cannot clean up succeeds, and the next start of the agent does the rest', async () => {
    await armStep(service, at('filesystem.setReadOnly', 'throw'))
    expect((await act.restore()).status).toBe(200)
    expect(recordedSubvolumes(service).sealed).toHaveLength(4)
    await restartAgent(service, 'SIGKILL')
    await expectAgreement()
    await expectWhole(true)
  })

  test.each([
    ['snapshot', 'store.snapshots.insert'],
    ['copy', 'store.volumes.insert'],
  ] as const)(
    'a %s whose commit is there though %s failed is whole, and one that is not leaves nothing',
    async (action, call) => {
      await armStep(service, at(call, 'throw'))
      expect((await act[action]()).status).toBe(500)
      await expectAgreement()
      await armStep(service, at(call, 'reject'))
      expect((await act[action]()).status).toBe(500)
      await expectAgreement()
      if (action === 'snapshot') expect((await client.get(`${data}/vol/snapshots/made`)).status).toBe(200)
      else expect((await client.get(`${data}/copy`)).body.from).toBe('vol@good')
      await expectWhole(false)
    },
  )
})

async function shell(box: string, line: string): Promise<string> {
  const { stdout, stderr } = (await client.shell('faults', box, line)).body
  return stdout + stderr
}

async function boxIds(): Promise<string[]> {
  const answers = [await client.get(`${boxes}/writer`), await client.get(`${boxes}/reader`)]
  return answers.map(({ body }) => body.id)
}

async function boxPids(): Promise<number[][]> {
  return (await boxIds()).map((id) => pidsOf(service, id))
}

async function worldMounts(): Promise<unknown[][]> {
  return (await boxIds()).map((id) => mountsOf(service, id))
}

/** Checks that every listed snapshot and volume is readable and has its content. */
async function expectWhole(isRestored: boolean): Promise<void> {
  const snapshots: { name: string; automatic: boolean }[] = (await client.get(`${data}/vol/snapshots`)).body.snapshots
  expect(snapshots.filter(({ automatic }) => automatic)).toHaveLength(3)
  for (const { name } of snapshots.filter((each) => ['good', 'made'].includes(each.name))) {
    await client.post(data, { name: 'check', from: 'vol', from_snapshot: name })
    await client.post(`${data}/check/attach`, { box: 'writer', path: '/check' })
    expect(await shell('writer', 'cat /check/file')).toBe(name === 'good' ? 'good\n' : 'later\n')
    await client.post(`${data}/check/detach`, { box: 'writer' })
    expect((await client.delete(`${data}/check`)).status).toBe(204)
  }
  // Restores the data that the last restore replaced.
  const last = snapshots.findLast(({ automatic }) => automatic)
  if (isRestored) {
    expect((await client.post(`${data}/vol/restore`, { snapshot: last?.name })).status).toBe(200)
    for (const box of ['writer', 'reader']) expect(await shell(box, 'cat /vol/file')).toBe('later\n')
  }
  await shell('writer', 'echo on >> /vol/file')
  expect(await shell('reader', 'cat /vol/file')).toBe('later\non\n')
}

/** Checks that the pool has exactly the subvolumes of the records, that replaced data is read-only, and that boxes have the rest. */
async function expectAgreement(): Promise<void> {
  await untilSucceeds(async () => {
    const { all, sealed } = recordedSubvolumes(service)
    expect(pooledSubvolumes(service)).toEqual(all)
    expect(sealed.filter((name) => isWritable(service, name))).toEqual([])
  })
}
