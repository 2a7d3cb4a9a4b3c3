import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type BtrfsPool, openBtrfsPool } from '../../../agent/drivers/pool/cow-filesystem.ts'
import { runOk } from '../../../agent/lib/run.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'
import { defineCowSuite } from './cow-suite.ts'

const MIB = 1024 * 1024
let directory = ''
let pool: BtrfsPool

beforeAll(async () => {
  directory = fs.mkdtempSync(path.join(os.tmpdir(), 'boxyard-cow-'))
  pool = await openBtrfsPool({
    dataDir: directory,
    runDir: path.join(directory, 'run'),
    initialBytes: 512 * MIB,
    stepBytes: 0,
    hostReserveBytes: 0,
    logger: silentLogger,
  })
  await pool.create('base', 'demo')
  fs.writeFileSync(path.join(pool.path('base'), 'file'), 'base')
})

afterAll(async () => {
  await pool.close()
  fs.rmSync(directory, { recursive: true, force: true })
})

const snapshot = (source: string, name: string, quotaBytes: number | null = null): Promise<void> =>
  pool.snapshot({ source, name, project: 'demo', isReadOnly: false, quotaBytes })
const read = (name: string, file = 'file'): string => fs.readFileSync(path.join(pool.path(name), file), 'utf8')
const write = (name: string, file: string, data: string | Buffer): void =>
  fs.writeFileSync(path.join(pool.path(name), file), data)

defineCowSuite('btrfs', async () => ({
  filesystem: pool,
  read,
  write: (name, content) => write(name, 'file', content),
  close: async () => undefined,
}))

test('a created subvolume has no files', async () => {
  await pool.create('made', 'demo')
  expect(fs.readdirSync(pool.path('made'))).toEqual([])
  await pool.destroy('made')
})

describe('snapshots', () => {
  test('a copy has all earlier writes, flushed or not, and then changes independently', async () => {
    write('base', 'unflushed', 'fresh')
    await snapshot('base', 'copy')
    expect(read('copy', 'unflushed')).toBe('fresh')
    write('copy', 'file', 'changed')
    write('base', 'later', 'x')
    expect(read('base')).toBe('base')
    expect(fs.existsSync(path.join(pool.path('copy'), 'later'))).toBe(false)
    await pool.destroy('copy')
  })

  test('a read-only copy refuses writes until it is made writable', async () => {
    await pool.snapshot({ source: 'base', name: 'frozen', project: 'demo', isReadOnly: true, quotaBytes: null })
    expect(() => write('frozen', 'file', 'x')).toThrow(/EROFS/)
    await pool.setReadOnly('frozen', false)
    write('frozen', 'file', 'x')
    await pool.setReadOnly('frozen', true)
    await pool.setReadOnly('frozen', true)
    expect(() => write('frozen', 'file', 'y')).toThrow(/EROFS/)
    await pool.destroy('frozen')
  })

  test('writes to a subvolume are on the disk once it is made read-only', async () => {
    await pool.create('built', 'demo')
    fs.mkdirSync(path.join(pool.path('built'), 'bin'))
    const program = randomBytes(10_000)
    for (let index = 0; index < 50; index++) write('built', `bin/tool-${index}`, program)
    await pool.setReadOnly('built', true)
    const whole = await afterPowerCut((mountPath) => {
      const bin = path.join(mountPath, 'built', 'bin')
      return fs.readdirSync(bin).filter((name) => fs.readFileSync(path.join(bin, name)).equals(program))
    })
    expect(whole).toHaveLength(50)
    await pool.destroy('built')
  })

  test("a call's changes are on the disk when it returns", async () => {
    await pool.create('kept_created', 'demo')
    expect(await namesOnDisk()).toContain('kept_created')
    await snapshot('kept_created', 'kept_copied')
    expect(await namesOnDisk()).toContain('kept_copied')
    await pool.destroy('kept_created')
    await pool.destroy('kept_copied')
    expect((await namesOnDisk()).filter((name) => name.startsWith('kept_'))).toEqual([])
  })
})

describe('quotas', () => {
  test('a copy may write as much as its quota allows and no more', async () => {
    await snapshot('base', 'small', 4 * MIB)
    expect(() => write('small', 'big', randomBytes(12 * MIB))).toThrow(expect.objectContaining({ errno: -122 }))
    await settled('small')
    const used = await pool.usedBytes('small')
    expect(used).toBeGreaterThan(2 * MIB)
    expect(used).toBeLessThanOrEqual(4 * MIB)
    await pool.setQuota('small', 32 * MIB)
    write('small', 'big', randomBytes(12 * MIB))
    await settled('small')
    expect(await pool.usedBytes('small')).toBeGreaterThanOrEqual(12 * MIB)
    await pool.setQuota('small', 1 * MIB)
    expect(() => write('small', 'more', randomBytes(2 * MIB))).toThrow(expect.objectContaining({ errno: -122 }))
    await pool.setQuota('small', null)
    write('small', 'more', randomBytes(2 * MIB))
    await pool.destroy('small')
  })

  test('a full copy can be copied and made read-only', async () => {
    await snapshot('base', 'brim', 1 * MIB)
    fillWithFiles(pool.path('brim'))
    await snapshot('brim', 'overflow', 1 * MIB)
    write('overflow', 'file', 'room again')
    await pool.setReadOnly('brim', true)
    await pool.setReadOnly('brim', false)
    expect(() => write('brim', 'big', randomBytes(4 * MIB))).toThrow(expect.objectContaining({ errno: -122 }))
    await pool.destroy('brim')
    await pool.destroy('overflow')
  })

  test('a full copy can still be destroyed', async () => {
    await snapshot('base', 'full', 1 * MIB)
    expect(() => write('full', 'big', randomBytes(4 * MIB))).toThrow(expect.objectContaining({ errno: -122 }))
    await pool.destroy('full')
    expect(await pool.exists('full')).toBe(false)
  })
})

describe('destroying subvolumes of a hostile box', () => {
  test('destroys nested, full and read-only subvolumes', async () => {
    await snapshot('base', 'nest', 16 * MIB)
    const top = pool.path('nest')
    for (const name of ['a', 'a/b', 'a/b/c', 'd']) await runOk('btrfs', ['subvolume', 'create', path.join(top, name)])
    fs.mkdirSync(path.join(top, 'a/b/directory'))
    await runOk('btrfs', ['subvolume', 'create', path.join(top, 'a/b/directory/e')])
    write('nest', 'a/b/c/file', 'deep')
    await runOk('btrfs', ['property', 'set', path.join(top, 'a/b'), 'ro', 'true'])
    expect(() => write('nest', 'big', randomBytes(20 * MIB))).toThrow(expect.objectContaining({ errno: -122 }))
    await pool.setReadOnly('nest', true)
    await pool.destroy('nest')
    expect(await pool.exists('nest')).toBe(false)
    expect(await pool.list()).toContain('base')
  })

  test('destroys two hundred nested subvolumes, deepest first', async () => {
    await pool.create('deep', 'demo')
    let directoryPath = pool.path('deep')
    for (let depth = 0; depth < 20; depth++) {
      const names = Array.from({ length: 10 }, (_, index) => path.join(directoryPath, `n${index}`))
      await runOk('sh', ['-c', 'for name; do btrfs subvolume create "$name"; done', 'sh', ...names])
      directoryPath = path.join(directoryPath, 'n0')
    }
    await pool.destroy('deep')
    expect(await pool.exists('deep')).toBe(false)
  })

  test('does not follow a link to another subvolume', async () => {
    await snapshot('base', 'victim')
    await pool.create('liar', 'demo')
    fs.symlinkSync(pool.path('victim'), path.join(pool.path('liar'), 'link'))
    await pool.destroy('liar')
    expect(read('victim')).toBe('base')
    await pool.destroy('victim')
  })
})

describe('capacity', () => {
  test('matches the filesystem and adds up', async () => {
    const { totalBytes, usedBytes, availableBytes, path: where } = await pool.capacity()
    expect(where).toBe(directory)
    expect(totalBytes).toBe(512 * MIB)
    expect(usedBytes + availableBytes).toBeLessThanOrEqual(totalBytes)
    expect(availableBytes).toBeGreaterThan(256 * MIB)
  })
})

/** Returns the subvolumes that would survive a power cut now, read from a copy of the image. */
const namesOnDisk = (): Promise<string[]> => afterPowerCut((mountPath) => fs.readdirSync(mountPath))

/** Returns the result of `look` on a copy of the current content of the pool's disk. */
async function afterPowerCut<T>(look: (mountPath: string) => T): Promise<T> {
  const copy = path.join(directory, 'copy.img')
  const mountPath = path.join(directory, 'copy')
  fs.mkdirSync(mountPath, { recursive: true })
  await runOk('cp', [path.join(directory, 'pool.img'), copy])
  await runOk('mount', ['-o', 'loop', copy, mountPath])
  try {
    return look(mountPath)
  } finally {
    await runOk('umount', [mountPath])
    fs.rmSync(copy)
  }
}

/** Writes files until not even a small one fits. */
function fillWithFiles(target: string): void {
  for (let index = 0; ; index++) {
    try {
      fs.writeFileSync(path.join(target, `fill${index}`), randomBytes(4096))
    } catch (error) {
      expect(error).toMatchObject({ errno: -122 })
      return
    }
  }
}

/** Waits until the filesystem has accounted for all writes. */
async function settled(name: string): Promise<void> {
  await runOk('sync', ['-f', pool.path(name)])
  await sleep(20)
}
