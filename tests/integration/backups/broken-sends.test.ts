import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { type CowFilesystem, SendTooLongError } from '../../../agent/ports/pool/cow-filesystem.ts'
import { type BackupService, openBackupService } from '../../helpers/backups/service.ts'
import { CALLER } from '../../helpers/caller.ts'

let service: BackupService
let send: CowFilesystem['send']

beforeEach(async () => {
  service = openBackupService()
  await service.volumes.addBase()
  const how = { ifMatch: null, idempotencyKey: null }
  await service.volumes.volumes.create(CALLER, { project: 'demo', body: { name: 'vol', size_gb: 1 } }, how)
  send = service.volumes.filesystem.send
})

afterEach(() => service.close())

async function back(content: string) {
  service.advance(1)
  await service.write('vol', content)
  return service.back('vol')
}

describe('a backup to a folder', () => {
  test('is a full one where an increment is longer than that, and the next builds on it', async () => {
    const first = await back('one')
    const asked: (string | null)[] = []
    service.volumes.filesystem.send = async function* (request) {
      asked.push(request.parent)
      yield* send(request)
      if (request.maxBytes !== undefined) throw new SendTooLongError('the stream is too long')
    }
    const second = await back('two')
    service.volumes.filesystem.send = send
    expect(asked).toEqual([first.subvolume, null])
    expect(second).toMatchObject({ status: 'done', parent: null, depth: 0 })
    expect((await back('three')).parent?.id).toBe(second.id)
    expect(await service.restore('vol', second.id, 'check')).toBeNull()
    expect(await service.read('check')).toBe('two')
  })

  test('fails where what is sent breaks off for another reason', async () => {
    service.volumes.filesystem.send = async function* (request) {
      yield* send(request)
      throw new Error('the source broke off')
    }
    const failed = { status: 'failed', error: expect.stringContaining('backups are kept') }
    expect(await back('one')).toMatchObject(failed)
  })
})
