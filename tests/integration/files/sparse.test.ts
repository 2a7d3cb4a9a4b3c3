import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type BoxFiles, type FileLab, openFileLab } from '../../helpers/files/lab.ts'

const MIB = 1024 * 1024

describe('files meet', () => {
  let lab: FileLab
  let box: BoxFiles

  beforeAll(async () => {
    lab = await openFileLab()
    box = await lab.startBox('box_main')
  })

  afterAll(() => lab.close())

  const P = (path: string): Buffer => Buffer.from(path)
  const disk = (path: string): string => `${box.place.rootPath}${path}`

  test('a sparse file of 1 TiB', async () => {
    const size = 2 ** 40
    execFileSync('truncate', ['-s', String(size), disk('/sparse')])
    fs.writeSync(fs.openSync(disk('/sparse'), 'r+'), 'end', size - 3)
    expect(await lab.files.stat(box.place, P('/sparse'))).toMatchObject({ sizeBytes: size })
    expect(await box.read('/sparse', { start: size - 5, end: size })).toBe('\0\0end')
    const file = await lab.files.open(box.place, P('/sparse'))
    for await (const bytes of file.read({ start: 0, end: 64 * 1024 ** 3 })) {
      expect(bytes.length).toBeLessThanOrEqual(MIB)
      break
    }
    await lab.files.remove(box.place, P('/sparse'), { recursive: false })
  })

  test('a sparse file of an exabyte: read by ranges alone, packed and unpacked without its holes', async () => {
    const size = 2 ** 60
    fs.mkdirSync(disk('/exa'))
    execFileSync('truncate', ['-s', String(size), disk('/exa/file')])
    execFileSync('dd', [
      'if=/dev/zero',
      `of=${disk('/exa/file')}`,
      'bs=4096',
      'count=1',
      `seek=${2 ** 40}`,
      'conv=notrunc',
      'status=none',
    ])
    const file = await lab.files.open(box.place, P('/exa/file'))
    await expect(file.read({ start: 0, end: size })[Symbol.asyncIterator]().next()).rejects.toMatchObject({
      code: 'body_too_large',
      message: expect.stringMatching(/^\/exa\/file: .*68719476736.*holes.*Range.*archive/),
    })
    expect(await box.read('/exa/file', { start: 2 ** 52 - 2, end: 2 ** 52 + 2 })).toBe('\0\0\0\0')
    const pieces: Uint8Array[] = []
    for await (const bytes of await lab.files.pack(box.place, P('/exa'))) pieces.push(bytes)
    const archive = Buffer.concat(pieces)
    expect(archive.length).toBeLessThan(64 * 1024)
    await lab.files.makeDirectory(box.place, P('/exa/in'), { mode: null, parents: false })
    const report = await lab.files.unpack(box.place, P('/exa/in'), piecesOf(archive))
    expect(report).toMatchObject({ entries: 1, refusedCount: 0 })
    expect(await lab.files.stat(box.place, P('/exa/in/file'))).toMatchObject({ sizeBytes: size })
    await lab.files.remove(box.place, P('/exa'), { recursive: true })
  })

  test.each([0, MIB])(
    'a file of holes that becomes %d bytes long while it is read: the reader gets an error',
    async (left) => {
      execFileSync('truncate', ['-s', String(4 * MIB), disk('/shrinks')])
      const file = await lab.files.open(box.place, P('/shrinks'))
      const reading = (async () => {
        for await (const bytes of file.read({ start: 0, end: 4 * MIB }))
          if (bytes.length > 0) fs.truncateSync(disk('/shrinks'), left)
      })()
      await expect(reading).rejects.toMatchObject({ code: 'precondition_failed' })
    },
  )

  test('a long file with more pieces of data than an archive lists: it is opened, and read by ranges', async () => {
    const pieces = 65_600
    // Each byte takes 4 KiB, so 256 MiB of the file are data.
    const stride = Math.ceil((64 * 1024 ** 3 + 100 * MIB) / pieces)
    // Outside of the box, whose quota is smaller.
    const rootPath = fs.mkdtempSync(`${lab.volumes.lab.home}/pieces-`)
    const beside = { boxId: 'box_beside', rootPath, mounts: [] }
    const fd = fs.openSync(`${rootPath}/pieces`, 'w')
    for (let index = 0; index < pieces; index++) fs.writeSync(fd, 'x', index * stride)
    fs.closeSync(fd)
    const size = (pieces - 1) * stride + 1
    expect(size).toBeGreaterThan(64 * 1024 ** 3)
    // The whole file exceeds 64 GiB. Its holes add up to less.
    for (const start of [size - 1, stride, 0]) {
      const file = await lab.files.open(beside, P('/pieces'))
      for await (const bytes of file.read({ start, end: size })) {
        expect(bytes[0]).toBe(0x78)
        break
      }
    }
    fs.rmSync(rootPath, { recursive: true })
  })
})

async function* piecesOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}
