import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { type BtrfsPool, openBtrfsPool } from '../../../agent/drivers/pool/cow-filesystem.ts'
import type { Scrub } from '../../../agent/ports/pool/condition.ts'
import { openPoolLab, type PoolLab, shellAt } from '../../helpers/pool/lab.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'

const MIB = 1024 * 1024
let lab: PoolLab

beforeEach(async () => {
  lab = await openPoolLab(256 * MIB)
})

afterEach(() => lab.close())

const clock = { now: () => Date.now() }
const NONE = { writes: 0, reads: 0, flushes: 0, corruptions: 0, generations: 0 }

async function ended(pool: BtrfsPool): Promise<Scrub> {
  for (;;) {
    const { scrub } = await pool.condition()
    if (scrub !== null && scrub.status !== 'running') return scrub
    await sleep(20)
  }
}

function write(name: string, content: Buffer): void {
  const at = path.dirname(lab.pool.path(name))
  fs.writeFileSync(path.join(lab.pool.path(name), 'file'), content)
  shellAt(at, 'sync -f .')
}

describe('the condition of a pool', () => {
  test('has figures and no errors while all is well', async () => {
    await lab.pool.create('box', 'demo')
    write('box', randomBytes(8 * MIB))
    const { data, metadata, deviceErrors, scrub } = await lab.pool.condition()
    expect(data.usedBytes).toBeGreaterThanOrEqual(8 * MIB)
    expect(data.totalBytes).toBeGreaterThanOrEqual(data.usedBytes)
    expect(metadata.usedBytes).toBeGreaterThan(0)
    expect(deviceErrors).toEqual(NONE)
    expect(scrub).toBeNull()
  })

  test('has the result of a scrub, which reads all data', async () => {
    await lab.pool.create('box', 'demo')
    write('box', randomBytes(8 * MIB))
    await lab.pool.startScrub(clock)
    await lab.pool.startScrub(clock)
    const scrub = await ended(lab.pool)
    expect(scrub).toMatchObject({ status: 'done', errors: 0 })
    expect(scrub.checkedBytes).toBeGreaterThan(8 * MIB)
    expect(scrub.endedAt).toBeGreaterThanOrEqual(scrub.startedAt)
    await lab.pool.close()
    const again = await openAgain()
    expect((await again.condition()).scrub).toEqual(scrub)
    await again.startScrub(clock)
    expect((await ended(again)).startedAt).toBeGreaterThan(scrub.startedAt)
    await again.close()
    lab.pool.close = async () => undefined
  })

  test('counts an altered block, also after the pool was opened again', async () => {
    await lab.pool.create('box', 'demo')
    const content = randomBytes(MIB)
    write('box', content)
    damage(content.subarray(65_536, 65_536 + 4096))
    await lab.pool.startScrub(clock)
    expect(await ended(lab.pool)).toMatchObject({ status: 'done', errors: 1 })
    expect((await lab.pool.condition()).deviceErrors).toEqual({ ...NONE, corruptions: 1 })
  })

  test('shows a scrub that was cut off as interrupted', async () => {
    await lab.pool.create('box', 'demo')
    write('box', randomBytes(100 * MIB))
    await lab.pool.startScrub(clock)
    await lab.pool.close()
    const note = path.join(lab.directory, 'scrub.json')
    expect(JSON.parse(fs.readFileSync(note, 'utf8'))).toMatchObject({
      status: expect.stringMatching(/interrupted|done/),
    })
    fs.writeFileSync(
      note,
      JSON.stringify({ status: 'running', startedAt: 1, endedAt: null, checkedBytes: 0, errors: 0 }),
    )
    const again = await openAgain()
    expect((await again.condition()).scrub).toMatchObject({ status: 'interrupted', startedAt: 1, endedAt: null })
    await again.close()
    lab.pool.close = async () => undefined
  })
})

function openAgain(): Promise<BtrfsPool> {
  return openBtrfsPool({
    dataDir: lab.directory,
    runDir: path.join(lab.directory, 'run'),
    initialBytes: 256 * MIB,
    stepBytes: 0,
    hostReserveBytes: 0,
    logger: silentLogger,
  })
}

/** Alters a block in place on the pool's disk. */
function damage(block: Buffer): void {
  const image = path.join(lab.directory, 'pool.img')
  const place = fs.readFileSync(image).indexOf(block)
  expect(place).toBeGreaterThan(0)
  const fd = fs.openSync(image, 'r+')
  fs.writeSync(fd, Buffer.from('damaged'), 0, 7, place)
  fs.closeSync(fd)
}
