import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { type BtrfsPool, openBtrfsPool } from '../../../agent/drivers/pool/cow-filesystem.ts'
import { releasePool } from '../../../agent/drivers/pool/pool.ts'
import { runOk, spawnChild } from '../../../agent/lib/run.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'

const MIB = 1024 * 1024
let directory = ''
let opened: BtrfsPool[] = []

beforeEach(() => {
  directory = fs.mkdtempSync(path.join(os.tmpdir(), 'boxyard-pool-'))
  opened = []
})

afterEach(async () => {
  for (const pool of opened) await pool.close()
  await until(() => loopDevices().length === 0)
  fs.rmSync(directory, { recursive: true, force: true })
})

interface Sizes {
  initialBytes?: number
  stepBytes?: number
  hostReserveBytes?: number
  runName?: string
}

async function open(sizes: Sizes = {}): Promise<BtrfsPool> {
  const pool = await openBtrfsPool({
    dataDir: directory,
    runDir: path.join(directory, sizes.runName ?? 'run'),
    initialBytes: sizes.initialBytes ?? 256 * MIB,
    stepBytes: sizes.stepBytes ?? 0,
    hostReserveBytes: sizes.hostReserveBytes ?? 0,
    logger: silentLogger,
  })
  opened.push(pool)
  return pool
}

async function close(pool: BtrfsPool): Promise<void> {
  opened = opened.filter((other) => other !== pool)
  await pool.close()
}

describe('life of a pool', () => {
  test('a pool comes back with its id and content, and closing leaves no device', async () => {
    const first = await open()
    await first.create('box', 'demo')
    fs.writeFileSync(path.join(first.path('box'), 'file'), 'kept')
    expect(loopDevices()).toHaveLength(1)
    await close(first)
    await until(() => loopDevices().length === 0)
    const second = await open()
    expect(second.poolId).toBe(first.poolId)
    expect(fs.readFileSync(path.join(second.path('box'), 'file'), 'utf8')).toBe('kept')
  })

  test('the mount is private, closed to others, and honours neither devices nor setuid', async () => {
    const pool = await open()
    const mountPath = path.dirname(pool.path('x'))
    expect(fs.statSync(mountPath).mode & 0o777).toBe(0o700)
    const line = fs
      .readFileSync('/proc/self/mountinfo', 'utf8')
      .split('\n')
      .find((text) => text.includes(mountPath))
    expect(line).toMatch(/nosuid,nodev,noatime.*compress=zstd:1.*ssd/)
    expect(line).not.toMatch(/discard=async/)
    expect(fs.readFileSync('/proc/1/mountinfo', 'utf8')).not.toContain(mountPath)
  })

  test('the image has all its blocks, also after data came and went', async () => {
    const pool = await open()
    await pool.create('box', 'demo')
    fs.writeFileSync(path.join(pool.path('box'), 'big'), randomBytes(40 * MIB))
    await pool.destroy('box')
    await runOk('btrfs', ['subvolume', 'sync', path.dirname(pool.path('box'))])
    await runOk('sync', ['-f', path.dirname(pool.path('box'))])
    const image = fs.statSync(path.join(directory, 'pool.img'))
    expect(image.blocks * 512).toBeGreaterThanOrEqual(image.size)
  })

  test('a second opener shares the one loop device', async () => {
    const first = await open()
    const second = await open({ runName: 'run2' })
    expect(loopDevices()).toHaveLength(1)
    await second.create('shared', 'demo')
    expect(await first.exists('shared')).toBe(true)
  })

  test('a draft image that was cut off is made anew', async () => {
    fs.writeFileSync(path.join(directory, 'pool.img.new'), 'half')
    await open()
    expect(fs.existsSync(path.join(directory, 'pool.img.new'))).toBe(false)
  })

  test('a host without room is an error and makes nothing', async () => {
    await expect(open({ hostReserveBytes: Number.MAX_SAFE_INTEGER })).rejects.toThrow(/a pool needs/)
    expect(fs.readdirSync(directory)).toEqual([])
  })
})

describe('after kill -9', () => {
  test('the pool opens again and holds all acknowledged data', async () => {
    const held = await holdPool('before')
    held.kill()
    const pool = await open()
    expect(pool.poolId).toBe(held.poolId)
    expect(await pool.list()).toEqual(['before'])
  })

  test('a running box keeps the mount and the pool opens on the same device', async () => {
    const held = await holdPool('boxed', 'box')
    held.kill()
    try {
      const before = loopDevices()
      expect(before).toHaveLength(1)
      const pool = await open()
      expect(loopDevices()).toEqual(before)
      expect(await pool.exists('boxed')).toBe(true)
      await close(pool)
      expect(await releasePool(directory)).toEqual({ device: before[0], isStillUsed: true })
    } finally {
      if (held.holderPid !== null) process.kill(held.holderPid, 'SIGKILL')
    }
    await until(() => loopDevices().length === 0)
    expect(await releasePool(directory)).toEqual({ device: null, isStillUsed: false })
  })
})

describe('space', () => {
  test('the pool grows when it runs low, and the image with it', async () => {
    const pool = await open({ stepBytes: 128 * MIB })
    const before = fs.statSync(path.join(directory, 'pool.img')).size
    await pool.create('box', 'demo')
    const space = () => fs.statfsSync(pool.path('box'))
    // Writes more in total than the pool's first size. Writes each file once there is space for it.
    for (let index = 0; index < 18; index++) {
      await until(() => space().bavail * space().bsize > 48 * MIB)
      fs.writeFileSync(path.join(pool.path('box'), `file${index}`), randomBytes(16 * MIB))
    }
    expect(fs.statSync(path.join(directory, 'pool.img')).size).toBeGreaterThan(before)
    expect(await pool.grow()).toBe(true)
  })

  test('the pool never grows into the reserve of the host', async () => {
    await close(await open())
    await until(() => loopDevices().length === 0)
    const pool = await open({ stepBytes: 128 * MIB, hostReserveBytes: Number.MAX_SAFE_INTEGER })
    expect(await pool.grow()).toBe(false)
    expect(fs.statSync(path.join(directory, 'pool.img')).size).toBe(256 * MIB)
  })

  test('a growth that was cut off is completed at the next start', async () => {
    await close(await open())
    await until(() => loopDevices().length === 0)
    await runOk('fallocate', ['-l', String(320 * MIB), path.join(directory, 'pool.img')])
    const pool = await open()
    expect((await pool.capacity()).totalBytes).toBe(320 * MIB)
  })

  test('a full pool is reported, and deleting makes room again', async () => {
    const pool = await open()
    await pool.create('data', 'demo')
    await pool.create('names', 'demo')
    expect(() => fillWithData(pool.path('data'))).toThrow(/ENOSPC/)
    expect(() => fillWithNames(pool.path('names'))).toThrow(/ENOSPC/)
    const fault = await makeUntilFull(pool)
    expect(fault).toMatchObject({ code: 'storage_full', status: 507 })
    for (const name of await pool.list()) await pool.destroy(name)
    expect(await pool.list()).toEqual([])
    await until(() => pool.create('again', 'demo').then(() => true))
    await until(() => {
      fs.writeFileSync(path.join(pool.path('again'), 'file'), randomBytes(8 * MIB))
      return true
    })
  })

  test('a writer that goes on in a full pool is refused at once each time and blocks no others', async () => {
    const pool = await open()
    for (const name of ['writer', 'other']) await pool.create(name, 'demo')
    const { state, ended } = await startWriter(path.join(pool.path('writer'), 'fill'))
    try {
      await until(() => state.faults.length >= 50)
      const since = performance.now()
      await pool.setQuota('other', MIB)
      await pool.destroy('other')
      expect(performance.now() - since).toBeLessThan(6_000)
    } finally {
      state.isWanted = false
      await ended
    }
    expect(new Set(state.faults)).toEqual(new Set(['ENOSPC']))
    expect(state.slowestMs).toBeLessThan(6_000)
    await pool.destroy('writer')
    await until(async () => (await pool.capacity()).availableBytes > 200 * MIB)
  })
})

function fillWithData(target: string): void {
  const piece = randomBytes(4 * MIB)
  for (let index = 0; index < 1_000; index++) writeDurably(path.join(target, `f${index}`), piece)
}

function fillWithNames(target: string): void {
  for (let index = 0; index < 200_000; index++) {
    fs.writeFileSync(path.join(target, `n${index}`.padEnd(200, 'x')), randomBytes(1_500))
  }
}

function writeDurably(file: string, data: Buffer): void {
  const fd = fs.openSync(file, 'w')
  try {
    fs.writeSync(fd, data)
    fs.fsyncSync(fd)
  } finally {
    fs.closeSync(fd)
  }
}

/** Writes in a loop, and reports failures only at the end. */
async function startWriter(target: string) {
  const file = await fs.promises.open(target, 'w')
  const page = randomBytes(256 * 1024)
  const state = { faults: [] as unknown[], slowestMs: 0, isWanted: true }
  const run = async (): Promise<void> => {
    while (state.isWanted) {
      const since = performance.now()
      await file.write(page).catch((error: NodeJS.ErrnoException) => state.faults.push(error.code))
      state.slowestMs = Math.max(state.slowestMs, performance.now() - since)
    }
    await file.close()
  }
  return { state, ended: run() }
}

async function makeUntilFull(pool: BtrfsPool): Promise<unknown> {
  for (let index = 0; index < 5_000; index++) {
    try {
      await pool.create(`s${index}`, 'demo')
    } catch (error) {
      return error
    }
  }
  return null
}

interface Held {
  poolId: string
  holderPid: number | null
  kill(): void
}

/** Starts another process that has the pool open. The test kills it. */
async function holdPool(name: string, kind = 'agent'): Promise<Held> {
  const program = path.resolve('tests/fixtures/pool-holder.ts')
  const args = [directory, path.join(directory, 'run'), name, kind]
  const child = spawnChild('unshare', ['--mount', '--propagation', 'slave', process.execPath, program, ...args])
  let faults = ''
  child.stderr?.on('data', (chunk: Buffer) => (faults += chunk.toString()))
  const line = await new Promise<string>((resolve, reject) => {
    child.stdout?.once('data', (chunk: Buffer) => resolve(chunk.toString()))
    child.once('exit', () => reject(new Error(faults)))
  })
  const { poolId, holderPid } = JSON.parse(line) as { poolId: string; holderPid: number | null }
  return { poolId, holderPid, kill: () => child.kill('SIGKILL') }
}

/** Lists the loop devices of this test's image. */
function loopDevices(): string[] {
  const names = fs.readdirSync('/sys/block').filter((name) => name.startsWith('loop'))
  return names
    .filter((name) => {
      try {
        return fs.readFileSync(`/sys/block/${name}/loop/backing_file`, 'utf8').startsWith(directory)
      } catch {
        return false
      }
    })
    .map((name) => `/dev/${name}`)
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 40_000
  for (;;) {
    try {
      if (await condition()) return
    } catch (error) {
      if (performance.now() > deadline) throw error
    }
    if (performance.now() > deadline) throw new Error('what was waited for did not come')
    await sleep(50)
  }
}
