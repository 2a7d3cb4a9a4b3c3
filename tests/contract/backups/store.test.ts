import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { openFolderStore } from '../../../agent/drivers/backups/store-folder.ts'
import { runOk } from '../../../agent/lib/run.ts'
import { defineBackupStoreSuite, piecesOf } from './store-suite.ts'

let directory: string

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'boxyard-folder-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

defineBackupStoreSuite('folder', async () => {
  const path = join(directory, 'backups')
  return { store: openFolderStore(path), reopen: async () => openFolderStore(path), close: async () => undefined }
})

describe('the files of a folder', () => {
  const put = (name: string, text: string) => openFolderStore(directory).put(name, piecesOf(Buffer.from(text)))

  test('can be read by the agent only, and nothing else is left beside them', async () => {
    await put('a/b/part', 'bytes')
    const modes = ['a', 'a/b', 'a/b/part'].map((name) => statSync(join(directory, name)).mode & 0o777)
    expect(modes).toEqual([0o700, 0o700, 0o600])
    expect(readdirSync(join(directory, 'a/b'))).toEqual(['part'])
    await openFolderStore(directory).delete('a/b/part')
    expect(readdirSync(directory)).toEqual([])
  })

  test('are never reached through a link', async () => {
    const outside = mkdtempSync(join(tmpdir(), 'boxyard-outside-'))
    writeFileSync(join(outside, 'part'), 'secret')
    symlinkSync(outside, join(directory, 'link'))
    mkdirSync(join(directory, 'real'))
    symlinkSync(join(outside, 'part'), join(directory, 'real/part'))
    const store = openFolderStore(directory)
    await expect(store.get('link/part')).rejects.toMatchObject({ code: 'internal' })
    await expect(store.get('real/part')).rejects.toMatchObject({ code: 'internal' })
    await expect(store.digest('real/part')).rejects.toMatchObject({ code: 'internal' })
    await expect(put('link/part', 'overwritten')).rejects.toMatchObject({ code: 'internal' })
    await expect(store.delete('link/part')).rejects.toMatchObject({ code: 'internal' })
    const listed = []
    for await (const object of store.list('')) listed.push(object)
    expect(listed).toEqual([])
    await put('real/part', 'in its place')
    expect(readFileSync(join(outside, 'part'), 'utf8')).toBe('secret')
    expect(readFileSync(join(directory, 'real/part'), 'utf8')).toBe('in its place')
    rmSync(outside, { recursive: true })
  })

  test('of a killed put are overwritten, or deleted with the object', async () => {
    writeFileSync(join(directory, '.part.new'), 'half')
    await put('part', 'whole')
    expect(readdirSync(directory)).toEqual(['part'])
    writeFileSync(join(directory, '.part.new'), 'half')
    await openFolderStore(directory).delete('part')
    expect(readdirSync(directory)).toEqual([])
  })

  test('are written and deleted concurrently in the same directories', async () => {
    const store = openFolderStore(directory)
    const one = async (name: string): Promise<void> => {
      for (let round = 0; round < 60; round++) {
        await store.put(`a/b/c/${name}`, piecesOf(Buffer.from(name)))
        for await (const object of store.list('a/')) expect(object.sizeBytes).toBe(1)
        await store.delete(`a/b/c/${name}`)
      }
    }
    await Promise.all(['1', '2', '3', '4'].map(one))
    expect(readdirSync(directory)).toEqual([])
  })

  test('that find no room cause an error and leave no file behind', async () => {
    const disk = join(directory, 'disk')
    mkdirSync(disk)
    await runOk('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', disk])
    try {
      const store = openFolderStore(join(disk, 'backups'))
      await store.put('small', piecesOf(Buffer.alloc(1000)))
      const large = store.put('large', piecesOf(Buffer.alloc(8_000_000)))
      await expect(large).rejects.toMatchObject({ code: 'storage_full' })
      expect(readdirSync(join(disk, 'backups'))).toEqual(['small'])
      await store.put('fits', piecesOf(Buffer.alloc(1_000_000)))
    } finally {
      await runOk('umount', [disk])
    }
  })
})
