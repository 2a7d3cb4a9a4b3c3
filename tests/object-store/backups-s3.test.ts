import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { openBackupStore } from '../../agent/drivers/backups/location.ts'
import { defineBackupsSuite } from '../e2e/backups/suite.ts'
import { endOf, objectsIn, openBackupLab } from '../helpers/backups/lab.ts'
import { type ObjectStore, startObjectStore } from '../helpers/backups/object-store.ts'
import { trustBackupsOf } from '../helpers/backups/trust.ts'
import { eventually } from '../helpers/eventually.ts'
import { createClient } from '../helpers/front/client.ts'
import { type CuttableLine, openCuttableLine } from '../helpers/front/cuttable-line.ts'
import { startService, type TestService } from '../helpers/service.ts'

let server: ObjectStore
let line: CuttableLine
let service: TestService
const client = createClient(
  () => service.url,
  () => service.adminToken,
)

const settings = (): Record<string, string> => ({
  BOXYARD_BACKUP_S3_ENDPOINT: `http://127.0.0.1:${line.port}`,
  BOXYARD_BACKUP_S3_BUCKET: server.place.bucket,
  BOXYARD_BACKUP_S3_REGION: server.place.region,
  BOXYARD_BACKUP_S3_PREFIX: 'boxes/main',
  BOXYARD_BACKUP_S3_KEY_FILE: server.keyFile,
})

beforeAll(async () => {
  server = await startObjectStore()
  line = await openCuttableLine('127.0.0.1', server.port)
  service = await startService({ settings: { ...settings(), BOXYARD_POOL_GB: '2' } })
})

afterAll(async () => {
  await service.close()
  await line.close()
  await server.close()
})

const objects = (): string[] => objectsIn(join(server.bucketPath, 'boxes/main'))

describe('to an S3 bucket', () => {
  defineBackupsSuite(client)

  test('nothing is left of backups that are all deleted', async () => {
    await eventually(() => objects().length === 0)
    expect((await client.get('/v1/config')).body.drivers.backups).toBe('s3')
  })

  test('a backup continues when the endpoint is back, and is whole on another deployment', async () => {
    const lab = await openBackupLab(client)
    await lab.fill('large', 150)
    const begun = await client.post(`${lab.data}/large/backups?wait_seconds=0`)
    expect(begun.status).toBe(202)
    await eventually(() => objects().length >= 1, 5)
    await line.cut('refuse')
    await pause(1500)
    await line.mend()
    const ended = await endOf(client, begun.body.id)
    expect(ended.body).toMatchObject({ status: 'done', error: null })
    const other = await startService({ settings: settings() })
    try {
      trustBackupsOf(service, other)
      const otherClient = createClient(
        () => other.url,
        () => other.adminToken,
      )
      const there = await openBackupLab(otherClient)
      const id = ended.body.resource.split('/').at(-1)
      expect(await there.restore(id, 'back')).toEqual({ digest: await lab.digest('large') })
    } finally {
      await other.close()
    }
  })

  test('an endpoint that stays down is reported, without its keys', async () => {
    await line.cut('refuse')
    const listed = await client.get('/v1/projects/lab/backups')
    expect([listed.status, listed.body.code]).toEqual([500, 'internal'])
    expect(listed.body.detail).toContain('where backups are kept')
    await line.mend()
    const text = service.logs.join('\n')
    expect(text).toContain('ECONNREFUSED')
    expect(text).not.toContain(server.place.keys.secretAccessKey)
    expect(text).not.toContain(server.place.keys.accessKeyId)
  })
})

describe('a file of keys', () => {
  test('that others may read, or that is invalid, is refused without showing its content', async () => {
    const { keys, attempts, timeoutMs, ...place } = server.place
    expect([attempts, timeoutMs]).toEqual([4, 10_000])
    const open = (keyFile: string) => openBackupStore({ directory: '/nowhere', s3: { ...place, keyFile } })
    const opened = await open(server.keyFile)
    expect(opened.kind).toBe('s3')
    await opened.close()
    chmodSync(server.keyFile, 0o644)
    await expect(open(server.keyFile)).rejects.toThrow('other users can read it')
    chmodSync(server.keyFile, 0o600)
    await expect(open('/etc/hostname')).rejects.toThrow()
    expect(keys.secretAccessKey).toHaveLength(32)
  })
})
