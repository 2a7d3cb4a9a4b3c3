import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { openBallast } from '../../../agent/drivers/store/ballast.ts'
import { type Database, openDatabase } from '../../../agent/drivers/store/database.ts'
import { openSqliteStore } from '../../../agent/drivers/store/store.ts'
import { runOk } from '../../../agent/lib/run.ts'
import { controlBuffer } from '../../../agent/lib/syscalls/descriptors.ts'
import type { Store } from '../../../agent/ports/store/store.ts'
import { newId } from '../../../shared/ids.ts'
import { boxRecord } from '../../helpers/boxes/box-records.ts'
import { eventually } from '../../helpers/eventually.ts'

const MIB = 1024 ** 2
let directory: string
let disk: string

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'boxyard-disk-'))
  disk = join(directory, 'disk')
  mkdirSync(disk)
})

afterEach(() => rmSync(directory, { recursive: true, force: true }))

const mounts = {
  tmpfs: ['-t', 'tmpfs', '-o', 'size=40m', 'tmpfs'],
  ext4: ['-o', 'loop', 'image'],
}

async function withDisk(kind: keyof typeof mounts, use: () => Promise<void>): Promise<void> {
  const image = join(directory, 'image')
  if (kind === 'ext4') {
    writeFileSync(image, '')
    await runOk('truncate', ['-s', '40M', image])
    await runOk('mkfs.ext4', ['-q', '-F', image])
  }
  const options = mounts[kind].map((option) => (option === 'image' ? image : option))
  await runOk('mount', [...options, disk])
  try {
    await use()
  } finally {
    await runOk('umount', [disk])
  }
}

/** Writes until the disk refuses the last byte. */
function fillDisk(): void {
  const fd = openSync(join(disk, 'fill'), 'a')
  try {
    for (let size = MIB; size >= 1; ) {
      try {
        writeSync(fd, Buffer.alloc(size, 1))
      } catch {
        size = size === 1 ? 0 : Math.ceil(size / 16)
      }
    }
  } finally {
    closeSync(fd)
  }
}

const box = (name: string) =>
  boxRecord({ id: newId('box', Date.now()), name, environment: { PADDING: 'x'.repeat(8_000) } })

async function insertUntilFull(store: Store): Promise<unknown> {
  try {
    for (let index = 0; index < 10_000; index++) await store.boxes.insert(box(`more-${index}`))
    return null
  } catch (error) {
    return error
  }
}

describe.each(['tmpfs', 'ext4'] as const)('a full disk (%s)', (kind) => {
  test('refuses writes that need room with storage_full, and takes every delete', async () => {
    await withDisk(kind, async () => {
      const path = join(disk, 'boxyard.db')
      const store = openSqliteStore(path, { hasBallast: true })
      try {
        const records = Array.from({ length: 300 }, (_, index) => box(`web-${index}`))
        for (const record of records) await store.boxes.insert(record)
        fillDisk()
        expect(await insertUntilFull(store)).toMatchObject({ code: 'storage_full', status: 507 })
        expect(existsSync(join(disk, 'ballast'))).toBe(true)
        for (const { id, root } of records) {
          expect(await store.boxes.remove(id, 1, { id, root, createdAt: 5 })).toHaveLength(1)
        }
        for (const { id } of records) await store.tombstones.remove(id)
        expect(await store.tombstones.all()).toEqual([])
        expect(await store.boxes.byId(records[0]?.id ?? '')).toBeNull()
      } finally {
        await store.close()
      }
    })
  })

  test('opens the state again, and takes a delete then', async () => {
    await withDisk(kind, async () => {
      const path = join(disk, 'boxyard.db')
      const record = box('web')
      const first = openSqliteStore(path, { hasBallast: true })
      await first.boxes.insert(record)
      await first.close()
      fillDisk()
      const second = openSqliteStore(path, { hasBallast: true })
      try {
        const tombstone = { id: record.id, root: record.root, createdAt: 5 }
        expect(await second.boxes.remove(record.id, 1, tombstone)).toEqual([tombstone])
      } finally {
        await second.close()
      }
    })
  })
})

describe('the ballast', () => {
  test('is made of real blocks, given up, and made again once there is room', async () => {
    await withDisk('tmpfs', async () => {
      const path = join(disk, 'ballast')
      const ballast = openBallast(path, { sizeBytes: 8 * MIB, checkMs: 10 })
      try {
        expect(statSync(path).blocks * 512).toBe(8 * MIB)
        fillDisk()
        ballast.release()
        // Longer than the interval between its checks for space.
        await sleep(100)
        expect(existsSync(path)).toBe(false)
        rmSync(join(disk, 'fill'))
        await eventually(() => existsSync(path) && statSync(path).blocks * 512 === 8 * MIB)
      } finally {
        ballast.close()
      }
    })
  })
})

describe('a database that another process holds', () => {
  test('is an error that may be retried', () => {
    const path = join(directory, 'boxyard.db')
    const database = openDatabase(path, { ballast: null })
    const other = new DatabaseSync(path)
    try {
      other.exec('BEGIN IMMEDIATE')
      const write = () => database.run("INSERT INTO meta (key, value) VALUES ('a', 'b')")
      const refusal = expect.objectContaining({ code: 'runtime_unavailable' })
      expect(() => database.transaction(write)).toThrow(refusal)
    } finally {
      other.close()
      database.close()
    }
  })
})

describe('a transaction that waits for the disk off the main thread', () => {
  const write = (database: Database, key: string) => () => {
    const { synchronous } = database.get('PRAGMA synchronous') ?? {}
    database.run('INSERT INTO meta (key, value) VALUES (?, ?)', key, String(synchronous))
  }

  test('does not sync by itself; others do as ever', async () => {
    const database = openDatabase(join(directory, 'boxyard.db'), { ballast: null })
    const both = [database.transactionSoon(write(database, 'a')), database.freeingSoon(write(database, 'b'))]
    database.transaction(write(database, 'c'))
    // Other readers see data that is not synced yet.
    const [NORMAL, FULL] = ['1', '2']
    expect(database.all('SELECT value FROM meta ORDER BY key').map(({ value }) => value)).toEqual([
      NORMAL,
      NORMAL,
      FULL,
    ])
    await Promise.all(both)
    database.close()
  })

  test('fails if the disk fails before its sync', async () => {
    await withDisk('ext4', async () => {
      const database = openDatabase(join(disk, 'boxyard.db'), { ballast: null })
      await database.transactionSoon(write(database, 'a'))
      const written = database.transactionSoon(write(database, 'b'))
      shutDown(disk)
      await expect(written).rejects.toMatchObject({ code: 'internal' })
      database.close()
    })
  })
})

/** Cuts a filesystem off from its disk. */
function shutDown(path: string): void {
  const fd = openSync(path, 'r')
  controlBuffer(fd, FS_IOC_SHUTDOWN, Buffer.from(new Uint32Array([WITHOUT_FLUSH]).buffer))
  closeSync(fd)
}

const FS_IOC_SHUTDOWN = 0x8004587d
const WITHOUT_FLUSH = 2

describe('a migration', () => {
  const migrations = ['CREATE TABLE a (n INTEGER) STRICT; INSERT INTO a VALUES (7)', 'ALTER TABLE a RENAME TO b']

  test('leaves a whole copy of the earlier state, also after a failed attempt', () => {
    const path = join(directory, 'boxyard.db')
    openDatabase(path, { ballast: null, migrations: migrations.slice(0, 1) }).close()
    writeFileSync(`${path}.v1`, 'half')
    writeFileSync(`${path}.v1.new`, 'half')
    const migrated = openDatabase(path, { ballast: null, migrations })
    expect(migrated.get('SELECT n FROM b')).toEqual({ n: 7 })
    migrated.close()
    const copy = new DatabaseSync(`${path}.v1`)
    expect(copy.prepare('SELECT n FROM a').get()).toEqual({ n: 7 })
    copy.close()
    expect(statSync(`${path}.v1`).mode & 0o777).toBe(0o600)
    expect(existsSync(`${path}.v1.new`)).toBe(false)
  })
})
