import { beforeEach, describe, expect, test } from '@jest/globals'
import { type Bounds, UNLIMITED_QUOTA } from '../../../agent/core/common/admission.ts'
import { StorageBounds } from '../../../agent/core/common/storage-bounds.ts'
import type { Handlers } from '../../../agent/handlers/common/call.ts'
import { guardPool } from '../../../agent/handlers/common/pool-guard.ts'
import { ServiceError } from '../../../shared/errors.ts'
import { createImaginedAccounts, createImaginedPool } from '../../helpers/imagined-host/pool.ts'
import { createWorld, type ImaginedWorld, writeBytes } from '../../helpers/imagined-host/world.ts'

const GIB = 1024 ** 3
const MIB = 1024 ** 2
let world: ImaginedWorld
let quotas: Map<string, number | null>

beforeEach(() => {
  world = createWorld()
  quotas = new Map()
})

/** Returns the storage limits of a new agent over the same storage and records. */
function openBounds(defaultQuota: Bounds = UNLIMITED_QUOTA): StorageBounds {
  const get = async (project: string) => {
    const storageGb = quotas.get(project)
    return storageGb === undefined ? null : { ...UNLIMITED_QUOTA, storageGb, version: 1, updatedAt: 0 }
  }
  const list = async () => ({ records: [...quotas.keys()].map((project) => ({ project })), hasMore: false })
  const store = { quotas: { get, list: list as never } }
  return new StorageBounds({ store, accounts: createImaginedAccounts(world), defaultQuota })
}

async function keep(project: string, bytes: number): Promise<void> {
  const name = `thing_${world.pool.size}`
  await createImaginedPool(world).create(name, project)
  writeBytes(world, name, bytes)
}

const full = (): ServiceError => new ServiceError('storage_full', 'There is no space left on its disk.')

describe('the bounds of what projects keep', () => {
  test('are in force from the first thing of a project on, by the quota of the deployment', async () => {
    const bounds = openBounds({ ...UNLIMITED_QUOTA, storageGb: 1 })
    await bounds.checkRoom('new')
    await expect(keep('new', GIB + 1)).rejects.toMatchObject({ code: 'EDQUOT' })
    await keep('new', GIB)
  })

  test('leave a project without a quota alone', async () => {
    const bounds = openBounds()
    await bounds.checkRoom('demo')
    await keep('demo', 64 * GIB)
    await bounds.checkRoom('demo')
    expect(world.bounds.size).toBe(0)
  })

  test('refuse one more thing of a project that has no room for it, with figures and the way out', async () => {
    quotas.set('demo', 1)
    const bounds = openBounds()
    await bounds.checkRoom('demo')
    await keep('demo', GIB - 2 * MIB)
    await bounds.checkRoom('demo')
    await keep('demo', MIB + 1)
    const refusal = await bounds.checkRoom('demo').catch((error: ServiceError) => error)
    expect(refusal).toMatchObject({ code: 'quota_exceeded' })
    expect(String(refusal)).toMatch(
      /keeps 0\.999 GiB .*its quota allows 1 GiB.*Delete snapshots, bases.*raise its quota/,
    )
    await bounds.checkRoom('other')
    quotas.set('demo', 2)
    await bounds.checkRoom('demo')
    await keep('demo', GIB)
  })

  test('refuse everything of a project whose quota is below what it keeps', async () => {
    await keep('demo', MIB)
    for (const storageGb of [0, 0.0005]) {
      quotas.set('demo', storageGb)
      await expect(openBounds().checkRoom('demo')).rejects.toMatchObject({ code: 'quota_exceeded' })
      await expect(keep('demo', 1)).rejects.toMatchObject({ code: 'EDQUOT' })
    }
  })

  test('refuse the first thing of a project whose quota is 0', async () => {
    quotas.set('demo', 0)
    await expect(openBounds().checkRoom('demo')).rejects.toMatchObject({ code: 'quota_exceeded' })
  })

  test('hold a project back at what it keeps, and name the host as the reason', async () => {
    const bounds = openBounds()
    await keep('demo', GIB)
    await bounds.hold('demo', GIB)
    await expect(keep('demo', 1)).rejects.toMatchObject({ code: 'EDQUOT' })
    const refusal = await bounds.checkRoom('demo').catch((error: ServiceError) => error)
    expect(refusal).toMatchObject({ code: 'storage_full' })
    expect(String(refusal)).toMatch(/storage of this host is nearly full.*Delete snapshots/)
    await bounds.hold('demo', null)
    await keep('demo', GIB)
  })

  test('keep the lower of a hold and a quota, whichever changes', async () => {
    quotas.set('demo', 3)
    const bounds = openBounds()
    await bounds.hold('demo', 2 * GIB)
    expect(world.bounds.get('demo')).toBe(2 * GIB)
    quotas.set('demo', 1)
    await bounds.apply('demo')
    expect(world.bounds.get('demo')).toBe(GIB)
    await bounds.hold('demo', null)
    expect(world.bounds.get('demo')).toBe(GIB)
    quotas.set('demo', null)
    await bounds.apply('demo')
    expect(world.bounds.has('demo')).toBe(false)
  })

  test('are those of the records after a restart, whatever the agent before held back', async () => {
    await keep('held', MIB)
    await openBounds().hold('held', MIB)
    quotas.set('unused', 1)
    await openBounds().recover()
    expect([...world.bounds]).toEqual([['unused', GIB]])
  })
})

describe('a disk that is full for a project at its bound', () => {
  beforeEach(async () => {
    quotas.set('demo', 1)
    await openBounds().recover()
    await keep('demo', GIB)
  })

  test('is explained by that bound, with the fault as cause', async () => {
    const bounds = openBounds()
    await bounds.recover()
    const cause = full()
    await expect(bounds.explaining('demo', () => Promise.reject(cause))).rejects.toMatchObject({
      ...{ code: 'quota_exceeded', cause },
    })
  })

  test('stays what it is for others, for the deployment, and beside other faults', async () => {
    const bounds = openBounds()
    await bounds.recover()
    const fault = full()
    await expect(bounds.explaining('other', () => Promise.reject(fault))).rejects.toBe(fault)
    await expect(bounds.explaining(null, () => Promise.reject(fault))).rejects.toBe(fault)
    const taken = new ServiceError('name_taken', 'There is one.')
    await expect(bounds.explaining('demo', () => Promise.reject(taken))).rejects.toBe(taken)
    expect(await bounds.explaining('demo', async () => 'made')).toBe('made')
  })

  test('refuses what makes something before it begins, and lets writes and backups try', async () => {
    const bounds = openBounds()
    const begun: string[] = []
    const handler = (id: string) => async () => {
      begun.push(id)
      throw full()
    }
    const ids = ['createBox', 'createVolume', 'createBoxSnapshot', 'restoreBox', 'createBackup', 'writeFile'] as const
    const handlers = Object.fromEntries(ids.map((id) => [id, handler(id)])) as Partial<Handlers>
    const guarded = guardPool(handlers, { filesystem: createImaginedPool(world), bounds })
    for (const id of ids) {
      const call = guarded[id] as (call: unknown) => Promise<unknown>
      await expect(call({ params: { project: 'demo' } })).rejects.toMatchObject({ code: 'quota_exceeded' })
    }
    expect(begun).toEqual(['createBackup', 'writeFile'])
  })
})
