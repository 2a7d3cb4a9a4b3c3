import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { objectsIn } from '../backups/lab.ts'
import { instanceOf } from '../boxes/world.ts'
import type { Answer, Client } from '../front/client.ts'
import type { TestService } from '../service.ts'
import type { BackupOperation } from './backup-operations.ts'
import { readRecords, readSubvolume } from './pool.ts'
import type { Model } from './state.ts'

/** A project of a service, with its backup ids by their keys in the model. */
export interface BackupSite {
  service: TestService
  client: Client
  path: string
  ids: Map<number, string>
}

/** Sends an operation and waits for its end. Returns the final result as if it were the first answer. */
export async function sendOfBackups(site: BackupSite, operation: BackupOperation, wait: string): Promise<Answer> {
  const answer = await ask(site, operation, wait)
  if (answer.status !== 202) return answer
  for (;;) {
    const waited = await site.client.get(`/v1/operations/${answer.body.id}?wait_seconds=25`)
    if (waited.status !== 200) return waited
    const { status, error } = waited.body
    if (status === 'done') return { ...waited, status: SUCCESSES[operation.kind] ?? 200 }
    if (status === 'failed') return { ...waited, status: error.status, body: error }
  }
}

function ask({ client, path, ids }: BackupSite, operation: BackupOperation, wait: string): Promise<Answer> {
  const idOf = (key: number): string => ids.get(key) ?? `bak_${'0'.repeat(26)}`
  switch (operation.kind) {
    case 'backUp':
      return client.post(`${path}/data/${operation.volume}/backups`)
    case 'createFromBackup':
      return client.post(`${path}/data`, { name: operation.name, from_backup: idOf(operation.backup) })
    case 'restoreOver':
      return client.post(`${path}/data/${operation.volume}/backups/${idOf(operation.backup)}/restore${wait}`, {})
    case 'dropBackup':
      return client.delete(`${path}/data/${operation.of}/backups/${idOf(operation.backup)}`)
    case 'createBase': {
      const { kind: _kind, ...body } = operation
      return client.post(`${path}/bases`, body)
    }
    case 'deleteBase':
      return client.delete(`${path}/bases/${operation.base}`)
  }
}

/** Throws unless backups and bases match the model. Records the ids of backups. */
export async function compareBackups(site: BackupSite, model: Model): Promise<void> {
  const { client, path, ids } = site
  const stored: Listed[] = (await client.get(`${path}/backups?max_results=1000`)).body.backups
  const seen = stored.map(({ volume, size_gb: sizeGb }) => ({ volume, sizeGb }))
  const expected = model.backups.map(({ volume, sizeGb }) => ({ volume, sizeGb }))
  assert.equal(JSON.stringify(seen), JSON.stringify(expected), 'backups')
  for (const [index, { key }] of model.backups.entries()) ids.set(key, stored[index]?.id ?? '')
  for (const [name, { id }] of model.volumes) {
    const { backups } = (await client.get(`${path}/data/${name}/backups?max_results=1000`)).body
    const own = model.backups.filter(({ volumeId }) => volumeId === id).map(({ key }) => [ids.get(key), 'done'])
    const listed = backups.map((each: Listed) => [each.id, each.status])
    assert.equal(JSON.stringify(listed), JSON.stringify(own), `backups of ${name}`)
  }
  compareCopies(site, model)
  await compareBases(site, model)
}

/** Checks the copies that later backups build on. Each must have the content of its backup. */
function compareCopies({ service, ids }: BackupSite, model: Model): void {
  const copies = new Map(readRecords<Copy>(service, 'backups').map(({ id, subvolume }) => [id, subvolume]))
  for (const { key, tree } of model.backups) {
    const subvolume = copies.get(ids.get(key) ?? '')
    if (!subvolume) continue
    const expected = Object.fromEntries(tree.files)
    assert.deepEqual(sorted(readSubvolume(service, subvolume, 'volume')), sorted(expected), `what backup #${key} holds`)
  }
}

async function compareBases({ service, client, path }: BackupSite, model: Model): Promise<void> {
  const { bases } = (await client.get(`${path}/bases`)).body
  assert.deepEqual(
    bases.map(({ name }: { name: string }) => name),
    [...model.bases.keys()].sort(),
  )
  const records = readRecords<{ project: string | null; name: string; subvolume: string }>(service, 'bases')
  for (const [name, { id, files }] of model.bases) {
    const record = records.find((each) => each.project !== null && each.name === name)
    const actual = readSubvolume(service, record?.subvolume ?? '', 'root')
    assert.deepEqual(sorted(actual), sorted(Object.fromEntries(files)), `what base ${name} holds`)
    const users = [...model.boxes.values()].filter(({ baseId }) => baseId === id)
    assert.equal((await client.get(`${path}/bases/${name}`)).body.used_by.count, users.length, `boxes of base ${name}`)
  }
}

/** Throws unless the backup store and the pool have exactly what backups and bases need. */
export function compareStore({ service }: BackupSite, model: Model): void {
  if (model.backups.length === 0) assert.equal(objectsIn(join(service.dataDir, 'backups')).join(), '', 'objects')
  const pool = join(`/proc/${service.agentPid}/root/run/boxyard`, instanceOf(service), 'pool')
  const made = readdirSync(pool).filter((name) => name.startsWith('bas_'))
  const recorded = readRecords<{ subvolume: string }>(service, 'bases').map(({ subvolume }) => subvolume)
  assert.equal(made.sort().join(), recorded.sort().join(), 'bases in the pool')
}

/** Returns the subvolumes of backups in the pool. */
export function copiesOf(service: TestService): string[] {
  return readRecords<Copy>(service, 'backups').flatMap(({ subvolume }) => subvolume ?? [])
}

interface Copy {
  id: string
  subvolume: string | null
}

interface Listed {
  id: string
  volume: string
  size_gb: number
  status: string
}

function sorted(files: Record<string, string>): string[] {
  return Object.entries(files)
    .map((each) => each.join(' '))
    .sort()
}

/** Statuses of success other than 200. */
export const SUCCESSES: Partial<Record<BackupOperation['kind'], number>> = {
  ...{ backUp: 201, createFromBackup: 201, createBase: 201, dropBackup: 204, deleteBase: 204 },
}
