import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { type BtrfsPool, openBtrfsPool } from '../../../agent/drivers/pool/cow-filesystem.ts'
import { eventually } from '../../helpers/eventually.ts'
import { cutDevice, mendDevice } from '../../helpers/pool/failing-device.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'

const MIB = 1024 * 1024
let directory: string
let image: string
let pool: BtrfsPool | null

beforeEach(() => {
  directory = fs.mkdtempSync(path.join(os.tmpdir(), 'boxyard-image-'))
  image = path.join(directory, 'pool.img')
  pool = null
})

afterEach(async () => {
  await pool?.close()
  fs.rmSync(directory, { recursive: true, force: true })
})

async function open(options: { isExpected?: boolean; stepBytes?: number } = {}): Promise<BtrfsPool> {
  const sizes = { initialBytes: 256 * MIB, stepBytes: options.stepBytes ?? 0, hostReserveBytes: 0 }
  const isExpected = options.isExpected ?? false
  const runDir = path.join(directory, 'run')
  pool = await openBtrfsPool({ dataDir: directory, runDir, ...sizes, isExpected, logger: silentLogger })
  return pool
}

async function openAndClose(): Promise<void> {
  await (await open()).close()
  pool = null
}

test('a missing image of an existing pool is not made anew', async () => {
  await expect(open({ isExpected: true })).rejects.toThrow(/pool\.img is missing.*restore the file/)
  expect(fs.readdirSync(directory)).toEqual([])
})

test('a link to a disk that is not mounted is not replaced', async () => {
  fs.symlinkSync(path.join(directory, 'elsewhere', 'pool.img'), image)
  await expect(open()).rejects.toThrow(/pool\.img is missing.*Mount its disk/)
  expect(fs.lstatSync(image).isSymbolicLink()).toBe(true)
})

test.each([
  ['cut off', 100 * MIB, /was truncated: it has 104857600 bytes, but its filesystem 268435456/],
  ['emptied', 0, /has no known filesystem/],
])('an image that was %s is reported and stays unchanged', async (_how, bytes, told) => {
  await openAndClose()
  fs.truncateSync(image, bytes)
  const before = fs.readFileSync(image)
  await expect(open()).rejects.toThrow(told)
  expect(fs.readFileSync(image).equals(before)).toBe(true)
})

test('an image with holes gets its blocks and keeps its data', async () => {
  const before = await open()
  await before.create('kept', 'demo')
  fs.writeFileSync(path.join(before.path('kept'), 'file'), 'kept')
  await before.close()
  execFileSync('cp', ['--sparse=always', image, `${image}.copy`])
  fs.renameSync(`${image}.copy`, image)
  const { backing } = await (await open()).condition()
  expect(backing.missingBytes).toBeGreaterThan(100 * MIB)
  await eventually(async () => (await pool?.condition())?.backing.missingBytes === 0)
  expect(fs.readFileSync(path.join(pool?.path('kept') ?? '', 'file'), 'utf8')).toBe('kept')
})

test('a pool that became read-only does not grow, refuses with a reason, and is writable once reopened', async () => {
  const failing = await open({ stepBytes: 64 * MIB })
  await failing.create('kept', 'demo')
  cutDevice(image)
  await expect(failing.create('lost', 'demo')).rejects.toMatchObject({
    code: 'internal',
    message: expect.stringMatching(/disk/),
  })
  expect((await failing.condition()).isReadOnly).toBe(true)
  const { size } = fs.statSync(image)
  expect(await failing.grow()).toBe(false)
  expect(fs.statSync(image).size).toBe(size)
  const refused = { code: 'internal', message: expect.stringMatching(/takes no writes/) }
  await expect(failing.checkWritable()).rejects.toMatchObject(refused)
  await expect(failing.destroy('kept')).rejects.toMatchObject(refused)
  mendDevice(image)
  await failing.close()
  const again = await open()
  expect(await again.list()).toEqual(['kept'])
  await again.create('more', 'demo')
})

test('a subvolume with lost writes is neither copied nor sealed, also if the pool goes on', async () => {
  const failing = await open()
  await failing.create('source', 'demo')
  const file = path.join(failing.path('source'), 'file')
  const copy = { source: 'source', name: 'copy', project: 'demo', isReadOnly: true, quotaBytes: null }
  // From this point, data lands above the cut at 68 MiB. Only names are written below it.
  fs.writeFileSync(file, randomBytes(120 * MIB))
  await failing.setReadOnly('source', true)
  await failing.setReadOnly('source', false)
  for (const act of [() => failing.snapshot(copy), () => failing.setReadOnly('source', true)]) {
    cutDevice(image, 68 * MIB)
    fs.appendFileSync(file, randomBytes(40 * MIB))
    await expect(act()).rejects.toMatchObject({ code: 'internal', message: expect.stringMatching(/disk/) })
    expect((await failing.condition()).isReadOnly).toBe(false)
    mendDevice(image)
    await failing.destroy('copy')
    await failing.setReadOnly('source', false)
  }
  const content = randomBytes(4 * MIB)
  fs.writeFileSync(path.join(failing.path('source'), 'other'), content)
  await failing.snapshot(copy)
  expect(fs.readFileSync(path.join(failing.path('copy'), 'other')).equals(content)).toBe(true)

  expect((await failing.condition()).deviceErrors.writes).toBeGreaterThan(0)
  await failing.startScrub({ now: () => 1 })
  await eventually(async () => (await failing.condition()).scrub?.status !== 'running')
  const { scrub, deviceErrors } = await failing.condition()
  expect(scrub).toMatchObject({ status: 'done', errors: 0 })
  expect(deviceErrors).toEqual({ writes: 0, reads: 0, flushes: 0, corruptions: 0, generations: 0 })
})
