import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { createPoolScrubs, type PoolScrubs } from '../../../agent/drivers/pool/scrub.ts'
import { closeFd } from '../../../agent/lib/syscalls/descriptors.ts'
import { O, openBelow } from '../../../agent/lib/syscalls/files.ts'
import { AT } from '../../../agent/lib/syscalls/mounts.ts'
import type { Scrub } from '../../../agent/ports/pool/condition.ts'
import { eventually } from '../../helpers/eventually.ts'
import { openPoolLab, type PoolLab } from '../../helpers/pool/lab.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'

const MIB = 1024 * 1024
const ENDED: Scrub = { status: 'interrupted', startedAt: 1, endedAt: null, checkedBytes: 0, errors: 0 }
const clock = { now: () => 7 }
let lab: PoolLab
/** A separate disk for the notes of scrubs, which tests fill. */
let dataDir: string
let note: string
let warnings: string[]
let fds: number[]
let opened: PoolScrubs[]

beforeEach(async () => {
  lab = await openPoolLab(256 * MIB)
  dataDir = fs.mkdtempSync(path.join(os.tmpdir(), 'boxyard-scrub-'))
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'none', dataDir])
  note = path.join(dataDir, 'scrub.json')
  warnings = []
  fds = []
  opened = []
})

afterEach(async () => {
  for (const scrubs of opened) await scrubs.close()
  for (const fd of fds) closeFd(fd)
  execFileSync('umount', [dataDir])
  fs.rmdirSync(dataDir)
  await lab.close()
})

/** Opens the scrubs of the pool, with error counts read from `root`. */
function open(root = mountPath()): PoolScrubs {
  const rootFd = openBelow(AT.FDCWD, root, { flags: O.RDONLY | O.DIRECTORY })
  fds.push(rootFd)
  const logger = { ...silentLogger, warn: (message: string) => void warnings.push(message) }
  const scrubs = createPoolScrubs({
    ...{ rootFd, mountPath: mountPath(), dataDir, logger },
    filesystemId: lab.pool.poolId,
  })
  opened.push(scrubs)
  return scrubs
}

const mountPath = (): string => path.join(lab.directory, 'run', 'pool')
const noted = (): Scrub => JSON.parse(fs.readFileSync(note, 'utf8')) as Scrub
const fillDisk = (): void =>
  expect(() => fs.writeFileSync(path.join(dataDir, 'filler'), Buffer.alloc(MIB))).toThrow(/ENOSPC/)
const emptyDisk = (): void => fs.rmSync(path.join(dataDir, 'filler'))
const ended = (scrubs: PoolScrubs): Promise<void> => eventually(() => scrubs.current()?.status !== 'running')

describe('a scrub', () => {
  test('is refused on a full disk, and starts once there is room', async () => {
    const scrubs = open()
    fillDisk()
    expect(() => scrubs.start(clock)).toThrow(
      expect.objectContaining({ code: 'storage_full', message: expect.stringMatching(/start of a scrub/) }),
    )
    expect(scrubs.current()).toBeNull()
    emptyDisk()
    scrubs.start(clock)
    await ended(scrubs)
    expect(noted()).toMatchObject({ status: 'done', startedAt: 7 })
  })

  test('is refused where its note cannot be written, and the last result stays', () => {
    fs.writeFileSync(note, JSON.stringify({ ...ENDED, status: 'done' }))
    const scrubs = open()
    fs.rmSync(note)
    fs.mkdirSync(note)
    expect(() => scrubs.start(clock)).toThrow(
      expect.objectContaining({ code: 'internal', message: expect.stringMatching(/start of the scrub/) }),
    )
    expect(scrubs.current()).toEqual({ ...ENDED, status: 'done' })
  })

  test('tells its result if the disk is full by its end, and another can follow', async () => {
    const scrubs = open()
    scrubs.start(clock)
    fillDisk()
    await ended(scrubs)
    expect(scrubs.current()).toMatchObject({ status: 'done', endedAt: 7 })
    expect(warnings).toEqual(['failed to record the end of a scrub'])
    expect(noted().status).toBe('running')
    emptyDisk()
    scrubs.start({ now: () => 8 })
    await ended(scrubs)
    expect(noted()).toMatchObject({ status: 'done', startedAt: 8 })
  })

  test('notes its result if the counts of errors cannot be reset', async () => {
    open(dataDir).start(clock)
    await eventually(() => noted().status === 'done')
    expect(warnings).toEqual(['failed to reset the error counts'])
  })
})

describe('the scrubs of a pool, opened on a full disk', () => {
  test.each(['running', 'interrupted'] as const)('tell that one noted as %s was interrupted', (status) => {
    fs.writeFileSync(note, JSON.stringify({ ...ENDED, status }))
    fillDisk()
    expect(open().current()).toEqual(ENDED)
    expect(warnings).toEqual(status === 'running' ? ['failed to record the end of a scrub'] : [])
  })
})

test('an interrupted scrub is noted once, and not again at later starts', () => {
  fs.writeFileSync(note, JSON.stringify({ ...ENDED, status: 'running' }))
  open()
  expect(noted()).toEqual(ENDED)
  const { ino } = fs.statSync(note)
  expect(open().current()).toEqual(ENDED)
  expect(fs.statSync(note).ino).toBe(ino)
})
