import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { eventually } from '../../helpers/eventually.ts'
import { openPoolLab, type PoolLab, shellAt } from '../../helpers/pool/lab.ts'
import { defineAccountsSuite } from './accounts-suite.ts'

const MIB = 1024 ** 2
const REFUSED = expect.objectContaining({ errno: -122 })

/** Writes an incompressible file and syncs it. By the end of the sync, the kernel has reported an exceeded limit to the writer. */
function fill(lab: PoolLab, thing: string, bytes: number): void {
  const file = path.join(lab.pool.path(thing), randomBytes(8).toString('hex'))
  try {
    fs.writeFileSync(file, randomBytes(bytes), { flush: true })
  } catch (error) {
    fs.rmSync(file, { force: true })
    throw error
  }
}

defineAccountsSuite('btrfs', async () => {
  let lab = await openPoolLab(512 * MIB)
  return {
    get accounts() {
      return lab.pool.accounts
    },
    make: (thing, project) => lab.pool.create(thing, project),
    copy: (source, name, project) => lab.pool.snapshot({ source, name, project, isReadOnly: false, quotaBytes: null }),
    seal: (thing) => lab.pool.setReadOnly(thing, true),
    fill: (thing, bytes) => fill(lab, thing, bytes),
    delete: (thing) => lab.pool.destroy(thing),
    reopen: async () => {
      lab = await lab.reopen()
    },
    close: () => lab.close(),
  }
})

describe('the accounts of a btrfs pool', () => {
  let lab: PoolLab
  beforeAll(async () => {
    lab = await openPoolLab(512 * MIB)
  })
  afterAll(() => lab.close())

  const used = async (project: string): Promise<number> => {
    await lab.pool.accounts.settle()
    return lab.pool.accounts.usedBytes(project)
  }
  const destroyAll = async (): Promise<void> => {
    for (const name of await lab.pool.list()) await lab.pool.destroy(name)
    await eventually(async () => (await used('demo')) + (await used('other')) < MIB)
  }

  test('hold what a stream brings for the project that receives it, and refuse one beyond its bound', async () => {
    const { pool } = lab
    await pool.create('source', 'demo')
    fill(lab, 'source', 8 * MIB)
    await lab.freeze('source', 'sent')
    const request = (name: string) => ({
      ...{ container: `tmp_${name}`, name, project: 'other', quotaBytes: null },
      streams: (async function* () {
        yield pool.send({ name: 'sent', parent: null })
      })(),
    })
    await pool.receive(request('first'))
    await pool.destroy('tmp_first')
    expect(await used('other')).toBeGreaterThan(8 * MIB)
    expect(await used('demo')).toBeLessThan(9 * MIB)
    await pool.accounts.limit('other', 12 * MIB)
    const refused = pool.receive(request('second'))
    await expect(refused).rejects.toMatchObject({ code: 'storage_full', cause: { code: 'EDQUOT' } })
    await pool.accounts.limit('other', null)
    await destroyAll()
  })

  test('hold nested subvolumes of a hostile box, which can be destroyed at the bound of their project', async () => {
    const { pool } = lab
    await pool.create('box', 'demo')
    shellAt(
      pool.path('box'),
      'btrfs subvolume create nested > /dev/null; btrfs subvolume create nested/deep > /dev/null',
    )
    fs.writeFileSync(path.join(pool.path('box'), 'nested/deep/file'), randomBytes(4 * MIB), { flush: true })
    expect(await used('demo')).toBeGreaterThan(4 * MIB)
    await pool.accounts.limit('demo', MIB)
    expect(() => fill(lab, 'box', MIB)).toThrow(REFUSED)
    await pool.destroy('box')
    expect(await pool.exists('box')).toBe(false)
    await pool.create('next', 'demo')
    expect(() => fill(lab, 'next', 2 * MIB)).toThrow(REFUSED)
    await pool.accounts.limit('demo', null)
    await destroyAll()
  })

  test('forget projects that keep nothing when the pool is opened anew, and begin anew for them', async () => {
    await lab.pool.create('brief', 'demo')
    await destroyAll()
    lab = await lab.reopen()
    expect([...(await lab.pool.accounts.all()).keys()]).toEqual([])
    await lab.pool.create('again', 'demo')
    fill(lab, 'again', MIB)
    expect(await used('demo')).toBeGreaterThanOrEqual(MIB)
    await destroyAll()
  })

  test('refuse a name that is none of a project', async () => {
    for (const project of ['', '../x', 'a/b', 'UPPER', '.'])
      await expect(lab.pool.create('misnamed', project)).rejects.toThrow()
    expect(await lab.pool.exists('misnamed')).toBe(false)
  })
})
