import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { createBackupCatalog } from '../../../agent/core/backups/catalog.ts'
import type { BackupRecord } from '../../../agent/ports/store/backups.ts'
import { createBackupKeys, joinBackupKeys } from '../../../shared/auth/keys.ts'
import {
  type BackupManifest,
  backupDirectory,
  decodeManifest,
  encodeManifest,
  MANIFEST,
} from '../../../shared/backup-manifest.ts'
import { type BackupService, openBackupService } from '../../helpers/backups/service.ts'
import { CALLER } from '../../helpers/caller.ts'
import { eventually } from '../../helpers/eventually.ts'

const [key = { id: '', secret: '' }] = createBackupKeys().keys
const [foreign = { id: '', secret: '' }] = createBackupKeys().keys
const id = (prefix: string, digit: string): string => `${prefix}_${digit.repeat(26)}`
const MADE: BackupManifest = {
  ...{ format: 1, id: id('bak', '1'), project: 'demo', created_at: 1, incremental_of: null, automatic: false },
  volume: { id: id('vol', '2'), name: 'db', size_gb: 1, used_bytes: 5 },
  ...{ size_bytes: 5, parts: [{ name: 'part-00000.zst', size_bytes: 5, sha256: 'a'.repeat(64) }] },
}

/** Leaves out the signature, as an earlier version did. */
function unsigned(text: string): string {
  const { key: _key, hmac: _hmac, ...rest } = JSON.parse(text) as Record<string, unknown>
  return `${JSON.stringify(rest)}\n`
}

describe('a manifest', () => {
  test('is good for the key that signed it, and unknown without it', () => {
    const { text, sha256 } = encodeManifest(MADE, key)
    expect(decodeManifest(text, [foreign, key])).toEqual({ manifest: MADE, sha256, signature: { kind: 'good' } })
    expect(decodeManifest(text, [foreign])?.signature).toEqual({ kind: 'unknown', keyId: key.id })
    expect(decodeManifest(unsigned(text), [key])?.signature).toEqual({ kind: 'none' })
  })

  test.each<[string, Partial<BackupManifest>]>([
    ['of another project', { project: 'other' }],
    ['of another volume', { volume: { ...MADE.volume, id: id('vol', '3') } }],
    ['of another backup', { id: id('bak', '4') }],
    ['with other parts', { parts: [{ name: 'part-00000.zst', size_bytes: 5, sha256: 'b'.repeat(64) }] }],
    ['on another backup', { incremental_of: id('bak', '5') }],
  ])('is null with the signature of one %s', (_what, other) => {
    const { hmac } = JSON.parse(encodeManifest(MADE, key).text)
    const forged = JSON.parse(encodeManifest({ ...MADE, ...other }, key).text)
    expect(decodeManifest(`${JSON.stringify({ ...forged, hmac })}\n`, [key])).toBeNull()
  })

  test('is null with the name of a key that did not sign it', () => {
    const forged = JSON.parse(encodeManifest(MADE, foreign).text)
    expect(decodeManifest(`${JSON.stringify({ ...forged, key: key.id })}\n`, [key, foreign])).toBeNull()
  })
})

describe('the backups of a deployment', () => {
  let service: BackupService
  let made: BackupRecord
  const pathOf = ({ project, volumeId, id }: BackupRecord): string =>
    join(service.folder, backupDirectory(project, volumeId, id), MANIFEST)
  const textOf = (record: BackupRecord): string => readFileSync(pathOf(record), 'utf8')
  const catalogOf = (acceptsUnverified = false, keys = [foreign]) =>
    createBackupCatalog({
      ...{ store: service.backupStore, keys: () => keys, acceptsUnverified },
      hasWritten: async () => false,
    })

  beforeEach(async () => {
    service = openBackupService(undefined, { keys: [key] })
    const request = { project: 'demo', body: { name: 'db', size_gb: 1 } }
    await service.volumes.volumes.create(CALLER, request, { idempotencyKey: null, ifMatch: null })
    await service.write('db', 'one')
    made = await service.back('db')
  })

  afterEach(() => service.close())

  test('are signed, and restored by their deployment', async () => {
    expect(made).toMatchObject({ status: 'done', isSigned: true })
    expect(JSON.parse(textOf(made))).toMatchObject({ key: key.id, hmac: expect.stringMatching(/^[0-9a-f]{64}$/) })
    expect(await service.restore('db', made.id, 'copy')).toBeNull()
  })

  test('are neither listed nor used by another, which names the key and the way out', async () => {
    const catalog = catalogOf()
    expect(await catalog.list('demo')).toMatchObject([{ id: made.id, manifest: null }])
    await expect(catalog.chain(made)).rejects.toMatchObject({
      code: 'backup_damaged',
      message: expect.stringMatching(new RegExp(`signed with the key "${key.id}".*admin keys trust`)),
    })
    const trusting = catalogOf(false, [...joinBackupKeys({ keys: [foreign] }, { keys: [key] }).keys])
    expect(await trusting.chain(made)).toHaveLength(1)
    expect(await catalogOf(true).chain(made)).toHaveLength(1)
  })

  test('that somebody has written into the store are refused', async () => {
    const forged = { ...MADE, volume: { ...MADE.volume, id: made.volumeId }, id: made.id }
    writeFileSync(pathOf(made), unsigned(encodeManifest(forged, foreign).text))
    expect(await service.restore('db', made.id, 'copy')).toMatchObject({
      code: 'backup_damaged',
      detail: expect.stringContaining('has no signature'),
    })
    writeFileSync(pathOf(made), encodeManifest(forged, foreign).text)
    expect(await service.restore('db', made.id, 'copy')).toMatchObject({
      detail: expect.stringContaining(`is signed with the key "${foreign.id}"`),
    })
  })

  test('of an earlier version are known by their recorded digest, and signed by the next sweep', async () => {
    writeFileSync(pathOf(made), unsigned(textOf(made)))
    await service.volumes.store.backups.write([{ ...made, isSigned: false }])
    expect(await service.restore('db', made.id, 'copy')).toBeNull()
    await service.parts.recover()
    await eventually(async () => (await service.volumes.store.backups.get(made.id))?.isSigned === true)
    expect(decodeManifest(textOf(made), [key])?.signature).toEqual({ kind: 'good' })
    expect(await catalogOf(false, [key]).chain(made)).toHaveLength(1)
  })

  test('of an earlier version that were changed since are not signed', async () => {
    const forged = { ...MADE, volume: { ...MADE.volume, id: made.volumeId }, id: made.id }
    const text = unsigned(encodeManifest(forged, foreign).text)
    writeFileSync(pathOf(made), text)
    await service.volumes.store.backups.write([{ ...made, isSigned: false }])
    await service.parts.recover()
    // Sweeps run one after the other. Once the second backup is swept, the first sweep has ended.
    const next = await service.back('db')
    expect(next.status).toBe('done')
    await service.parts.backups.remove({ project: 'demo', name: 'db' }, next.id, null)
    expect([textOf(made), (await service.volumes.store.backups.get(made.id))?.isSigned]).toEqual([text, false])
  })
})
