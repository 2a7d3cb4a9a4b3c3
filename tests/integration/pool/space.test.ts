import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createSpaceKeeper } from '../../../agent/drivers/pool/space.ts'
import { openPoolLab, type PoolLab } from '../../helpers/pool/lab.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'

const MIB = 1024 ** 2

let lab: PoolLab

beforeAll(async () => {
  lab = await openPoolLab(512 * MIB)
})
afterAll(() => lab.close())

/** Writes random bytes until no more fit. */
function fill(name: string): void {
  const fd = fs.openSync(`${lab.pool.path(name)}/data`, 'w')
  const piece = randomBytes(4 * MIB)
  try {
    for (;;) fs.writeSync(fd, piece)
  } catch (error) {
    // EDQUOT or ENOSPC. Node has a name for only one of them.
    expect([-122, -28]).toContain((error as NodeJS.ErrnoException).errno)
  } finally {
    fs.closeSync(fd)
  }
}

test('destroying in a full pool makes room at once, though the kernel frees it later', async () => {
  for (let round = 0; round < 8; round++) {
    await lab.pool.create('large', 'demo')
    await lab.pool.setQuota('large', 440 * MIB)
    fill('large')
    await lab.pool.destroy('large')
    for (let look = 0; look < 12; look++) {
      expect((await lab.pool.capacity()).availableBytes).toBeGreaterThan(0)
      await lab.pool.create('small', 'demo')
      await lab.pool.destroy('small')
    }
  }
})

const full = (): never => {
  throw Object.assign(new Error('full'), { code: 'ENOSPC' })
}

function keeperOf() {
  const commits = { count: 0 }
  const pool = {
    ...{ mountPath: lab.directory, dataDir: lab.directory, isReadOnly: () => false },
    ...{ grow: async () => false, back: async () => true, growableBytes: async () => 0 },
  }
  const commit = async (): Promise<void> => void commits.count++
  return { commits, keeper: createSpaceKeeper(pool, { commit, stepBytes: 0, logger: silentLogger }) }
}

test('a full pool is tried twice, and for seconds after a destroy', async () => {
  const { commits, keeper } = keeperOf()
  let asked = 0
  const ask = (): never => {
    asked++
    return full()
  }
  await expect(keeper.use(ask)).rejects.toMatchObject({ code: 'storage_full' })
  expect([asked, commits.count]).toEqual([2, 1])
  keeper.noteFreed()
  const since = performance.now()
  await expect(keeper.use(ask)).rejects.toMatchObject({ code: 'storage_full' })
  expect(performance.now() - since).toBeGreaterThan(9_500)
  asked = 1
  keeper.noteFreed()
  await keeper.use(() => (asked++ % 5 === 0 ? undefined : full()))
  expect(asked).toBe(6)
  await keeper.close()
})
