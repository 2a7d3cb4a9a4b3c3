import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { SNAPSHOTS_MAX } from '../../../agent/core/snapshots/snapshots.ts'
import { LIMIT_TEXTS } from '../../../shared/schemas/limits.ts'
import { CALLER } from '../../helpers/caller.ts'
import { openVolumeService, type VolumeService } from '../../helpers/volumes/service.ts'
import { snapshotRecord } from '../../helpers/volumes/storage-records.ts'

const HOW = { ifMatch: null, idempotencyKey: null, check: () => undefined }
const vol = { project: 'demo', name: 'vol' }
let service: VolumeService

beforeEach(async () => {
  service = openVolumeService(() => 0)
  await service.volumes.create(CALLER, { project: 'demo', body: { name: 'vol', size_gb: 1 } }, HOW)
})

afterEach(() => service.close())

const take = (name: string) => service.snapshots.create(CALLER, vol, { body: { name }, idempotencyKey: null })

test('a snapshot is refused at the limit, in which automatic ones count, and a restore is not', async () => {
  expect(LIMIT_TEXTS.snapshots_per_owner).toMatch(/including automatic ones. Only restores can exceed it/)
  await take('good')
  const { record } = await service.volumes.get(vol)
  for (let count = 1; count < SNAPSHOTS_MAX - 1; count++) await service.store.snapshots.insert(snapshotRecord(record))
  await service.restore('vol', 'good')
  const refused = {
    code: 'quota_exceeded',
    message: expect.stringMatching(/has \d+ snapshots, automatic ones counted/),
  }
  await expect(take('more')).rejects.toMatchObject(refused)
  await service.restore('vol', 'good')
  const snapshots = await service.store.snapshots.of(record.id)
  expect(snapshots).toHaveLength(SNAPSHOTS_MAX + 1)
  for (const { name, automatic } of snapshots) if (automatic) await service.snapshots.remove(vol, name, null)
  expect((await take('more')).record.name).toBe('more')
})
