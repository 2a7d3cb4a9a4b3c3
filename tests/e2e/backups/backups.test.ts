import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { runOk } from '../../../agent/lib/run.ts'
import { ageBackups, type BackupLab, endOf, objectsIn, openBackupLab } from '../../helpers/backups/lab.ts'
import { trustBackupsOf } from '../../helpers/backups/trust.ts'
import { eventually } from '../../helpers/eventually.ts'
import { armStep, at, untilDead } from '../../helpers/fault-steps.ts'
import { createClient } from '../../helpers/front/client.ts'
import { startService, type TestService } from '../../helpers/service.ts'

let service: TestService
const client = createClient(
  () => service.url,
  () => service.adminToken,
)
let folder: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'boxyard-backups-'))
  const settings = { BOXYARD_BACKUP_DIR: folder, BOXYARD_POOL_GB: '2' }
  service = await startService({ settings, agentScript: 'tests/fixtures/faulty-agent.ts' })
})

afterAll(async () => {
  await service.close()
  rmSync(folder, { recursive: true })
})

describe('a backup during which the agent was killed', () => {
  test('goes on where it was, and stores nothing a second time', async () => {
    const lab = await openBackupLab(client)
    await lab.fill('large', 280)
    const before = await lab.digest('large')
    await armStep(service, at('backupStore.put', 'after', 2))
    const begun = await client.post(`${lab.data}/large/backups?wait_seconds=0`)
    expect(begun.status).toBe(202)
    const parts = (): string[] => objectsIn(folder).filter((name) => /\/part-\d+\.zst$/.test(name))
    await untilDead(service.agentPid)
    await service.killAgent()
    const stored = parts()
    expect(stored.length).toBeGreaterThanOrEqual(2)
    const isWhole = objectsIn(folder).some((name) => name.endsWith('manifest.json'))
    expect([isWhole, stored.length < 5]).toEqual([false, true])
    // The last part may be stored but not yet recorded.
    const marks = stored.slice(0, -1).map((name) => statSync(join(folder, name)).ino)
    await service.startAgent()
    const ended = await endOf(client, begun.body.id)
    expect(ended.body).toMatchObject({ status: 'done', kind: 'backup.create', error: null })
    expect(stored.slice(0, -1).map((name) => statSync(join(folder, name)).ino)).toEqual(marks)
    const { body } = await client.get(ended.body.resource)
    expect([body.status, parts().length]).toEqual(['done', 5])
    expect(await lab.restore(body.id, 'large-back')).toEqual({ digest: before })
    await lab.shell('echo second > /large/line')
    const next = await lab.back('large')
    expect((await client.get(`${lab.data}/large/backups/${next}`)).body.incremental_of).toBe(body.id)
  })

  test('leaves nothing of a restore and reports it as failed', async () => {
    const { body } = await client.get('/v1/projects/lab/backups')
    const id = body.backups.at(-1).id
    const begun = await client.post('/v1/projects/lab/data?wait_seconds=0', { name: 'cut', from_backup: id })
    expect(begun.status).toBe(202)
    await service.killAgent()
    await service.startAgent()
    const ended = await endOf(client, begun.body.id)
    expect(ended.body).toMatchObject({ status: 'failed', error: { code: 'internal' } })
    expect((await client.get('/v1/projects/lab/data/cut')).status).toBe(404)
    const { problems } = (await client.get('/healthz')).body
    expect(problems.filter(({ code }: { code: string }) => /subvolume/.test(code))).toEqual([])
  })

  test('is gone when it is deleted while it is made', async () => {
    const begun = await client.post('/v1/projects/lab/data/large/backups?wait_seconds=0')
    if (begun.status === 202) expect((await client.delete(begun.body.resource)).status).toBe(204)
    for (const { id } of (await client.get('/v1/projects/lab/backups')).body.backups) {
      expect((await client.delete(`/v1/projects/lab/data/large/backups/${id}`)).status).toBe(204)
    }
    await eventually(async () => {
      const { backups } = (await client.get('/v1/projects/lab/data/large/backups')).body
      return backups.length === 0 && objectsIn(folder).length === 0
    })
  })
})

describe('another deployment', () => {
  let other: TestService
  let there: BackupLab
  let here: BackupLab
  const otherClient = createClient(
    () => other.url,
    () => other.adminToken,
  )
  const made: string[] = []
  const digests: string[] = []

  beforeAll(async () => {
    other = await startService({ settings: { BOXYARD_BACKUP_DIR: folder } })
    here = await openBackupLab(client)
    there = await openBackupLab(otherClient)
    await here.fill('moved', 5)
    for (const line of ['first', 'second', 'third']) {
      await here.shell(`echo ${line} >> /moved/line`)
      made.push(await here.back('moved'))
      digests.push(await here.digest('moved'))
    }
  })

  test('uses none before its operator trusts the key of the first, and says how', async () => {
    const refused = await otherClient.post('/v1/projects/lab/data', { name: 'never', from_backup: made[2] })
    expect([refused.status, refused.body.code]).toEqual([409, 'backup_damaged'])
    expect(refused.body.detail).toMatch(/is signed with the key "k-[0-9a-f]{16}".*admin keys trust/)
    expect((await otherClient.get('/v1/projects/lab/backups')).body.backups).toEqual([])
    expect(trustBackupsOf(service, other)).toContain('1 more key')
    await eventually(async () => (await otherClient.get('/v1/projects/lab/backups')).body.backups.length === 3)
  })

  afterAll(() => other.close())

  test('restores a whole chain from the store alone', async () => {
    const listed = (await otherClient.get('/v1/projects/lab/backups')).body.backups
    expect(listed.map(({ id }: { id: string }) => id)).toEqual(made)
    for (const [index, id] of made.entries()) {
      expect(await there.restore(id, `from-${index}`)).toEqual({
        digest: digests[index],
      })
    }
  })

  test('names missing or altered objects and restores nothing from them', async () => {
    const objects = objectsIn(folder)
    const [full = '', more = ''] = made.map((id) => objects.find((name) => name.includes(`${id}/part-00000`)))
    const manifest = objects.find((name) => name.includes(`${made[0]}/manifest`)) ?? ''
    const at = (name: string): string => join(folder, name)
    const flip = (name: string, place: number): void => {
      const bytes = readFileSync(at(name))
      bytes.writeUInt8(bytes.readUInt8(place) ^ 4, place)
      writeFileSync(at(name), bytes)
    }
    const damages: [string, () => void][] = [
      [full, () => flip(full, 2_500_000)],
      [full, () => flip(full, statSync(at(full)).size - 1)],
      [more, () => flip(more, 40)],
      [full, () => truncateSync(at(full), statSync(at(full)).size - 1)],
      [full, () => truncateSync(at(full), 0)],
      [full, () => writeFileSync(at(full), 'more', { flag: 'a' })],
      [more, () => rmSync(at(more))],
      [manifest, () => rmSync(at(manifest))],
      [manifest, () => flip(manifest, readFileSync(at(manifest), 'utf8').indexOf('size_bytes') + 13)],
      [manifest, () => truncateSync(at(manifest), 100)],
      [manifest, () => copyFileSync(at(manifest.replace(made[0] ?? '', made[1] ?? '')), at(manifest))],
      [full, () => copyFileSync(at(more), at(full))],
    ]
    for (const [index, [name, damage]] of damages.entries()) {
      const keep = join(folder, '..', `kept-${process.pid}`)
      copyFileSync(at(name), keep)
      damage()
      const { status, body } = await otherClient.post('/v1/projects/lab/data', { name: 'never', from_backup: made[2] })
      expect([index, status, body.code]).toEqual([index, 409, 'backup_damaged'])
      expect(body.detail).toContain(name)
      const asNew = await client.post(`${here.data}/moved/backups/${made[2]}/restore`, { as: 'never' })
      expect([asNew.status, asNew.body.detail]).toEqual([409, body.detail])
      renameSync(keep, at(name))
    }
    expect((await otherClient.get(`${there.data}/never`)).status).toBe(404)
    expect(await there.restore(made[2] ?? '', 'mended')).toEqual({ digest: digests[2] })
  })

  test('restores over a volume of its own, in the box that has it', async () => {
    await there.fill('moved', 1)
    const over = (id: string | undefined) =>
      otherClient.post(`${there.data}/moved/backups/${id}/restore?wait_seconds=25`, {})
    for (const index of [2, 0, 1]) {
      expect((await over(made[index])).status).toBe(200)
      expect(await there.digest('moved')).toBe(digests[index])
    }
    const { snapshots } = (await otherClient.get(`${there.data}/moved/snapshots`)).body
    expect(snapshots.map(({ comment }: { comment: string }) => comment)).toEqual(
      [2, 0, 1].map((index) => `Before the restore of "backup:${made[index]}".`),
    )
    await there.shell('rm /moved/line')
    const own = await there.back('moved')
    const stored = (await otherClient.get(`${there.data}/moved/backups/${own}`)).body
    expect([stored.status, stored.incremental_of]).toEqual(['done', null])
    expect(await there.restore(own, 'own')).toEqual({ digest: await there.digest('moved') })
    expect((await otherClient.delete(`${there.data}/moved/backups/${own}`)).status).toBe(204)
  })

  test('restores backups that retention kept, though they build on expired ones', async () => {
    await service.killAgent('SIGTERM')
    ageBackups(service)
    await service.startAgent()
    await here.shell('echo fourth >> /moved/line')
    const schedule = { interval_seconds: 3600, keep_seconds: 60 }
    expect((await client.put(`${here.data}/moved/backup-schedule`, schedule)).status).toBe(200)
    const listed = async (): Promise<{ id: string; incremental_of: string | null }[]> =>
      (await otherClient.get('/v1/projects/lab/backups')).body.backups
    await eventually(async () => (await listed()).length === 1)
    const [last] = await listed()
    expect(last?.incremental_of).toBe(made[2])
    const gone = await there.restore(made[2] ?? '', 'gone')
    expect(gone).toMatchObject({ code: 'backup_not_found' })
    expect(await there.restore(last?.id ?? '', 'last')).toEqual({ digest: await here.digest('moved') })
    made.splice(0, 3, last?.id ?? '')
  })

  test('deletes them, and the first deployment makes full ones after that', async () => {
    for (const id of made) expect((await otherClient.delete(`${there.data}/moved/backups/${id}`)).status).toBe(204)
    await eventually(() => objectsIn(folder).length === 0)
    const next = await here.back('moved')
    expect((await client.get(`${here.data}/moved/backups/${next}`)).body.incremental_of).toBeNull()
  })
})

describe('a full backup directory', () => {
  test('is reported, keeps whole backups, and is used again once there is room', async () => {
    const disk = mkdtempSync(join(tmpdir(), 'boxyard-full-'))
    await runOk('mount', ['-t', 'tmpfs', '-o', 'size=12m', 'tmpfs', disk])
    const place = join(disk, 'backups')
    mkdirSync(place)
    const full = await startService({ settings: { BOXYARD_BACKUP_DIR: place } })
    try {
      const fullClient = createClient(
        () => full.url,
        () => full.adminToken,
      )
      const lab = await openBackupLab(fullClient)
      await lab.fill('data', 6)
      const first = await lab.back('data')
      const objects = objectsIn(place)
      await lab.shell('head -c 20000000 /dev/urandom > /data/more')
      const refused = await fullClient.post(`${lab.data}/data/backups`)
      expect([refused.status, refused.body.code]).toEqual([507, 'storage_full'])
      const listed = (await fullClient.get(`${lab.data}/data/backups`)).body.backups
      expect(listed.map(({ status }: { status: string }) => status)).toEqual(['done', 'failed'])
      expect(listed[1].error).toMatch(/full/)
      await eventually(() => objectsIn(place).join() === objects.join())
      await runOk('mount', ['-o', 'remount,size=64m', disk])
      const second = await lab.back('data')
      expect((await fullClient.get(`${lab.data}/data/backups/${second}`)).body.incremental_of).toBe(first)
      expect(await lab.restore(second, 'again')).toEqual({ digest: await lab.digest('data') })
      expect((await fullClient.delete(`${lab.data}/data/backups/${listed[1].id}`)).status).toBe(204)
    } finally {
      await full.close()
      await runOk('umount', [disk])
      rmSync(disk, { recursive: true })
    }
  })
})
