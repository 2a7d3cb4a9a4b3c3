import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { settleFile } from '../../../agent/drivers/files/durability.ts'
import { createHostFiles, type HostFiles } from '../../../agent/drivers/files/files.ts'
import { type BtrfsPool, openBtrfsPool } from '../../../agent/drivers/pool/cow-filesystem.ts'
import { BTRFS } from '../../../agent/drivers/pool/ioctls.ts'
import { runOk } from '../../../agent/lib/run.ts'
import { closeFd, controlBuffer } from '../../../agent/lib/syscalls/descriptors.ts'
import { linkFd } from '../../../agent/lib/syscalls/directories.ts'
import { O, openBelow } from '../../../agent/lib/syscalls/files.ts'
import { AT } from '../../../agent/lib/syscalls/mounts.ts'
import type { FilesRoot } from '../../../agent/ports/files/files.ts'
import { PLAIN, pieces } from '../../helpers/files/lab.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'

const MIB = 1024 * 1024

describe('after a power cut', () => {
  let directory: string
  let pool: BtrfsPool
  let files: HostFiles
  let place: FilesRoot

  beforeAll(async () => {
    directory = fs.mkdtempSync(path.join(os.tmpdir(), 'boxyard-durable-'))
    const sizes = { initialBytes: 256 * MIB, stepBytes: 0, hostReserveBytes: 0 }
    pool = await openBtrfsPool({ dataDir: directory, runDir: `${directory}/run`, ...sizes, logger: silentLogger })
    await pool.create('sub_box', 'demo')
    place = { boxId: 'box', rootPath: pool.path('sub_box'), mounts: [] }
    for (const name of ['file', 'old', 'tree/a/b/file', 'dir/file']) {
      fs.mkdirSync(path.dirname(`${place.rootPath}/${name}`), { recursive: true })
      fs.writeFileSync(`${place.rootPath}/${name}`, 'before')
    }
    files = createHostFiles({ find: () => null })
    await runOk('sync', ['-f', place.rootPath])
  })

  afterAll(async () => {
    await files.close()
    await pool.close()
    fs.rmSync(directory, { recursive: true, force: true })
  })

  const P = (name: string): Buffer => Buffer.from(name)
  const write = (name: string, size: number, parents = false): Promise<unknown> =>
    files.write(place, P(name), { ...PLAIN, parents, mode: 0o640 }, pieces(Buffer.alloc(size / 4, 'x'), 4))

  test.each<[string, () => Promise<unknown>, Record<string, string | null>]>([
    ['a new small file', () => write('/small', 1024), { '/small': '640 1024 x' }],
    ['a new large file', () => write('/large', 4 * MIB), { '/large': '640 4194304 x' }],
    ['a small file in place of another', () => write('/file', 2048), { '/file': '640 2048 x' }],
    ['a large file in place of another', () => write('/file', 2 * MIB), { '/file': '640 2097152 x' }],
    [
      'a file in new directories',
      () => write('/new/one/two', 1024, true),
      { '/new/one/two': '640 1024 x', '/new': '755' },
    ],
    [
      'new directories',
      () => files.makeDirectory(place, P('/made/one/two'), { mode: 0o700, parents: true }),
      { '/made/one/two': '700', '/made/one': '755' },
    ],
    [
      'a directory that a process of the box has just made',
      () => {
        fs.mkdirSync(`${place.rootPath}/theirs/in/it`, { recursive: true })
        return files.makeDirectory(place, P('/theirs/in/it'), { mode: null, parents: false })
      },
      { '/theirs/in/it': '755', '/theirs': '755' },
    ],
    [
      'a directory by a link that was just made',
      () => {
        fs.symlinkSync('/tree/a', `${place.rootPath}/linked`)
        return files.makeDirectory(place, P('/linked/'), { mode: null, parents: false })
      },
      { '/linked': 'link' },
    ],
    [
      'a move in place of another',
      () => files.move(place, P('/dir/file'), P('/old'), { overwrite: true }),
      { '/dir/file': null, '/old': '644 6 b' },
    ],
    [
      'a moved directory',
      () => files.move(place, P('/dir'), P('/tree/dir'), { overwrite: false }),
      { '/dir': null, '/tree/dir': '755', '/tree/a/b/file': '644 6 b' },
    ],
    ['a removed file', () => files.remove(place, P('/old'), { recursive: false }), { '/old': null }],
    ['a removed tree', () => files.remove(place, P('/tree'), { recursive: true }), { '/tree': null }],
  ])('%s has the acknowledged state', async (_, change, expected) => {
    await change()
    const found = await afterPowerCut((root) => Object.keys(expected).map((name) => [name, look(`${root}${name}`)]))
    expect(Object.fromEntries(found)).toEqual(expected)
  })

  test.each<[string, (fd: number) => void, string]>([
    ['only once it lies where it is to lie', settleFile, '640 1024 x'],
    ['else without what it holds', () => undefined, '640 0 '],
  ])('a name that is committed before its file is synced comes to the disk %s', async (_, settle, expected) => {
    const name = `named-${expected.length}`
    const directoryFd = openBelow(AT.FDCWD, place.rootPath, { flags: O.DIRECTORY })
    const fd = openBelow(directoryFd, '.', { flags: O.TMPFILE | O.RDWR, mode: 0o640 })
    fs.writeSync(fd, 'x'.repeat(1024))
    settle(fd)
    linkFd(fd, directoryFd, name)
    commitPool(directoryFd)
    expect(await afterPowerCut((root) => look(`${root}/${name}`))).toBe(expected)
    for (const each of [fd, directoryFd]) closeFd(each)
  })

  // Commits metadata without flushing files, as the kernel does every 30 s.
  const commitPool = (fd: number): void => {
    const transaction = Buffer.alloc(8)
    controlBuffer(fd, BTRFS.START_SYNC, transaction)
    controlBuffer(fd, BTRFS.WAIT_SYNC, transaction)
  }

  // Runs `see` on a copy of the disk's current content.
  const afterPowerCut = async <T>(see: (root: string) => T): Promise<T> => {
    const [copy, mountPath] = [path.join(directory, 'copy.img'), path.join(directory, 'copy')]
    fs.mkdirSync(mountPath, { recursive: true })
    await runOk('cp', [path.join(directory, 'pool.img'), copy])
    await runOk('mount', ['-o', 'loop', copy, mountPath])
    try {
      return see(path.join(mountPath, 'sub_box'))
    } finally {
      await runOk('umount', [mountPath])
      fs.rmSync(copy)
    }
  }
})

/** Returns mode, size and first byte of a file, mode of a directory, a link's mark, or null if missing. */
function look(name: string): string | null {
  const stat = fs.lstatSync(name, { throwIfNoEntry: false })
  if (stat === undefined) return null
  if (stat.isSymbolicLink()) return 'link'
  const mode = (stat.mode & 0o7777).toString(8)
  return stat.isDirectory() ? mode : `${mode} ${stat.size} ${fs.readFileSync(name, 'utf8').slice(0, 1)}`
}
